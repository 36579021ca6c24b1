"""Where the info about the own worker is used, by whatever variable, property or helper it is got, and never tested."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from flake8_torchmp.semantics.calls import is_property, parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import caught_around, conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, dotted, last_name, position, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, External, Function, Method

DEEPEST = 2
CATCHING = frozenset(("AttributeError", "", "Exception", "BaseException"))


class InfoUse(NamedTuple):
    """An attribute that is taken of what may be None."""

    node: ast.Attribute
    module: Module


class WorkerInfos:
    def __init__(self, outline: Evaluator) -> None:
        self.outline = outline

    def uses(self, module: Module) -> Iterator[list[InfoUse]]:
        """For each place that gets the info, where its attributes are taken without a test."""
        for call in module.calls_of("get_worker_info"):
            values = self.outline.values(call.func, self.outline.frame_at(call, module))
            if any(isinstance(v, External) and v.name.endswith(".get_worker_info") for v in values):
                yield from self._of(call, module, 0)

    def _of(self, got: ast.expr, module: Module, depth: int) -> Iterator[list[InfoUse]]:
        got = self._last_resort(got, module)
        parent: Any = up(got)
        if not isinstance(parent, ast.Return):
            yield [
                InfoUse(use, module)
                for use in _uses(got, module)
                if CATCHING.isdisjoint(caught_around(use)) and not _is_asked_before(use, got, module)
            ]
            yield from self._given(got, module)
            return
        function = module.scope_of(got).enclosing_function()
        if function is None or len(function.returns) != 1 or any(conditions(got)) or depth == DEEPEST:
            return
        if any(isinstance(above, ast.Try) for above in ancestors(got)):
            return
        if is_property(function.node):
            yield [
                InfoUse(use, module)
                for use in _uses_of_property(function)
                if CATCHING.isdisjoint(caught_around(use)) and not _is_asked_before(use, use.value, module)
            ]
            return
        for path in self.outline.codebase.mentioning(function.name, function.module.path):
            other = self.outline.codebase.module(path)
            for call in other.calls_of(function.name) if other is not None else ():
                assert other is not None
                if any(self._is_call_of(value, function) for value in self._callees(call, other)):
                    yield from self._of(call, other, depth + 1)

    def _last_resort(self, got: ast.expr, module: Module) -> ast.expr:
        """`info or get_worker_info()`, where `info` can be None, is just as much None as the call is."""
        parent = up(got)
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or) and parent.values[-1] is got:
            frame = self.outline.frame_at(got, module)
            first = [value for other in parent.values[:-1] for value in self.outline.values(other, frame)]
            if any(isinstance(value, Constant) and value.value is None for value in first):
                return parent
        return got

    def _given(self, got: ast.expr, module: Module) -> Iterator[list[InfoUse]]:
        """Where a function takes attributes of it that it is handed to."""
        for given in (got, *_names_of(got, module)):
            call = up(given)
            if not isinstance(call, ast.Call) or given not in call.args or _is_asked_before(call, got, module):
                continue
            for callee in self._callees(call, module):
                function = callee.function if isinstance(callee, Method) else callee
                if isinstance(function, Function) and not any(isinstance(a, ast.Starred) for a in call.args):
                    names = list(parameters(function.node))
                    place = call.args.index(given) + isinstance(callee, Method)
                    yield [
                        InfoUse(use, function.scope.module)
                        for use in _uses_of_parameter(function.scope, names[place : place + 1])
                        if CATCHING.isdisjoint(caught_around(use))
                    ]

    def _callees(self, call: ast.Call, module: Module) -> tuple[Any, ...]:
        return self.outline.values(call.func, self.outline.frame_at(call, module))

    @staticmethod
    def _is_call_of(value: Any, function: Scope) -> bool:
        value = value.function if isinstance(value, Method) else value
        return isinstance(value, Function) and value.scope is function


def _is_asked_before(use: ast.AST, got: ast.expr, module: Module) -> bool:
    """Whether a test on the way asks for the info once more, by itself or by what reads it.

    `if get_worker_info(): seed(get_worker_info().seed)`, `if self.in_worker: …`
    """
    names = {*_asking(module), last_name(got.func if isinstance(got, ast.Call) else got)}
    return any(
        isinstance(part, ast.Call | ast.Attribute) and last_name(getattr(part, "func", part)) in names
        for condition in conditions(use)
        for part in ast.walk(condition.test)
    )


def _asking(module: Module) -> set[str]:
    """The names by which a module asks for the info, those of its functions that do included."""
    key = ("asking for worker info", module.tree)
    if key not in module.memo:
        names = set(module.names_of("get_worker_info"))
        for _ in range(DEEPEST):
            readers = {module.scope_of(load).enclosing_function() for name in names for load in module.loads(name)}
            names |= {reader.name for reader in readers if reader is not None and not reader.name.startswith("__")}
        module.memo[key] = names
    known: set[str] = module.memo[key]
    return known


def _uses(got: ast.expr, module: Module) -> list[ast.Attribute]:
    """The attributes that are taken of the info, if nothing asks whether it is one."""
    parent: Any = up(got)
    if isinstance(parent, ast.Attribute):
        return [parent]
    if isinstance(parent, ast.Assign):
        targets = parent.targets
    elif isinstance(parent, ast.NamedExpr | ast.AnnAssign):
        targets = [parent.target]
    else:
        return []
    if isinstance(parent, ast.NamedExpr):
        holder = up(parent)
        return [holder] if isinstance(holder, ast.Attribute) else []  # `(info := get_worker_info()).id`
    loads = [load for target in targets for load in _loads(target, module) if not _is_part_of(load, parent.value)]
    return _taken(loads) or _taken_before_test(loads)


def _is_part_of(node: ast.AST, whole: ast.AST) -> bool:
    return isinstance(whole, ast.BoolOp) and any(part is node for part in ast.walk(whole))


def _names_of(got: ast.expr, module: Module) -> list[ast.expr]:
    """Where a variable that holds the info is read, if nothing asks whether it is one."""
    parent = up(got)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return []
    loads = list(_loads(parent.targets[0], module))
    return loads if all(isinstance(up(load), ast.Attribute | ast.Call) for load in loads) else []


def _uses_of_parameter(function: Scope, names: list[str]) -> list[ast.Attribute]:
    loads = [load for name in names for load in function.module.loads(name) if isinstance(load, ast.Name)]
    return _taken([load for load in loads if function.module.scope_of(load).enclosing_function() is function])


def _uses_of_property(function: Scope) -> list[ast.Attribute]:
    """The same for a property that gives it, within its class."""
    owner = function.parent
    return _taken(
        load
        for load in function.module.loads(function.name)
        if isinstance(load, ast.Attribute) and function.module.scope_of(load).enclosing_class() is owner
    )


def _taken(loads: Iterator[ast.expr] | list[ast.expr]) -> list[ast.Attribute]:
    holders = [up(load) for load in loads]
    if not all(isinstance(holder, ast.Attribute | ast.Call) for holder in holders):
        return []
    return [holder for holder in holders if isinstance(holder, ast.Attribute)]


def _taken_before_test(loads: list[ast.expr]) -> list[ast.Attribute]:
    """`rank = info.id`, and after that `if info is None`: in the order in which a function reads its variable."""
    if not all(isinstance(load, ast.Name) for load in loads):
        return []
    loads = sorted(loads, key=position)
    first = list(takewhile(lambda load: isinstance(up(load), ast.Attribute), loads))
    named = {load.id for load in loads if isinstance(load, ast.Name)}
    return [
        holder
        for holder in map(up, first)
        if isinstance(holder, ast.Attribute)
        and not any(
            isinstance(part, ast.Name) and part.id in named
            for condition in conditions(holder)
            for part in ast.walk(condition.test)
        )
    ]


def _loads(target: ast.expr, module: Module) -> Iterator[ast.expr]:
    """Where what an assignment binds is read: in the same function, for an attribute in the same class."""
    name = dotted(target)
    scope = module.scope_of(target)
    around = scope.enclosing_class() if "." in name else scope.enclosing_function()
    for load in module.loads(name.rpartition(".")[2]):
        where = module.scope_of(load)
        same = where.enclosing_class() if "." in name else where.enclosing_function()
        if dotted(load) == name and same is around:
            yield load
