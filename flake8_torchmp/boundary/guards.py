"""Tests that tell the main process from its children, and platforms from one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..semantics.evaluate import Evaluator
from ..semantics.flow import Condition, conditions, facts
from ..semantics.module import FUNCTIONS, Module, dotted, root_name
from ..semantics.values import Function

PLATFORM_NAMES = frozenset(
    "sys.platform os.name platform.system platform.platform platform.uname os.uname sys.getwindowsversion".split()
)
METHOD_QUESTIONS = frozenset(("get_all_start_methods", "_supports_fork", "cpu_count_fork"))


def is_guarded(evaluator: Evaluator, node: ast.AST, module: Module) -> bool:
    """Whether a node runs only in the main process."""
    return any(_tells_main(evaluator, fact, module) for condition in conditions(node) for fact in facts(condition))


def _tells_main(evaluator: Evaluator, fact: Condition, module: Module, depth: int = 0) -> bool:
    test, holds = fact
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [test.left, test.comparators[0]]
        equal = isinstance(test.ops[0], ast.Eq | ast.In | ast.Is)
        unequal = isinstance(test.ops[0], ast.NotEq | ast.NotIn | ast.IsNot)
        return (equal if holds else unequal) and _is_main_test(sides)
    if depth > 3 or not holds:
        return False
    if isinstance(test, ast.Name):
        scope = evaluator.scope_binding(test.id, module.scope_of(test))
        bindings = scope.bindings[test.id] if scope is not None else []
        return len(bindings) == 1 and _all_tell(evaluator, bindings[0].value, module, depth)
    if isinstance(test, ast.Call):
        for value in evaluator.values(test.func, evaluator.frame_at(test, module)):
            if isinstance(value, Function) and len(value.scope.returns) == 1:
                return _all_tell(evaluator, value.scope.returns[0].value, value.scope.module, depth)
    return False


def _all_tell(evaluator: Evaluator, test: ast.expr | None, module: Module, depth: int) -> bool:
    if test is None:
        return False
    return any(_tells_main(evaluator, fact, module, depth + 1) for fact in facts(Condition(test, True)))


def _is_main_test(sides: list[ast.expr]) -> bool:
    texts = {_text(side) for side in sides}
    if "__main__" in texts:
        return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    if "MainProcess" in texts:
        return any(
            isinstance(side, ast.Attribute)
            and side.attr == "name"
            and isinstance(side.value, ast.Call)
            and dotted(side.value.func).rpartition(".")[2] == "current_process"
            for side in sides
        )
    return False


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) == 1:
        return _text(node.elts[0])
    return ""


def runs_at_import(node: ast.AST, module: Module) -> bool:
    """Whether a node is part of what runs when its module is imported: not inside a function."""
    return module.scope_of(node).enclosing_function() is None


def asks_for_platform(evaluator: Evaluator, node: ast.AST, module: Module) -> bool:
    """Whether a test of the platform or of the available start methods lies on the way to a node."""
    for condition in conditions(node):
        if _mentions_platform(condition.test):
            return True
        for name in _names_in(condition.test):
            if _set_by_platform(evaluator, name, module):
                return True
    return False


def _mentions_platform(test: ast.AST) -> bool:
    for part in ast.walk(test):
        if isinstance(part, ast.Attribute | ast.Name):
            name = dotted(part)
            if name in PLATFORM_NAMES or name.rpartition(".")[2] in METHOD_QUESTIONS:
                return True
            lowered = name.rpartition(".")[2].lower().strip("_")
            if lowered in ("is_windows", "windows", "on_windows", "is_win", "is_posix", "is_linux", "iswindows"):
                return True
    return False


def _names_in(test: ast.AST) -> Iterator[ast.expr]:
    for part in ast.walk(test):
        if isinstance(part, ast.Attribute | ast.Name) and isinstance(part.ctx, ast.Load):
            yield part


def _set_by_platform(evaluator: Evaluator, name: ast.expr, module: Module) -> bool:
    """Whether a name or attribute that a test reads is set where, or to what, a platform test says."""
    text = dotted(name)
    for change in module.changes.get(root_name(name), ()):
        if change.kind == "attribute" and f"{dotted(change.target)}.{change.name}" == text:
            if any(_mentions_platform(c.test) for c in conditions(change.node)):
                return True
            if change.value is not None and _mentions_platform(change.value):
                return True
    if isinstance(name, ast.Name):
        scope = evaluator.scope_binding(name.id, module.scope_of(name))
        for binding in scope.bindings[name.id] if scope is not None else ():
            if isinstance(binding.node, FUNCTIONS):
                if any(_mentions_platform(part) for part in ast.walk(binding.node)):
                    return True
            elif binding.value is not None and _mentions_platform(binding.value):
                return True
            elif any(_mentions_platform(c.test) for c in conditions(binding.node)):
                return True
    return False
