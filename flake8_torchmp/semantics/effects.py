"""What methods do to the object that they are called on, going by their text and that of the methods which they run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .calls import receiver_name
from .nodes import dotted, last_name, up
from .scopes import Change, Scope

COLLECTING = frozenset("add append appendleft extend extendleft insert update".split())
HANDING_OVER = COLLECTING | frozenset("put put_nowait send setdefault".split())
"""Calls by which code gives others what it has found."""
DEEPEST = 3


def changes_object(method: Scope) -> bool:
    """Whether a method changes its object, or a container that hangs on it, other than to remember what it returns."""
    answers = _answers(method, 0)
    return any(not answers or _is_addition(change) for change in _changes(method, 0))


def collects(method: Scope) -> bool:
    """Whether a method adds to what its object has gathered: counts up, appends."""
    return any(_is_addition(change) for change in _changes(method, 0))


def stores(method: Scope) -> bool:
    """Whether all that a method does is to put an entry into a container of its object."""
    changed = list(_changes(method, 0))
    return bool(changed) and all(c.kind == "item" and isinstance(c.target, ast.Attribute) for c in changed)


def is_statement(call: ast.AST) -> bool:
    """Whether a call is made for its effect alone."""
    return isinstance(up(call), ast.Expr)


def _answers(method: Scope, depth: int) -> bool:
    """Whether a method returns something else than its object, perhaps by another method."""
    name = receiver_name(method)
    for statement in method.returns:
        value = statement.value
        if value is None or (isinstance(value, ast.Name) and value.id == name):
            continue
        others = _own_methods(value, name, method) if depth < DEEPEST else []
        if not others or any(_answers(other, depth + 1) for other in others):
            return True
    return False


def _own_methods(call: ast.AST, receiver: str, method: Scope) -> list[Scope]:
    """The method of the same class that `self.method()` runs."""
    function = call.func if isinstance(call, ast.Call) else None
    if not isinstance(function, ast.Attribute) or dotted(function.value) != receiver or method.parent is None:
        return []
    bindings = method.parent.bindings.get(function.attr, ())
    return [method.module.scopes[b.node] for b in bindings if b.kind == "def"]


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
        holder = up(node)
        call = up(holder) if isinstance(holder, ast.Attribute) else holder
        if not isinstance(call, ast.Call) or module.scope_of(call).enclosing_function() is not method:
            continue
        if last_name(call.func) == "setattr" and call.args[:1] == [node]:
            yield Change("attribute", node, call, "", None)
        elif is_statement(call) or isinstance(up(call), ast.Return):
            for other in _own_methods(call, name, method):
                yield from _changes(other, depth + 1) if other is not method else ()
