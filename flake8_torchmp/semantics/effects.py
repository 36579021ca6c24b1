"""What methods do to the object that they are called on, going by their text and that of the methods which they run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .calls import receiver_name
from .module import Change, Scope, body_nodes, dotted, last_name, up

COLLECTING = frozenset("add append appendleft extend extendleft insert update".split())
DEEPEST = 3


def changes_object(method: Scope) -> bool:
    """Whether a method changes its object, or a container that hangs on it, other than to remember what it returns."""
    nodes = body_nodes(method.node)  # type: ignore[arg-type]
    own = receiver_name(method)
    answers = any(isinstance(n, ast.Return) and n.value is not None and dotted(n.value) != own for n in nodes)
    return any(not answers or _is_addition(change) for change in _changes(method, 0))


def collects(method: Scope) -> bool:
    """Whether a method adds to what its object has gathered: counts up, appends."""
    return any(_is_addition(change) for change in _changes(method, 0))


def is_statement(call: ast.AST) -> bool:
    """Whether a call is made for its effect alone."""
    return isinstance(up(call), ast.Expr)


def _is_addition(change: Change) -> bool:
    if change.kind == "method":
        return change.name in COLLECTING
    if change.kind == "item":
        kept = ast.unparse(change.target)
        reads = ast.walk(change.value) if change.value is not None else ()
        return change.value is None or any(
            isinstance(part, ast.Subscript | ast.Attribute) and ast.unparse(part.value) == kept for part in reads
        )
    return change.kind == "augmented"


def _changes(method: Scope, depth: int) -> Iterator[Change]:
    name = receiver_name(method)
    owner = method.parent
    if not name or owner is None:
        return
    module = method.module
    yield from (c for c in module.changes.get(name, ()) if module.scope_of(c.target).enclosing_function() is method)
    for node in module.loads(name) if depth < DEEPEST else ():
        member = up(node)
        call = up(member) if isinstance(member, ast.Attribute) else None
        if not isinstance(call, ast.Call) or call.func is not member or not is_statement(call):
            continue
        if module.scope_of(call).enclosing_function() is method:
            own = (module.scopes[b.node] for b in owner.bindings.get(last_name(call.func), ()) if b.kind == "def")
            for other in own:
                yield from _changes(other, depth + 1) if other is not method else ()
