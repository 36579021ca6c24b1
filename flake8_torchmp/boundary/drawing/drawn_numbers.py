"""What becomes of numbers that worker code draws: whether anything that leaves it depends on them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.plain_values import LAYOUT
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, last_name, up
from flake8_torchmp.semantics.scopes import Scope

DEEPEST = 3
_ASKING = LAYOUT | frozenset("len type isinstance id size".split())
"""What tells the form of a value, whatever is in it."""
_CARRYING = (
    ast.Starred,
    ast.keyword,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.BinOp,
    ast.UnaryOp,
    ast.Subscript,
    ast.IfExp,
    ast.Call,
    ast.Attribute,
)
WHOLE = -1
"""The place in what a function returns, where that is no tuple."""


class _UnseenError(Exception):
    """What is done with a value may show anywhere."""


class DrawnNumbers:
    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    def leave(self, draw: ast.Call, worker: WorkerFunction, module: Module) -> bool:
        """Whether drawn numbers go on from worker code: not where only their number counts, or nobody takes them."""
        return self._leave(draw, worker.scope, module, DEEPEST)

    def _leave(self, value: ast.expr, scope: Scope, module: Module, depth: int) -> bool:
        if scope.module.scope_of(value).enclosing_function() is not scope:
            return True
        try:
            returned = _returned(value, scope)
        except _UnseenError:
            if not _only_computes(scope):
                return True
            returned = {WHOLE}
        if not returned:
            return False
        calls = list(self._calls(scope, module))
        return (
            not depth
            or not calls
            or any(call is None or self._is_taken(call, returned, caller, module, depth) for call, caller in calls)
        )

    def _is_taken(self, call: ast.Call, returned: set[int], caller: Scope, module: Module, depth: int) -> bool:
        holder = up(call)
        targets = holder.targets[0] if isinstance(holder, ast.Assign) and len(holder.targets) == 1 else None
        if not isinstance(targets, ast.Tuple) or WHOLE in returned or max(returned) >= len(targets.elts):
            return self._leave(call, caller, module, depth - 1)
        taken = [targets.elts[place] for place in returned]
        return not all(isinstance(name, ast.Name) and not _reads(name.id, caller) for name in taken)

    def _calls(self, scope: Scope, module: Module) -> Iterator[tuple[ast.Call | None, Scope]]:
        """Where worker code calls a function, be it by a parameter that it is given as; None for who gets a result."""
        for worker in self.workers.of(module):
            places = self.workers.called.places(scope, worker.scope, worker.receiver)
            yield from ((place, worker.scope) for place in places)
        roots = [root for root in self.workers.roots(module) if root.kind in ("process", "task")]
        for root in (root for root in roots if root.function.scope.place == scope.place):
            if root.role == "function":
                yield from () if root.kind == "process" else ((None, scope),)
                continue
            begun = [other.function.scope for other in roots if other.call is root.call and other.role == "function"]
            called = [(call, target) for target in begun for call in _calls_of_parameters(target)]
            yield from called or ((None, scope),)


def _calls_of_parameters(target: Scope) -> Iterator[ast.Call]:
    given = parameters(target.node) if isinstance(target.node, FUNCTIONS) else {}
    for node in body_nodes(target.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in given:
            yield node


def _only_computes(scope: Scope) -> bool:
    """Whether a function shows what it has found by what it returns alone."""
    if scope.is_generator:
        return False
    for node in body_nodes(scope.node):
        is_told = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
        is_stored = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if is_told or is_stored or isinstance(node, ast.Raise | ast.Global | ast.Nonlocal | ast.AugAssign):
            return False
    return True


def _returned(value: ast.expr, scope: Scope) -> set[int]:
    """The places in what a function returns that depend on a value of it."""
    found: set[int] = set()
    seen: set[str] = set()
    pending = [value]
    while pending:
        place, names, is_given = _goes_to(pending.pop())
        found |= {place} if place is not None else set()
        reads = {name: _reads(name, scope) for name in names}
        if is_given and names and not any(reads.values()):
            raise _UnseenError  # what is called may well do something with it
        pending += [read for name in names if name not in seen for read in reads[name]]
        seen.update(names)
    return found


def _goes_to(value: ast.expr) -> tuple[int | None, list[str], bool]:
    """The place in what is returned, or the variables, to which an expression goes on, perhaps by way of a call."""
    inner: ast.AST = value
    is_given = False
    place = WHOLE
    while isinstance(above := up(inner), _CARRYING):
        if isinstance(above, ast.Call) and inner is not above.func:
            if last_name(above.func) in _ASKING:
                return None, [], is_given
            is_given = True
        elif isinstance(above, ast.Attribute) and above.attr in _ASKING:
            return None, [], is_given
        elif isinstance(above, ast.Call):
            is_given = True
        elif isinstance(above, ast.IfExp) and inner is above.test:
            raise _UnseenError
        place = above.elts.index(inner) if isinstance(above, ast.Tuple) and inner in above.elts else WHOLE
        inner = above
    if isinstance(above, ast.Expr) and not is_given:
        return None, [], is_given
    if isinstance(above, ast.Return):
        return (place if isinstance(above.value, ast.Tuple) else WHOLE), [], is_given
    targets = above.targets if isinstance(above, ast.Assign) else [getattr(above, "target", None)]
    if not isinstance(above, ast.Assign | ast.AnnAssign | ast.AugAssign):
        raise _UnseenError
    flat = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    if not all(isinstance(part, ast.Name) for part in flat):
        raise _UnseenError
    names = [part.id for part in flat if isinstance(part, ast.Name)]
    return None, names, is_given


def _reads(name: str, scope: Scope) -> list[ast.expr]:
    """Where a function reads a variable of its own; what an inner function reads counts as well."""
    return [
        load
        for load in scope.module.loads(name)
        if isinstance(load, ast.Name) and any(outer is scope for outer in _outer(scope.module.scope_of(load)))
    ]


def _outer(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent
