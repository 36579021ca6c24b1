"""Loops that make a loader's iterator anew for each batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.tables.ecosystem import has_no_workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.answers import keep_empty
from flake8_torchmp.semantics.calls import Arguments, Frame, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import never_continues, reaching
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, dotted, last_name, root_name, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, Function, Instance, Method, Result, Value

from .crossings import Crossings

_TAKES = re.compile(rb"\bnext\(\s*iter\(|\b__next__\b|\b__iter__\(\)|\bislice\(")
LOOPS = (ast.For, ast.AsyncFor, ast.While)
Loop = ast.For | ast.AsyncFor | ast.While


class Restart(NamedTuple):
    """A batch that is taken from an iterator made for it alone, again and again."""

    node: ast.AST
    module: Module
    has_workers: bool
    is_made_there: bool
    """Whether the loader itself is made in the loop."""


class _Taken(NamedTuple):
    node: ast.expr
    loader: ast.expr
    is_part: bool = False
    """Several batches, the first ones each time."""


class Restarts:
    def __init__(self, evaluator: Evaluator, crossings: Crossings) -> None:
        self.evaluator = evaluator
        self.crossings = crossings
        self._known: dict[str, list[Restart]] = {}

    def forget(self) -> None:
        keep_empty(self._known)

    def of(self, module: Module) -> Iterator[Restart]:
        """The restarts in a module, and in those that it imports which name no loader themselves."""
        yield from self._in(module)
        codebase = self.evaluator.codebase
        for path in codebase.reachable([module.path]):
            if path != module.path and codebase.matches(path, _TAKES) and not codebase.matches(path, apis.WORDS):
                has_none = self._known.get(path) == []
                helper = codebase.module(path) if not has_none else None
                yield from self._in(helper) if helper is not None else ()

    def _in(self, module: Module) -> list[Restart]:
        if module.path not in self._known:
            self._known[module.path] = self.evaluator.alone(lambda: list(self._search(module)))
        return self._known[module.path]

    def _search(self, module: Module) -> Iterator[Restart]:
        for taken in self._all_taken(module):
            self.evaluator.steps = 0
            if self._is_repeated(taken.node, module):
                yield from self._restart(taken, module)

    def _all_taken(self, module: Module) -> Iterator[_Taken]:
        for call in [*module.calls_of("next"), *module.calls.get("__next__", ())]:
            taken = self._taken(call, module)
            if taken is not None:
                yield taken
        for call in module.calls_of("islice"):
            if len(call.args) == 2 and _loop_around(call) is not None:
                given, count = call.args
                is_iterator = isinstance(given, ast.Call) and last_name(given.func) == "iter" and given.args
                loader = given.args[0] if isinstance(given, ast.Call) and is_iterator else given
                yield _Taken(call, loader, not isinstance(count, ast.Constant) or count.value != 1)
        for function in module.functions:
            for statement in module.scopes[function].returns:
                loop = up(statement)
                is_named = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name | ast.Attribute | ast.Call)
                if isinstance(loop, ast.For) and is_named and statement in loop.body:
                    yield _Taken(loop.iter, loop.iter)  # `for batch in loader: return batch`

        for left in _left_at_once(module):
            counted = isinstance(left.iter, ast.Call) and last_name(left.iter.func) == "enumerate" and left.iter.args
            loader = left.iter.args[0] if isinstance(left.iter, ast.Call) and counted else left.iter
            if isinstance(loader, ast.Name | ast.Attribute):
                yield _Taken(loader, loader)

    def _taken(self, call: ast.Call, module: Module) -> _Taken | None:
        """`next(iter(loader))`, or `next(it)` right where `it = iter(loader)` was made."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__next__":
            iterator = call.func.value
        elif call.args and isinstance(call.func, ast.Name):
            iterator = call.args[0]
        else:
            return None
        if isinstance(iterator, ast.Name):
            scope = self.evaluator.scope_binding(iterator.id, module.scope_of(iterator))
            bindings = (
                reaching(scope.bindings[iterator.id], iterator, scope, module.scope_of(iterator)) if scope else []
            )
            if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
                return None
            if _loop_around(bindings[0].node) is not _loop_around(call) or _loop_around(call) is None:
                return None
            if _is_occasional(bindings[0].node):
                return None
            iterator = bindings[0].value
        if isinstance(iterator, ast.Call) and last_name(iterator.func) == "iter" and len(iterator.args) == 1:
            return _Taken(call, iterator.args[0])
        if isinstance(iterator, ast.GeneratorExp) and len(iterator.generators) == 1:
            return None if iterator.generators[0].ifs else _Taken(call, iterator.generators[0].iter)
        if isinstance(iterator, ast.Call) and isinstance(iterator.func, ast.Attribute):
            return _Taken(call, iterator.func.value) if iterator.func.attr == "__iter__" else None
        return None

    def _is_repeated(self, call: ast.expr, module: Module) -> bool:
        """Whether a loop takes one batch after the other so, itself or by a function that it calls."""
        if _comprehension_around(call) is not None:
            return _is_made_alike(call)
        loop = _loop_around(call)
        if loop is not None:
            return _takes_each_time(call, loop) and not self._iterates_loaders(loop, module)
        return self._is_called_again(call, module)

    def _is_called_again(self, call: ast.expr, module: Module, depth: int = 2) -> bool:
        """Whether the function around a place is called in a loop, directly or by another function."""
        function = module.scope_of(call).enclosing_function()
        if function is None or _is_occasional(call):
            return False
        if function.name == "__next__" and function.enclosing_class() is not None:
            return True
        for arguments, _ in self.evaluator.callers.of(function):
            if _is_made_alike(arguments.call):
                return True
            again, place = arguments.call, arguments.frame.module
            outer = _loop_around(again)
            is_passed_on = outer is None and depth > 1 and isinstance(again, ast.Call) and not again.args
            if is_passed_on and isinstance(again, ast.expr) and self._is_called_again(again, place, depth - 1):
                return True  # given nothing by which one round could differ from another
            if outer is None or not _takes_each_time(arguments.call, outer) or _changes_with(arguments.call, outer):
                continue
            if not self._iterates_loaders(outer, arguments.frame.module):
                return True
        return False

    def _iterates_loaders(self, loop: Loop, module: Module) -> bool:
        """A loop over epochs, which goes through a whole loader each time."""
        return self._goes_through_one(loop, self.evaluator.frame_at(loop, module), 2)

    def _goes_through_one(self, block: ast.AST, around: Frame, depth: int) -> bool:
        """Whether code, or a function of the project that it calls, iterates a loader to its end."""
        for node in ast.walk(block):
            if isinstance(node, ast.For) and node is not block and not (_is_part(node.iter) or _ends_at_once(node)):
                frame = self.evaluator.frame_in(around.module.scope_of(node.iter), around)
                iterated = [node.iter, *(node.iter.args if isinstance(node.iter, ast.Call) else ())]
                is_left = isinstance(node.body[-1], ast.Return)
                if not is_left and any(self._loader(v) for i in iterated for v in self.evaluator.values(i, frame)):
                    return True
            elif isinstance(node, ast.Call) and depth:
                frame = self.evaluator.frame_in(around.module.scope_of(node), around)
                for callee in self.evaluator.values(node.func, frame):
                    if isinstance(callee, Function | Method):
                        inner = self.evaluator.enter(callee, self.evaluator.arguments(node, frame))
                        if inner is not None and self._goes_through_one(inner.scope.node, inner, depth - 1):
                            return True
        return False

    def _loader(self, value: Value) -> Arguments | None:
        """The arguments of torch's loader, if a value is one."""
        if isinstance(value, Result) and value.name.removesuffix("()") in self.crossings.loaders:
            return value.arguments
        if isinstance(value, Instance):
            for base, arguments in classes.library_init(self.evaluator, value):
                if base in self.crossings.loaders:
                    return arguments
        return None

    def _is_of_rows(self, arguments: Arguments) -> bool:
        """Whether a loader's dataset is seen to be no stream: each iterator begins at its first sample."""
        given = arguments.get(0, "dataset")
        values = self.evaluator.of(given) if given is not None else ()
        for value in values:
            bases = classes.library_bases(self.evaluator, value.cls) if isinstance(value, Instance) else []
            if isinstance(value, Result):
                bases = [value.name.removesuffix("()")]
            if not bases or any(base in apis.ITERABLE_DATASETS for base in bases):
                return False
        return bool(values)

    def _restart(self, taken: _Taken, module: Module) -> Iterator[Restart]:
        for frame in self.evaluator.contexts(module.scope_of(taken.node)):
            for value in self.evaluator.values(taken.loader, frame):
                arguments = self._loader(value)
                if arguments is None:
                    continue
                has_workers = not has_no_workers(self.evaluator, arguments)
                loop, made = _loop_around(taken.node), arguments.call
                if isinstance(value, Instance) and value.arguments is not None:
                    made = value.arguments.call
                if taken.is_part and not (_begins_alike(self.evaluator, arguments) and self._is_of_rows(arguments)):
                    return
                is_made_there = loop is not None and any(a is loop for a in ancestors(made))
                if loop is not None and (
                    _changes_with(taken.loader, loop, made) or _is_prepared(taken.loader, made, loop, module)
                ):
                    return
                if is_made_there and taken.is_part:
                    return  # a loader for each fold, of which some batches are looked at
                if is_made_there and has_workers:
                    yield Restart(made, module, True, True)
                elif not is_made_there and (has_workers or _begins_alike(self.evaluator, arguments)):
                    yield Restart(taken.node, module, has_workers, False)
                return


def _changes_with(node: ast.AST, loop: Loop, *parts: ast.AST) -> bool:
    """Whether each round has another loader or other data: it is made from what the loop binds."""
    bound = {p.id for p in ast.walk(loop) if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}
    targets = (
        {p.id for p in ast.walk(loop.target) if isinstance(p, ast.Name)} if not isinstance(loop, ast.While) else set()
    )
    used = _names_in(node)
    if used & targets:
        return True
    return any(_names_in(part) & bound for part in parts if any(a is loop for a in ancestors(part)))


def _is_prepared(loader: ast.AST, made: ast.AST, loop: Loop, module: Module) -> bool:
    """Whether the loop does something to the loader or to what it was made of, as `dataset.set_epoch(epoch)`."""
    names = _names_in(made) | _names_in(loader)
    function = module.scope_of(loop).enclosing_function()
    parts = {part.attr for item in (made, loader) for part in ast.walk(item) if isinstance(part, ast.Attribute)}
    for node in ast.walk(loop):
        target: Any = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            target = node
        if isinstance(target, ast.Attribute) and root_name(target) in names:
            if function is not None and _is_of_something_else(target, function, parts):
                continue
            statement = up(node)
            if isinstance(statement, ast.Expr) or target is node:
                return True
    return False


def _is_of_something_else(target: ast.Attribute, function: Scope, parts: set[str]) -> bool:
    """`self.step += 1`, or `self.training_step(batch)` where the method touches nothing that the loader is made of."""
    owner = function.enclosing_class()
    if owner is None or dotted(target.value) != receiver_name(function) or target.attr in parts:
        return False
    if isinstance(target.ctx, ast.Store):
        return True
    bound = owner.bindings.get(target.attr, ())
    if len(bound) != 1 or bound[0].kind != "def":
        return False
    return not any(isinstance(part, ast.Attribute) and part.attr in parts for part in ast.walk(bound[0].node))


def _names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}


def _left_at_once(module: Module) -> Iterator[ast.For]:
    """`for batch in loader: break` inside another loop."""
    found: dict[ast.For, None] = {}
    for scope in list(module.scopes.values()):
        for binding in (binding for bindings in scope.bindings.values() for binding in bindings):
            loop = up(binding.node) if binding.kind == "for" else None
            while isinstance(loop, ast.Tuple | ast.List | ast.Starred):
                loop = up(loop)
            if isinstance(loop, ast.For) and _ends_at_once(loop) and _loop_around(loop) is not None:
                found[loop] = None
    yield from (loop for loop in found if len(loop.body) > 1 or _is_used(loop, module))


def _is_used(loop: ast.For, module: Module) -> bool:
    """Whether somebody looks at what comes: `for _ in loader: break` only begins, as a run that goes on has to."""
    scope = module.scope_of(loop)
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    return any(module.scope_of(load) is scope for name in names for load in module.loads(name))


def _ends_at_once(loop: ast.For) -> bool:
    """Whether a loop is left at the end of its first round, whatever comes."""
    return isinstance(loop.body[-1], ast.Break) and not any(isinstance(n, ast.Continue) for n in ast.walk(loop))


def _is_part(iterated: ast.expr) -> bool:
    return isinstance(iterated, ast.Call) and last_name(iterated.func) == "islice"


def _begins_alike(evaluator: Evaluator, arguments: Arguments) -> bool:
    """Whether each iterator of a loader begins with the same batch: it neither shuffles nor samples."""
    if arguments.is_open or any(name in arguments.keywords for name in ("sampler", "batch_sampler")):
        return False
    if len(arguments.positional) > 3:
        return False
    shuffle = arguments.get(2, "shuffle")
    values = evaluator.of(shuffle) if shuffle is not None else ()
    return all(isinstance(value, Constant) and not value.value for value in values)


def _loop_around(node: ast.AST) -> Loop | None:
    """The innermost loop of the same function that a node is repeated by."""
    child = node
    for parent in ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return None
        if isinstance(parent, LOOPS) and child in parent.body:
            return parent
        child = parent
    return None


def _comprehension_around(node: ast.AST) -> Any:
    """The comprehension that makes one element of a node."""
    child = node
    for parent in ancestors(node):
        if isinstance(parent, ast.stmt | ast.Lambda | ast.comprehension):
            return None
        if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp) and child is parent.elt:
            return parent
        child = parent
    return None


def _is_made_alike(node: ast.AST) -> bool:
    """Whether each element of a comprehension is made by a node that knows nothing of what it goes through."""
    comprehension = _comprehension_around(node)
    if comprehension is None:
        return False
    bound = {n.id for g in comprehension.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    return not _names_in(node) & bound


def _takes_each_time(call: ast.AST, loop: Loop) -> bool:
    return not never_continues(_without_continue(loop)) and not _is_occasional(call)


def _without_continue(loop: Loop) -> list[ast.stmt]:
    last = loop.body[-1]
    return [] if isinstance(last, ast.Continue) else loop.body


def _is_occasional(call: ast.AST) -> bool:
    """Whether a batch is taken now and then only, or to begin anew: under a test, or in a handler."""
    for parent in ancestors(call):
        if isinstance(parent, (*FUNCTIONS, *LOOPS)):
            return False
        if isinstance(parent, ast.ExceptHandler):
            return True
        test: Any = parent.test if isinstance(parent, ast.If | ast.IfExp) else None
        if test is not None and any(isinstance(p, ast.Mod) or _is_first(p) for p in ast.walk(test)):
            return True
    return False


def _is_first(node: ast.AST) -> bool:
    """`step == 0`, `batch is None`."""
    return isinstance(node, ast.Compare) and any(
        isinstance(c, ast.Constant) and c.value in (0, None) for c in node.comparators
    )
