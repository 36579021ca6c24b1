"""Tests that tell the main process from its children, and platforms from one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import Condition, block_of, conditions, earlier, facts, never_continues
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import (
    FUNCTIONS,
    ancestors,
    body_nodes,
    dotted,
    last_name,
    position,
    root_name,
    statement_of,
)
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import External, Function, Method

from .global_names import GlobalNames

PLATFORM_NAMES = frozenset(
    "sys.platform os.name platform.system platform.platform platform.uname os.uname sys.getwindowsversion".split()
)
METHOD_QUESTIONS = frozenset(("get_all_start_methods",))
POSIX_CALLS = frozenset(
    f"os.{name}"
    for name in (
        "fork forkpty getegid geteuid getgid getpgid getpgrp getuid killpg mkfifo nice setgid setpgid setpgrp setsid "
        "setuid wait3 wait4"
    ).split()
)
POSIX_MODULES = frozenset("fcntl grp posix pty pwd resource syslog termios tty".split())
PLATFORM_FLAGS = frozenset(
    "is_windows windows on_windows is_win is_posix is_linux iswindows is_macos is_mac is_osx is_darwin".split()
)


def is_guarded(evaluator: Evaluator, node: ast.AST, module: Module, frame: Frame | None = None) -> bool:
    """Whether a node runs only in the main process."""
    return any(
        tells_main(evaluator, fact, module, frame) for condition in conditions(node) for fact in facts(condition)
    )


def runs_nowhere(node: ast.AST) -> bool:
    """Whether a node is there for type checkers alone."""
    return any(_is_for_types(fact) for condition in conditions(node) for fact in facts(condition))


def _is_for_types(fact: Condition) -> bool:
    return fact.holds and last_name(fact.test) == "TYPE_CHECKING"


def tells_main(
    evaluator: Evaluator, fact: Condition, module: Module, frame: Frame | None = None, depth: int = 0
) -> bool:
    """Whether a fact holds in the main process alone."""
    test, holds = fact
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [test.left, test.comparators[0]]
        equal = isinstance(test.ops[0], ast.Eq | ast.In | ast.Is)
        unequal = isinstance(test.ops[0], ast.NotEq | ast.NotIn | ast.IsNot)
        if any(_text(side) == "__mp_main__" for side in sides):  # as a child calls the main module
            return (unequal if holds else equal) and any(_is_name(s, evaluator, module, frame) for s in sides)
        return (equal if holds else unequal) and _is_main_test(sides, evaluator, module, frame)
    if depth > 3 or not holds:
        return False
    if _is_for_types(fact):
        return True
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
    return any(tells_main(evaluator, fact, module, None, depth + 1) for fact in facts(Condition(test, True)))


def _is_main_test(sides: list[ast.expr], evaluator: Evaluator, module: Module, frame: Frame | None) -> bool:
    texts = {_text(side) for side in sides}
    if "__main__" in texts:
        return any(_is_name(side, evaluator, module, frame) for side in sides)
    if "MainProcess" in texts:
        return any(
            isinstance(side, ast.Attribute)
            and side.attr == "name"
            and isinstance(side.value, ast.Call)
            and last_name(side.value.func) == "current_process"
            for side in sides
        )
    return False


def _is_name(side: ast.expr, evaluator: Evaluator, module: Module, frame: Frame | None) -> bool:
    """`__name__`, or a name that was given it."""
    if not isinstance(side, ast.Name):
        return False
    if side.id == "__name__":
        return True
    values = evaluator.values(side, frame or evaluator.frame_at(side, module))
    return all(isinstance(value, External) and value.name == "builtins.__name__" for value in values)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        texts = [_text(element) for element in node.elts]
        if "__main__" in texts and "__mp_main__" not in texts:
            return "__main__"
        return texts[0] if len(texts) == 1 else ""
    return ""


def runs_at_import(node: ast.AST, module: Module) -> bool:
    """Whether a node is part of what runs when its module is imported: not inside a function."""
    return module.scope_of(node).enclosing_function() is None


def asks_for_platform(evaluator: Evaluator, node: ast.AST, module: Module) -> bool:
    """Whether a test lies on the way to a node that keeps Windows from it, or asks which start methods there are."""
    for condition in conditions(node):
        for test, holds in facts(condition):
            on_windows = _on_windows(test) if mentions_platform(test) else None
            if mentions_platform(test) and on_windows is not holds:
                return True
        if any(_set_by_platform(evaluator, name, module) for name in _names_in(condition.test)):
            return True
    scope = module.scope_of(node)
    function = scope.enclosing_function()
    if _is_skipped_by_platform(scope) or _is_refused_before(evaluator, node, module):
        return True
    return function is not None and any(
        module.scope_of(call).enclosing_function() is function for call in module.calls_of("get_all_start_methods")
    )


def needs_posix(node: ast.AST, module: Module) -> bool:
    """Whether Windows fails before it comes to a node: by what the module imports, or by what is called on the way."""
    body = getattr(module.scope.node, "body", ())
    imported = {alias.name for statement in body if isinstance(statement, ast.Import) for alias in statement.names}
    imported |= {statement.module or "" for statement in body if isinstance(statement, ast.ImportFrom)}
    if not imported.isdisjoint(POSIX_MODULES):
        return True
    way = [node, *ancestors(node)]
    for name in POSIX_CALLS:
        for call in module.calls.get(name.removeprefix("os."), ()):
            statement = statement_of(call)
            if (
                dotted(call.func) == name
                and position(statement) < position(node)
                and not any(item is statement for item in way)
                and any(item is other for item in way for other in block_of(statement))
            ):
                return True
    return False


def _is_refused_before(evaluator: Evaluator, node: ast.AST, module: Module) -> bool:
    """Whether Windows is sent away before a function comes to a node, by a function of the project or by the module."""
    if any(_refuses_windows(statement) for statement in module.tree.body):
        return True
    for statement in earlier(node):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and may_run_project(evaluator, call.func, module):
            for value in evaluator.values(call.func, evaluator.frame_at(call, module)):
                function = value.function if isinstance(value, Method) else value
                if isinstance(function, Function) and any(map(_refuses_windows, body_nodes(function.node))):
                    return True
    return False


def _refuses_windows(statement: ast.AST) -> bool:
    """`if sys.platform == "win32": raise RuntimeError`"""
    if not isinstance(statement, ast.If) or not mentions_platform(statement.test):
        return False
    if not isinstance(statement.body[-1], ast.Raise | ast.Expr) or not never_continues(statement.body):
        return False
    return all(_on_windows(test) in (holds, None) for test, holds in facts(Condition(statement.test, True)))


def _is_skipped_by_platform(scope: Scope | None) -> bool:
    """Whether a decorator with a platform test, as of unittest or pytest, stands over a function or class."""
    while scope is not None:
        for decorator in getattr(scope.node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and mentions_platform(decorator):
                return True
        scope = scope.parent
    return False


def _on_windows(test: ast.expr) -> bool | None:
    """What a test of the platform says on Windows; None where that cannot be told."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        name = _windows_name(test.left)
        wanted = test.comparators[0]
        if not name:
            name, wanted = _windows_name(wanted), test.left
        elements = wanted.elts if isinstance(wanted, ast.Tuple | ast.List | ast.Set) else [wanted]
        texts = [str(e.value).lower() for e in elements if isinstance(e, ast.Constant)]
        if name and len(texts) == len(elements):
            if isinstance(test.ops[0], ast.Eq | ast.In):
                return name in texts
            if isinstance(test.ops[0], ast.NotEq | ast.NotIn):
                return name not in texts
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        name = _windows_name(test.func.value)
        if name and test.args and isinstance(test.args[0], ast.Constant):
            return name.startswith(str(test.args[0].value).lower())
    return None


def _windows_name(node: ast.expr) -> str:
    """What `sys.platform` and its like are on Windows, in lower case."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "casefold"):
            return _windows_name(node.func.value)
        return "windows" if dotted(node.func) == "platform.system" else ""
    return {"sys.platform": "win32", "os.name": "nt"}.get(dotted(node), "")


def mentions_platform(test: ast.AST) -> bool:
    for part in ast.walk(test):
        if isinstance(part, ast.Call) and last_name(part.func) == "hasattr" and dotted(part.args[0]) == "os":
            return True  # `hasattr(os, "fork")`
        if isinstance(part, ast.Attribute | ast.Name):
            name = dotted(part)
            if name in PLATFORM_NAMES or last_name(part) in METHOD_QUESTIONS:
                return True
            if last_name(part).lower().strip("_") in PLATFORM_FLAGS:
                return True
    return False


def _names_in(test: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    for part in ast.walk(test):
        if isinstance(part, ast.Attribute | ast.Name) and isinstance(part.ctx, ast.Load):
            yield part


def _set_by_platform(evaluator: Evaluator, name: ast.Name | ast.Attribute, module: Module, depth: int = 2) -> bool:
    """Whether a name or attribute that a test reads is set where, or to what, a platform test says."""
    text = dotted(name)
    for change in module.changes.get(root_name(name), ()):
        if change.kind == "attribute" and f"{dotted(change.target)}.{change.name}" == text:
            if any(mentions_platform(c.test) for c in conditions(change.node)):
                return True
            if change.value is not None and mentions_platform(change.value):
                return True
    if isinstance(name, ast.Name):
        scope = evaluator.scope_binding(name.id, module.scope_of(name))
        bindings = scope.bindings[name.id] if scope is not None else []
    else:
        bindings = []
    names = GlobalNames(evaluator)
    origin = names.of_name(name, module) if isinstance(name, ast.Name) else names.of_attribute(name, module)
    if origin is not None and origin.module is not module:
        module, bindings = origin.module, origin.bindings
    for binding in bindings:
        if isinstance(binding.node, FUNCTIONS):
            if any(mentions_platform(part) for part in ast.walk(binding.node)):
                return True
        elif (binding.value is not None and mentions_platform(binding.value)) or any(
            mentions_platform(c.test) for c in conditions(binding.node)
        ):
            return True
        elif binding.value is not None and depth:
            asked = _names_in(binding.value)
            if any(_set_by_platform(evaluator, inner, module, depth - 1) for inner in asked):
                return True
    return False
