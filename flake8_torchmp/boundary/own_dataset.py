"""The copy of the dataset that a worker has: `get_worker_info().dataset`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, last_name
from flake8_torchmp.semantics.scopes import Scope


def called_on_own_dataset(scope: Scope) -> Iterator[str]:
    """The methods that a function calls on the dataset of the worker that it prepares."""
    for node in body_nodes(scope.node):
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(method, ast.Attribute) and is_own_dataset(method.value, scope.module):
            yield method.attr


def is_own_dataset(node: ast.expr, module: Module) -> bool:
    """`get_worker_info().dataset`, or a variable that is nothing else: each worker's copy of the one of the parent."""
    if isinstance(node, ast.Name):
        bound = module.scope_of(node).bindings.get(node.id, ())
        value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" else None
        return value is not None and not isinstance(value, ast.Name) and is_own_dataset(value, module)
    if not isinstance(node, ast.Attribute) or node.attr != "dataset":
        return False
    info: ast.expr | None = node.value
    if isinstance(info, ast.Name):
        bound = module.scope_of(node).bindings.get(info.id, ())
        info = bound[0].value if len(bound) == 1 else None
    return isinstance(info, ast.Call) and asks_for_info(info, module)


def asks_for_info(call: ast.Call, module: Module) -> bool:
    return last_name(call.func) in ("get_worker_info", *module.names_of("get_worker_info"))
