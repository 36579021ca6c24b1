"""Whether a call may run something of the project, going by names: sooner told than what is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .module import Module
from .scopes import Scope
from .values import External

if TYPE_CHECKING:
    from .evaluate import Evaluator

_IMPORTS = ("import", "from")


def may_run_project(evaluator: Evaluator, callee: ast.expr, module: Module) -> bool:
    if isinstance(callee, ast.Name):
        scope = evaluator.scope_binding(callee.id, module.scope_of(callee))
        if scope is None:
            return bool(module.scope.star_imports)
        return not _is_of_library(evaluator, callee.id, scope)
    if not isinstance(callee, ast.Attribute):
        return True
    if not evaluator.codebase.may_define(callee.attr):
        return False
    root = _root(callee)
    if root is None:
        return True
    scope = evaluator.scope_binding(root.id, module.scope_of(root))
    return scope is None or not _is_of_library(evaluator, root.id, scope)


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _is_of_library(evaluator: Evaluator, name: str, scope: Scope) -> bool:
    """Whether a name is always imported, and never from the project."""
    bindings = scope.bindings[name]
    return all(binding.kind in _IMPORTS for binding in bindings) and all(
        isinstance(value, External)
        for binding in bindings
        for value in evaluator.bound(binding, evaluator.frame_of(scope))
    )
