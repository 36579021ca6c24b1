"""What a method has surely put in an attribute of its object before it reads it there."""

from __future__ import annotations

import ast

from .calls import receiver_name
from .flow import block_of
from .module import Module
from .nodes import FUNCTIONS, ancestors, body_nodes, position, statement_of
from .scopes import Change, Scope


def settled(node: ast.Attribute, module: Module) -> list[Change]:
    """The stores that `self.x` can come from where one of them lies on every way to it; else nothing."""
    key = ("settled", node)
    if key not in module.memo:
        method = module.scope_of(node).enclosing_function()
        receiver = receiver_name(method) if method is not None else ""
        is_own = isinstance(node.value, ast.Name) and node.value.id == receiver and isinstance(node.ctx, ast.Load)
        module.memo[key] = _settled(node, receiver, method, module) if is_own and method is not None else []
    known: list[Change] = module.memo[key]
    return known


def _settled(node: ast.Attribute, receiver: str, method: Scope, module: Module) -> list[Change]:
    stores = _stores(module).get(node.attr, [])
    use = position(node)
    own = [(target, change) for target, change in stores if target.id == receiver and _is_in(method, target, module)]
    if not any(position(change.node) < use for _, change in own):
        return []
    chain = {id(item) for item in (node, *ancestors(node))}
    own = [(target, change) for target, change in own if id(statement_of(change.node)) not in chain]
    sure = [
        change
        for _, change in own
        if position(change.node) < use and any(id(item) in chain for item in block_of(statement_of(change.node)))
    ]
    if not sure:
        return []
    last = max(sure, key=lambda change: position(change.node))
    since = position(last.node)
    if len(own) < len(stores) and _hands_on(receiver, since, use, method):
        return []  # another method may store something else
    return [
        change
        for _, change in own
        if since <= position(change.node) < use or (position(change.node) > use and _comes_round(change, node, last))
    ]


def _stores(module: Module) -> dict[str, list[tuple[ast.Name, Change]]]:
    """By attribute, what stores one on the object of a variable."""
    key = ("stores on variables",)
    if key not in module.memo:
        found: dict[str, list[tuple[ast.Name, Change]]] = {}
        for change in (change for changes in module.changes.values() for change in changes):
            if change.kind == "attribute" and isinstance(change.target, ast.Name):
                found.setdefault(change.name, []).append((change.target, change))
        module.memo[key] = found
    known: dict[str, list[tuple[ast.Name, Change]]] = module.memo[key]
    return known


def _is_in(method: Scope, node: ast.AST, module: Module) -> bool:
    return module.scope_of(node).enclosing_function() is method


def _hands_on(receiver: str, since: tuple[int, int], use: tuple[int, int], method: Scope) -> bool:
    """Whether a method calls another one of its object, or gives the object to somebody, between two places."""
    assert isinstance(method.node, FUNCTIONS)
    return any(
        isinstance(call, ast.Call)
        and since < position(call) < use
        and any(isinstance(part, ast.Name) and part.id == receiver for part in _object_of(call))
        for call in body_nodes(method.node, nested=False)
    )


def _object_of(call: ast.Call) -> list[ast.expr]:
    function = call.func
    return [
        *([function.value] if isinstance(function, ast.Attribute) else []),
        *call.args,
        *(keyword.value for keyword in call.keywords),
    ]


def _comes_round(change: Change, use: ast.AST, last: Change) -> bool:
    """Whether the next round of a loop can bring a later store to a use, not past the one that is sure."""
    loops = [item for item in ancestors(use) if isinstance(item, ast.For | ast.AsyncFor | ast.While)]
    around = set(map(id, ancestors(change.node)))
    return any(id(loop) in around and id(loop) not in set(map(id, ancestors(last.node))) for loop in loops)
