"""What a call may run, going by names and by how it is called: sooner told than what is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .module import Module
from .nodes import last_name
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
    return evaluator.codebase.may_define(callee.attr) and may_lead_to_project(evaluator, callee, module)


def may_lead_to_project(evaluator: Evaluator, node: ast.Attribute, module: Module) -> bool:
    """Whether what an attribute is read of may be the project's: not where it begins with a library's name."""
    root = _root(node)
    if root is None:
        return True
    scope = evaluator.scope_binding(root.id, module.scope_of(root))
    return scope is None or not _is_of_library(evaluator, root.id, scope)


def is_kept(evaluator: Evaluator, callee: ast.expr, module: Module) -> bool:
    """Whether what is called is kept or looked up somewhere: `factory(…)`, `self.kind(…)`, `TABLE[name](…)`."""
    if isinstance(callee, ast.Name):
        scope = evaluator.scope_binding(callee.id, module.scope_of(callee))
        bindings = scope.bindings[callee.id] if scope is not None else []
        return any(
            binding.kind in ("parameter", "for") or (binding.kind == "assign" and _chooses(binding.value))
            for binding in bindings
        )
    if isinstance(callee, ast.Attribute):
        return callee.attr in _attributes_for_callables(module)
    return _chooses(callee)


def _chooses(node: ast.expr | None) -> bool:
    """Whether an expression names something, chooses it or looks it up, rather than making it."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("get", "getattr", "partial")
    return isinstance(node, ast.Name | ast.Attribute | ast.IfExp | ast.BoolOp | ast.Subscript)


def _attributes_for_callables(module: Module) -> frozenset[str]:
    """The attributes that a module gives what may be called, in a class's body or on an object."""
    key = ("attributes for callables",)
    if key not in module.memo:
        stored = {c.name for changes in module.changes.values() for c in changes if _chooses(c.value)}
        own = {
            name
            for node in module.classes
            for name, bindings in module.scopes[node].bindings.items()
            if any(_chooses(binding.value) for binding in bindings)
        }
        module.memo[key] = frozenset(stored | own)
    known: frozenset[str] = module.memo[key]
    return known


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
