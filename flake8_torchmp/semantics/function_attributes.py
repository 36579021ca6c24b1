"""Attributes that are kept on functions: `getattr(func, "mode", "common")` where nobody has given it one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .calls import parameters
from .nodes import FUNCTIONS, up
from .values import Function

if TYPE_CHECKING:
    from .evaluate import Evaluator


def is_without(evaluator: Evaluator, function: Function, name: str) -> bool:
    """Whether the file of a function neither sets an attribute of it, nor hands it to a function that does."""
    module = function.scope.module
    own = _name_of(function.node)
    if not own or any(extra.attribute == name for extra in function.added_attributes()):
        return False
    if any(c.kind == "attribute" and c.name in (name, "__dict__") for c in module.changes.get(own, ())):
        return False
    return not any(_is_changed_by_call(evaluator, function, load) for load in module.loads(own))


def _name_of(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef):
        return node.name
    holder: Any = up(node)
    target = holder.targets[0] if isinstance(holder, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def _is_changed_by_call(evaluator: Evaluator, function: Function, load: ast.expr) -> bool:
    module = function.scope.module
    call: Any = up(load)
    if not isinstance(call, ast.Call) or load not in call.args:
        return False
    place = call.args.index(load)
    for callee in evaluator.values(call.func, evaluator.frame_at(call, module)):
        if not isinstance(callee, Function) or not isinstance(callee.node, FUNCTIONS):
            continue
        inner = callee.scope.module
        given = list(parameters(callee.node))[place : place + 1]
        changes = [change for name in given for change in inner.changes.get(name, ())]
        if any(c.kind in ("attribute", "item") and inner.scope_of(c.target) is callee.scope for c in changes):
            return True
    return False
