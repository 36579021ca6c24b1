"""Which count of workers comes with which dataset, where one test chooses both: none for streams, four for maps."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.evaluate import Evaluator, Values
from flake8_torchmp.semantics.flow import Condition, contradict, facts_at, reaching
from flake8_torchmp.semantics.nodes import dotted, last_name, position
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Instance, Source, Value

from .hanging import module_of, node_of


class _Choice(NamedTuple):
    """A count, and where the program chooses it."""

    node: ast.AST
    values: Values


class WorkerCounts:
    def __init__(self, evaluator: Evaluator, arguments: Arguments, given: Iterable[Source], dataset: Source) -> None:
        self._evaluator = evaluator
        self._module = arguments.frame.module
        self._function = self._module.scope_of(arguments.call).enclosing_function()
        self._call = arguments.call
        self._dataset = dotted(dataset.node)
        found = [choice for source in given for choice in self._choices(source)]
        self._in_order = sorted(found, key=lambda choice: position(choice.node))

    def all(self) -> Values:
        return tuple(value for choice in self._in_order for value in choice.values)

    def of(self, dataset: Value) -> Values | None:
        """The counts with which a dataset comes to the call; None if it does not come there at all."""
        at_call = facts_at(self._call)
        known = [fact for node in self._places(dataset) for fact in facts_at(node) if self._is_settled(fact.test)]
        if contradict(known, at_call):
            return None
        left: list[_Choice] = []
        for choice in self._in_order:
            says = [self._truth(fact, dataset, known) for fact in facts_at(choice.node) if fact not in at_call]
            if False in says:
                continue
            if says and all(says):
                left.clear()  # it replaces what was chosen before
            left.append(choice)
        return tuple(value for choice in left for value in choice.values)

    def _choices(self, source: Source) -> Iterator[_Choice]:
        node, frame = source
        if isinstance(node, ast.IfExp):
            yield from self._choices(Source(node.body, frame))
            yield from self._choices(Source(node.orelse, frame))
            return
        if isinstance(node, ast.Name) and frame.module is self._module:
            scope = self._module.scope_of(node)
            bindings = scope.bindings.get(node.id, [])
            if bindings and scope.enclosing_function() is self._function:
                inner = self._evaluator.frame_in(scope, frame)
                for binding in reaching(bindings, node, scope, scope):
                    if binding.kind == "assign" and isinstance(binding.value, ast.IfExp) and not binding.path:
                        yield from self._choices(Source(binding.value, inner))
                    else:
                        yield _Choice(binding.node, tuple(self._evaluator.bound(binding, inner)))
                return
        yield _Choice(node, self._evaluator.of(source))

    def _places(self, dataset: Value) -> Iterator[ast.AST]:
        """Where a dataset is made and goes along in the function that makes the loader."""
        for place, where in [(node_of(dataset), module_of(dataset)), *((hop.node, hop.module) for hop in dataset.way)]:
            if where is self._module and where.scope_of(place).enclosing_function() is self._function:
                yield place

    def _truth(self, fact: Condition, dataset: Value, known: list[Condition]) -> bool | None:
        """Whether a fact holds for a dataset, as far as that is known."""
        asked = self._asked_for(fact.test)
        if asked and isinstance(dataset, Instance):
            return (not _names(self._evaluator, dataset).isdisjoint(asked)) is fact.holds
        if contradict(known, [fact]):
            return False
        return True if contradict(known, [Condition(fact.test, not fact.holds)]) else None

    def _asked_for(self, test: ast.expr) -> set[str]:
        """The classes of `isinstance(dataset, …)`."""
        if not isinstance(test, ast.Call) or last_name(test.func) != "isinstance" or len(test.args) != 2:
            return set()
        if not self._dataset or dotted(test.args[0]) != self._dataset:
            return set()
        kinds = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
        return {last_name(kind) for kind in kinds}

    def _is_settled(self, test: ast.expr) -> bool:
        """Whether a test says the same wherever the function asks it: its names are bound once."""
        scope: Scope = self._function or self._module.scope
        names = {part.id for part in ast.walk(test) if isinstance(part, ast.Name)}
        return all(len(scope.bindings.get(name, ())) < 2 for name in names)


def _names(evaluator: Evaluator, dataset: Instance) -> set[str]:
    own = {item.scope.name for item in classes.project_classes(evaluator, dataset.cls)}
    return own | {base.rpartition(".")[2] for base in classes.library_bases(evaluator, dataset.cls)}
