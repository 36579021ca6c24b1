"""Lookups that give None where there is nothing: `table.get(key)` without such a key, `next(found, None)`."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.calls import Frame, parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import ancestors, dotted, is_none, last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Collection, Constant


def finds_nothing(node: ast.Call, scope: Scope, frame: Frame, evaluator: Evaluator) -> bool:
    """Whether a call looks for what may not be there and gives None then: a key that a dict is seen not to have."""
    if node.keywords or not node.args or (len(node.args) == 2 and not is_none(node.args[1])):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id == "next" and len(node.args) == 2 and isinstance(node.args[0], ast.GeneratorExp)
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "get" or _is_asked(node.func.value, scope):
        return False
    inner = evaluator.frame_in(scope.module.scope_of(node), frame)
    keys: set[object] = set()
    for table in evaluator.values(node.func.value, inner):
        if not isinstance(table, Collection) or table.kind != "dict" or not table.complete:
            return False
        if any(extra.kind != "entry" for extra in table.added_items()):
            return False
        keys.update(key for key, _ in evaluator.items(table))
    if not keys or None in keys:
        return False
    if _is_index(node.args[0], scope):
        return all(isinstance(key, int) for key in keys) and keys != set(range(len(keys)))
    asked = evaluator.values(node.args[0], inner)
    return any(isinstance(value, Constant) and value.value not in keys for value in asked)


def _is_index(node: ast.expr, scope: Scope) -> bool:
    """The index of a sample, which counts from 0 on without gaps."""
    names = list(parameters(scope.node))  # type: ignore[arg-type]
    return scope.name == "__getitem__" and len(names) == 2 and dotted(node) == names[1]


def _is_asked(table: ast.expr, scope: Scope) -> bool:
    """Whether a test of a module asks anywhere what is in a table: what it looks up may be chosen by that."""
    for use in scope.module.loads(last_name(table)):
        child: ast.AST = use
        for above in ancestors(use):
            if isinstance(above, ast.Compare) or child in _tests(above):
                return True
            if isinstance(above, ast.stmt):
                break
            child = above
    return False


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.comprehension):
        return node.ifs
    return [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert) else []
