"""On which side of a loader code runs: what a sample method does only where there is no worker is the parent's."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.flow import Condition, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import is_none, last_name

from .workers import WorkerFunction

OF_LOADERS = frozenset(("dataset", "collate", "initializer"))
ASKING = "get_worker_info"


def is_left_to_parent(node: ast.AST, worker: WorkerFunction) -> bool:
    """Whether a place in the code of a loader's workers runs only where `get_worker_info()` is None."""
    module = worker.scope.module
    if worker.kind not in OF_LOADERS or ASKING.encode() not in module.data:
        return False
    return any(_tells_parent(fact, module) for fact in facts_at(node))


def _tells_parent(fact: Condition, module: Module) -> bool:
    test, holds = fact
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and is_none(test.comparators[0]):
        return isinstance(test.ops[0], ast.Is | ast.Eq) is holds and _is_info(test.left, module)
    return not holds and _is_info(test, module)


def _is_info(node: ast.expr, module: Module) -> bool:
    """`get_worker_info()`, or a variable that holds nothing else."""
    if isinstance(node, ast.NamedExpr):
        return _is_info(node.value, module)
    if isinstance(node, ast.Call):
        return last_name(node.func) in module.names_of(ASKING)
    if not isinstance(node, ast.Name):
        return False
    scope = module.scope_of(node).enclosing_function()
    bindings = scope.bindings.get(node.id, []) if scope is not None else []
    return bool(bindings) and all(
        isinstance(b.value, ast.Call) and not b.path and b.kind in ("assign", "walrus") and _is_info(b.value, module)
        for b in bindings
    )
