"""On which side code runs: what asks whether it is a worker, and what is done only where there is none."""

from __future__ import annotations

import ast
from typing import TypeGuard

from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import Condition, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import is_none, last_name

from .worker_datasets import asks_for_info
from .workers import WorkerFunction

OF_LOADERS = frozenset(("dataset", "collate", "initializer"))
ASKING = frozenset(("get_worker_info", "current_process", "parent_process", "daemon"))
"""What tells a process which one it is."""


def names_side(node: ast.AST) -> bool:
    """Whether an expression itself asks in which process it is."""
    return any(isinstance(part, ast.Name | ast.Attribute) and last_name(part) in ASKING for part in ast.walk(node))


def asks_for_side(node: ast.expr, module: Module, evaluator: Evaluator, depth: int = 2) -> bool:
    """Whether an expression asks in which process it is, by a variable or a function of the module too."""
    if names_side(node):
        return True
    for part in ast.walk(node) if depth else ():
        scope = evaluator.scope_binding(part.id, module.scope_of(part)) if isinstance(part, ast.Name) else None
        for binding in scope.bindings[part.id] if scope is not None and isinstance(part, ast.Name) else ():
            returned = module.scopes[binding.node].returns if binding.kind == "def" else ()
            told = [binding.value, *(statement.value for statement in returned)]
            if any(_is_answer(value, module) and asks_for_side(value, module, evaluator, depth - 1) for value in told):
                return True
    return False


def _is_answer(value: ast.expr | None, module: Module) -> TypeGuard[ast.expr]:
    """Not the worker's info itself, by which samples are shared out as well."""
    return value is not None and not (isinstance(value, ast.Call) and asks_for_info(value, module))


def is_left_to_parent(node: ast.AST, worker: WorkerFunction) -> bool:
    """Whether a place in the code of a loader's workers runs only where `get_worker_info()` is None."""
    module = worker.scope.module
    if worker.kind not in OF_LOADERS or b"get_worker_info" not in module.data:
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
        return asks_for_info(node, module)
    if not isinstance(node, ast.Name):
        return False
    scope = module.scope_of(node).enclosing_function()
    bindings = scope.bindings.get(node.id, []) if scope is not None else []
    return bool(bindings) and all(
        isinstance(b.value, ast.Call) and not b.path and b.kind in ("assign", "walrus") and _is_info(b.value, module)
        for b in bindings
    )
