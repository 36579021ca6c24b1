"""What the project's decorators do around the functions that they decorate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .flow import caught_around
from .module import Module
from .nodes import body_nodes
from .scopes import Scope
from .values import Function, Method

if TYPE_CHECKING:
    from .evaluate import Evaluator


def caught_on_the_way(evaluator: Evaluator, node: ast.AST, module: Module) -> Iterator[str]:
    """The exceptions that are caught around a node in its function, or by a decorator around that function."""
    yield from caught_around(node)
    function = module.scope_of(node).enclosing_function()
    if function is None or function.parent is None:
        return
    for decorator in getattr(function.node, "decorator_list", ()):
        maker = decorator.func if isinstance(decorator, ast.Call) else decorator
        for value in evaluator.values(maker, evaluator.frame_of(function.parent)):
            made = value.function if isinstance(value, Method) else value
            if isinstance(made, Function):
                yield from _caught_by(made.scope, evaluator)


def _caught_by(decorator: Scope, evaluator: Evaluator) -> Iterator[str]:
    """What is caught around the calls of parameters: one of them is the function that is decorated."""
    for part in body_nodes(decorator.node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            scope = evaluator.scope_binding(part.func.id, decorator.module.scope_of(part))
            if scope is not None and any(b.kind == "parameter" for b in scope.bindings[part.func.id]):
                yield from caught_around(part)
