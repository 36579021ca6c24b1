"""Code that ends its own process: exits, aborts, signals to itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.working.sides import names_side
from flake8_torchmp.semantics.calls import Frame, receiver_name
from flake8_torchmp.semantics.choices import is_choice
from flake8_torchmp.semantics.codebase import Codebase
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import caught_around, caught_by, conditions, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, dotted, last_name, listed_constants, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, External, Result, Unknown, truth_of

RAISING = frozenset(("sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit"))
"""They raise SystemExit, which can be caught."""
HARD = frozenset(("os._exit", "os.abort"))
TO_ITSELF = frozenset(("os.kill", "os.killpg", "signal.raise_signal"))
BY_PARSER = frozenset(("error", "exit"))
"""Methods by which an argument parser ends the program: they raise SystemExit as well."""
PARSERS = frozenset(("argparse.ArgumentParser", "optparse.OptionParser"))
CATCHING = frozenset(("", "SystemExit", "BaseException"))
CATCHABLE = frozenset(
    ("sys.exit()", "exit()", "quit()", "raise SystemExit", *(f"{n}() of a parser" for n in BY_PARSER))
)
NAMES = frozenset(name.rpartition(".")[2] for name in RAISING | HARD | TO_ITSELF)

_EXIT_CODE = re.compile(rb"\b(?:exitcode|sentinel|is_alive)\b")


class Exit(NamedTuple):
    node: ast.AST
    text: str
    is_success: bool
    """Whether it ends with exit code 0."""


def exits_in(scope: Scope, evaluator: Evaluator) -> Iterator[Exit]:
    """The exits of one function, signal handlers and what tests which process it is in aside."""
    if not _has_words(scope.module) or is_signal_handler(scope):
        return
    assert isinstance(scope.node, FUNCTIONS)
    for node in body_nodes(scope.node):
        found = _exit(node, scope, evaluator)
        if found is not None and not _is_considered(node, found, scope):
            yield found


def is_caught_by_callers(found: Exit, scope: Scope, evaluator: Evaluator) -> bool:
    """Whether an exit only raises, and whoever calls the function catches that."""
    if found.text not in CATCHABLE:
        return False
    calls = [arguments.call for arguments, _ in evaluator.callers.of(scope)]
    return bool(calls) and all(
        isinstance(call, ast.Call) and not CATCHING.isdisjoint(caught_around(call)) for call in calls
    )


def is_switched_off(node: ast.AST, evaluator: Evaluator, frame: Frame) -> bool:
    """Whether a flag of the object keeps code from running, as in `if self.debug:`."""
    return any(
        isinstance(test, ast.Attribute)
        and dotted(test.value) == receiver_name(frame.scope)
        and all(truth_of(value) is (not holds) and not is_choice(value) for value in evaluator.values(test, frame))
        for test, holds in facts_at(node)
    )


def is_never_come_to(node: ast.AST, scope: Scope, evaluator: Evaluator) -> bool:
    """Whether a test keeps code from running: of a constant, or for other words than all callers use."""
    facts = facts_at(node)
    frame = evaluator.frame_at(node, scope.module)
    if any(isinstance(f.test, ast.Name) and evaluator.truth(f.test, frame) is (not f.holds) for f in facts):
        return True
    handled: dict[str, set[object]] = {}
    for test, holds in facts:
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1 and not holds:
            words = listed_constants(test.comparators[0]) if isinstance(test.ops[0], ast.In) else None
            if isinstance(test.ops[0], ast.Eq) and isinstance(test.comparators[0], ast.Constant):
                words = [test.comparators[0].value]
            handled.setdefault(test.left.id, set()).update(words or ())
    return any(_are_all(name, words, scope, evaluator) for name, words in handled.items() if len(words) > 1)


def _are_all(name: str, words: set[object], scope: Scope, evaluator: Evaluator) -> bool:
    """Whether a parameter is one of some words wherever it can be told what callers give."""
    binding = next((b for b in scope.bindings.get(name, ()) if b.kind == "parameter"), None)
    loads = [load for load in scope.module.loads(name) if scope.module.scope_of(load) is scope]
    if binding is None or len(scope.bindings[name]) > 1 or not loads:
        return False
    values = [value for frame in evaluator.contexts(scope) for value in evaluator.values(loads[0], frame)]
    told = [value for value in values if isinstance(value, Constant)]
    others = [value for value in values if not isinstance(value, Constant | Unknown)]
    return not others and len(told) > 1 and all(not is_choice(v) and v.value in words for v in told)


def _has_words(module: Module) -> bool:
    key = ("exits",)
    if key not in module.memo:
        module.memo[key] = _has_parsers(module) or any(
            alias in module.read for name in NAMES for alias in module.names_of(name)
        )
    return bool(module.memo[key])


def _has_parsers(module: Module) -> bool:
    return b"argparse" in module.data or b"optparse" in module.data


def _exit(node: ast.AST, scope: Scope, evaluator: Evaluator) -> Exit | None:
    if isinstance(node, ast.Raise) and last_name(node.exc or node) == "SystemExit":
        return Exit(node, "raise SystemExit", True)
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and _is_of_parser(node.func, scope, evaluator):
        return Exit(node, f"{node.func.attr}() of a parser", node.func.attr == "exit" and _is_zero(node))
    if last_name(node.func) not in NAMES and not isinstance(node.func, ast.Name):
        return None
    frame = evaluator.frame_at(node, scope.module)
    for value in evaluator.values(node.func, frame):
        name = value.name if isinstance(value, External) else ""
        if name in TO_ITSELF and (name == "signal.raise_signal" or _is_own_process(node, scope, evaluator)):
            return Exit(node, f"{name}() of its own process", False)
        if name in RAISING:
            holder = up(node)
            if name == "builtins.SystemExit":
                return Exit(holder, "raise SystemExit", _is_zero(node)) if isinstance(holder, ast.Raise) else None
            return Exit(node, f"{name.removeprefix('builtins.')}()", _is_zero(node))
        if name in HARD:
            return Exit(node, f"{name}()", name == "os._exit" and _is_zero(node))
    return None


def _is_of_parser(method: ast.Attribute, scope: Scope, evaluator: Evaluator) -> bool:
    """`parser.error("…")`"""
    if method.attr not in BY_PARSER or not _has_parsers(scope.module):
        return False
    values = evaluator.values(method.value, evaluator.frame_at(method, scope.module))
    return any(isinstance(value, Result) and value.name.removesuffix("()") in PARSERS for value in values)


def _is_own_process(node: ast.Call, scope: Scope, evaluator: Evaluator) -> bool:
    values = evaluator.values(node.args[0], evaluator.frame_at(node, scope.module)) if node.args else ()
    return any(
        isinstance(value, Result) and value.name in ("os.getpid", "os.getpgid", "os.getpgrp") for value in values
    )


def _is_zero(node: ast.Call) -> bool:
    return not node.args or (isinstance(node.args[0], ast.Constant) and node.args[0].value in (0, None))


def _is_considered(node: ast.AST, found: Exit, scope: Scope) -> bool:
    if found.text not in ("os._exit()", "os.abort()") and not CATCHING.isdisjoint(caught_around(node)):
        return True
    for holder in ancestors(node):
        if isinstance(holder, ast.ExceptHandler) and "KeyboardInterrupt" in caught_by(holder):
            return True
        if isinstance(holder, FUNCTIONS):
            inner = scope.module.scopes[holder]
            if inner is not scope and is_signal_handler(inner):
                return True
            if inner is scope:
                break
    return any(names_side(condition.test) for condition in conditions(node))


def is_signal_handler(scope: Scope) -> bool:
    """Whether a function is given to `signal.signal` or `atexit.register`."""
    for name in ("signal", "add_signal_handler", "register"):
        for call in scope.module.calls.get(name, ()):
            for argument in call.args:
                if argument is scope.node or (scope.name and last_name(argument) == scope.name):
                    return True
    return False


def is_exit_code_looked_at(module: Module, codebase: Codebase) -> bool:
    """Whether a program that may run a module looks at how its processes ended."""
    return any(codebase.matches(path, _EXIT_CODE) for path in codebase.users([module.path]))
