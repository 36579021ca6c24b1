"""What a method has surely put in an attribute of its object before it reads it there."""

from __future__ import annotations

import ast

from .calls import receiver_name
from .flow import LOOPS, block_of
from .module import Module
from .nodes import FUNCTIONS, ancestors, body_nodes, is_called, position, statement_of, up
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
    use = position(node)
    stores = _stores(module).get((receiver, node.attr), [])
    own = [change for change in stores if module.scope_of(change.target).enclosing_function() is method]
    if not any(position(change.node) < use for change in own):
        return []
    chain = {id(item) for item in (node, *ancestors(node))}
    own = [change for change in own if id(statement_of(change.node)) not in chain]
    before = [change for change in own if position(change.node) < use]
    sure = [change for change in before if any(id(item) in chain for item in block_of(statement_of(change.node)))]
    last = max(sure, key=lambda change: position(change.node), default=None)
    if last is None or _hands_on(receiver, position(last.node), use, method):
        return []
    return [
        *(change for change in before if position(change.node) >= position(last.node)),
        *(change for change in own if change not in before and _comes_round(change, node, last)),
    ]


def _stores(module: Module) -> dict[tuple[str, str], list[Change]]:
    """What stores something on the object of a variable, by the variable and the attribute."""
    key = ("stores on variables",)
    if key not in module.memo:
        found: dict[tuple[str, str], list[Change]] = {}
        for change in (change for changes in module.changes.values() for change in changes):
            if change.kind == "attribute" and isinstance(change.target, ast.Name):
                found.setdefault((change.target.id, change.name), []).append(change)
        module.memo[key] = found
    known: dict[tuple[str, str], list[Change]] = module.memo[key]
    return known


def _hands_on(receiver: str, since: tuple[int, int], use: tuple[int, int], method: Scope) -> bool:
    """Whether others come by the object between two places: its methods, those of its bases, whoever it is given to."""
    assert isinstance(method.node, FUNCTIONS)
    return any(
        isinstance(name, ast.Name)
        and since < position(name) < use
        and (
            name.id == "super"
            or (name.id == receiver and (not isinstance(above := up(name), ast.Attribute) or is_called(above)))
        )
        for name in body_nodes(method.node, nested=False)
    )


def _comes_round(change: Change, use: ast.AST, last: Change) -> bool:
    """Whether the next round of a loop can bring a later store to a use, not past the one that is sure."""
    loops = [item for item in ancestors(use) if isinstance(item, LOOPS)]
    around = set(map(id, ancestors(change.node)))
    return any(id(loop) in around and id(loop) not in set(map(id, ancestors(last.node))) for loop in loops)
