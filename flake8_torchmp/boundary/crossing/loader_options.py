"""What a DataLoader takes only with workers, and whether it may have none beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.tables.ecosystem import has_no_workers
from flake8_torchmp.semantics import keywords
from flake8_torchmp.semantics.choices import is_choice
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.expressions import COMPARISONS
from flake8_torchmp.semantics.flow import Condition, block_of, conditions, contradict, facts, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, last_name, statement_of, up
from flake8_torchmp.semantics.values import Constant, External, Hop, Member, Result, Source, Unknown, Value

from .crossings import Call, Crossings

OPTIONS = {
    "prefetch_factor": None,
    "persistent_workers": None,
    "timeout": 9,
    "multiprocessing_context": 11,
}
"""Learned from `DataLoader.__init__` and `_SingleProcessDataLoaderIter.__init__` of torch 2.13."""

UNSEEN = object()


class LoaderOption(NamedTuple):
    """An option that is set beside a worker count which is, or can be, 0."""

    name: str
    node: ast.AST
    """Where it is given: the keyword, or the call that it gets into from elsewhere."""
    module: Module
    way: tuple[Hop, ...]
    workers: str
    """always 0: by every value that the project shows; can be 0: by one of them; chosen: by whoever runs it"""
    call: Call
    given: ast.expr
    """The expression that the option is given."""


class LoaderOptions:
    def __init__(self, evaluator: Evaluator, crossings: Crossings) -> None:
        self.evaluator = evaluator
        self.crossings = crossings

    def of(self, module: Module) -> Iterator[LoaderOption]:
        """The options of a module's loaders that need workers and may have none."""
        calls = self.crossings.calls(module)
        loaders = [call for call in calls if call.api.kind == "loader" and call.api.workers == "num_workers"]
        with_workers = {id(call.node) for call in loaders if not has_no_workers(self.evaluator, call.arguments)}
        for call in loaders:
            for name, index in OPTIONS.items():
                source = call.arguments.get(index if call.api.parameters == apis.LOADER else None, name)
                if source is not None:
                    self.evaluator.steps = 0
                    for option in self._option(call, name, source):
                        is_shared = option.workers == "always 0" and id(call.node) in with_workers
                        yield option._replace(workers="can be 0") if is_shared else option

    def _option(self, call: Call, name: str, source: Source) -> Iterator[LoaderOption]:
        values = [value for value in self.evaluator.of(source) if _is_set(name, value)]
        index = apis.LOADER_POSITIONS["num_workers"]
        given = keywords.sources(self.evaluator, call.arguments, index, "num_workers", source) if values else []
        if not values or (not given and call.arguments.is_open):
            return
        counts = [(count, value) for count in given for value in self.evaluator.of(count)]
        names = frozenset(("num_workers", *(name for count in given for name in self._names_of(count))))
        spread = [keyword.value for keyword in call.node.keywords if keyword.arg is None]
        if source.node not in (k.value for k in call.node.keywords) and _is_nothing_without_workers(spread, names):
            return
        for value in values:
            holding = [*_facts(value, source), *facts_at(call.node)]
            holding += [fact for item in holding for fact in self._named_test(item, call.module)]
            if any(_is_picked(node, names) for node in (source.node, *(hop.node for hop in value.way))):
                continue
            answers = {_without_workers(fact.test, names) is fact.holds for fact in holding if _decides(fact, names)}
            if False in answers:
                continue
            if answers:
                kind = "can be 0"  # spelled out for the count of 0
            elif self._is_handled(name, names, value, call):
                continue
            else:
                fitting = [pair for pair in counts if not _is_taken_out_beside(name, *pair)]
                kind = self._kind(fitting, holding) if fitting or not counts else ""
            if kind:
                node, module = _place(call, source)
                way = (*value.way, *(hop for _, zero in counts if _is_zero(zero) for hop in zero.way))
                yield LoaderOption(name, node, module, way, kind, call, source.node)
                return

    def _named_test(self, fact: Condition, module: Module) -> Iterator[Condition]:
        """What `has_workers` says, after `has_workers = workers > 0`."""
        if not isinstance(fact.test, ast.Name):
            return
        scope = self.evaluator.scope_binding(fact.test.id, module.scope_of(fact.test))
        bindings = scope.bindings[fact.test.id] if scope is not None else []
        if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
            yield from facts(Condition(bindings[0].value, fact.holds))

    def _kind(self, counts: list[tuple[Source, Value]], holding: list[Condition]) -> str:
        """How few workers there can be, by the expressions that the count can be, each with its values."""
        if not counts:
            return "always 0"
        zeros = [zero for count, zero in counts if _is_zero(zero) and not contradict(_facts(zero, count), holding)]
        if zeros:
            is_certain = len(zeros) == len(counts) and not any(is_choice(z) or _is_set_at_times(z) for z in zeros)
            return "always 0" if is_certain else "can be 0"
        return "chosen" if any(self._is_chosen(value) for _, value in counts) else ""

    def _names_of(self, count: Source) -> frozenset[str]:
        return _names_of(count, self.evaluator.of(count))

    def _is_chosen(self, value: Value) -> bool:
        """Whether whoever runs the program, or calls the function, says how many workers there are."""
        if isinstance(value, Result) and value.name in ("builtins.int", "int"):
            return any(self._is_chosen(inner) for _, s in value.arguments.all() for inner in self.evaluator.of(s))
        if isinstance(value, Result):
            return value.name.endswith((".get", ".getenv", ".environ[…]"))
        return is_choice(value) or isinstance(value, Unknown | Member | External)

    def _is_handled(self, name: str, names: frozenset[str], value: Value, call: Call) -> bool:
        """Whether the functions on the way treat the option apart for a count of 0."""
        places = [(call.node, call.module), *((hop.node, hop.module) for hop in value.way)]
        own = _names_of(Source(call.node, call.frame), [value]) | {name}
        functions = {id(f): f for node, module in places if (f := module.scope_of(node).enclosing_function())}
        for function in functions.values():
            for node in body_nodes(function.node):
                if (
                    isinstance(node, ast.If)
                    and _without_workers(node.test, names) is not None
                    and any(_mentions(part, own) for branch in (node.body, node.orelse) for part in branch)
                ):
                    return True
        return False


def _is_set(name: str, value: Value) -> bool:
    """Whether a value of an option asks for workers."""
    if isinstance(value, Constant):
        if name == "timeout":
            return isinstance(value.value, int | float) and value.value > 0
        return value.value is not None if name != "persistent_workers" else value.value is True
    return name == "multiprocessing_context" and isinstance(value, Result)


def _is_zero(value: Value) -> bool:
    return isinstance(value, Constant) and value.value in (0, "0")  # the text, where `int` is asked of it


def _is_set_at_times(value: Value) -> bool:
    """`if args.debug: args.workers = 0`"""
    node = value.node if isinstance(value, Constant) else None
    statement: Any = up(node) if node is not None else None
    is_stored = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)
    return is_stored and any(True for _ in conditions(statement))


def _place(call: Call, source: Source) -> tuple[ast.AST, Module]:
    """Where an option is given: the keyword in the loader's call, or in a call that hands it on; or the loader."""
    holder: Any = up(source.node)
    around = up(holder) if isinstance(holder, ast.keyword) else holder
    if around is call.node:
        return (holder if isinstance(holder, ast.keyword) else source.node), call.module
    outer = call.frame.arguments
    if outer is not None and around is outer.call and isinstance(holder, ast.keyword):
        return holder, source.frame.module
    return call.node, call.module


def _names_of(count: Source, counts: Sequence[Value]) -> frozenset[str]:
    """The names that the worker count goes by on its way to the loader."""
    nodes = [count.node, *(hop.node for value in counts for hop in value.way)]
    return frozenset(name for node in nodes if (name := _name(node)))


def _name(node: ast.AST) -> str:
    """`workers` of `args.workers`, `workers`, `options["workers"]` and `options.get("workers", 0)`."""
    asked = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and last_name(node.func) in ("get", "pop") and node.args:
        asked = node.args[0]
    if asked is None:
        return last_name(node)
    return str(asked.value) if isinstance(asked, ast.Constant) else ""


def _facts(value: Value, source: Source) -> list[Condition]:
    """The tests that hold where a value is on its way."""
    nodes = [source.node, *(hop.node for hop in value.way)]
    own = getattr(value, "node", None) or (value.arguments.call if isinstance(value, Result) else None)
    if isinstance(own, ast.expr):
        nodes.append(own)
    found = [fact for node in nodes for fact in facts_at(node)]
    if isinstance(own, ast.Compare | ast.UnaryOp | ast.BoolOp):
        found += facts(Condition(own, True))  # `persistent_workers=workers > 0`
    return found


def _is_picked(node: ast.AST, names: frozenset[str]) -> bool:
    """`(None, 4)[workers > 0]`: the count picks the option."""
    shown = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Tuple | ast.List | ast.Dict)
    return shown and _without_workers(node.slice, names) is not None  # type: ignore[attr-defined]


def _is_nothing_without_workers(spread: list[ast.expr], names: frozenset[str]) -> bool:
    """`**(options if workers else {})`"""
    chosen = [_branch(given, names) for given in spread if isinstance(given, ast.IfExp)]
    return len(spread) == len(chosen) == 1 and isinstance(chosen[0], ast.Dict) and not chosen[0].keys


def _branch(choice: ast.IfExp, names: frozenset[str]) -> ast.expr | None:
    answer = _without_workers(choice.test, names)
    return None if answer is None else choice.body if answer else choice.orelse


def _decides(fact: Condition, names: frozenset[str]) -> bool:
    return _without_workers(fact.test, names) is not None


def _without_workers(test: ast.expr, names: frozenset[str]) -> bool | None:
    """What a test of the worker count says for no workers; None where it asks for something else."""
    if not any(_name(part) in names for part in ast.walk(test)):
        return None
    value = _with_zero(test, names)
    return None if value is UNSEEN else bool(value)


def _with_zero(node: ast.expr, names: frozenset[str]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if _name(node) in names:
        return 0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _with_zero(node.operand, names)
        return UNSEEN if inner is UNSEEN else not inner
    if isinstance(node, ast.BoolOp):
        parts = [_with_zero(part, names) for part in node.values]
        stops_at = isinstance(node.op, ast.Or)
        if any(part is not UNSEEN and bool(part) is stops_at for part in parts):
            return stops_at
        return UNSEEN if UNSEEN in parts else not stops_at
    if isinstance(node, ast.Call) and len(node.args) == 1 and last_name(node.func) in ("int", "bool"):
        return _with_zero(node.args[0], names)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _with_zero(node.left, names), _with_zero(node.comparators[0], names)
        compare = COMPARISONS.get(type(node.ops[0]))
        if compare is None or UNSEEN in (left, right):
            return UNSEEN
        try:
            return compare(left, right)
        except TypeError:
            return UNSEEN
    return UNSEEN


def _is_taken_out_beside(name: str, count: Source, value: Value) -> bool:
    """Whether the block that puts in a count of 0 takes the option out again: `options.pop("timeout", None)`."""
    if not _is_zero(value):
        return False
    return any(
        isinstance(part, ast.Constant) and part.value == name
        for statement in block_of(statement_of(count.node))
        for part in (ast.walk(statement) if _takes_out(statement) else ())
    )


def _takes_out(statement: ast.stmt) -> bool:
    """`del options["timeout"]`, or `options.pop("timeout")`."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return last_name(statement.value.func) == "pop"
    return isinstance(statement, ast.Delete)


def _mentions(statement: ast.AST, names: frozenset[str]) -> bool:
    """Whether a statement sets or removes an option: by one of its names, as an attribute, or as a key."""
    return any(
        _name(part) in names
        or (isinstance(part, ast.Constant) and part.value in names)
        or (isinstance(part, ast.keyword) and part.arg in names)
        for part in ast.walk(statement)
    )
