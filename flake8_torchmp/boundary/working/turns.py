"""Processes that run side by side, and those that take turns: each is joined before the next one is made."""

from __future__ import annotations

import ast
from collections.abc import Collection

from flake8_torchmp.semantics.flow import LOOPS, following
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, ancestors, dotted, up


def are_several(calls: Collection[ast.AST]) -> bool:
    """Whether calls that each make a process make more than one."""
    return len(calls) > 1 or any(
        isinstance(item, (*LOOPS, *COMPREHENSIONS)) for call in calls for item in ancestors(call)
    )


def take_turns(calls: Collection[ast.AST]) -> bool:
    """Whether what makes a process each time waits for its end: `p = Process(…); p.start(); p.join()`, in a loop."""
    return all(map(_is_waited_for, calls))


def _is_waited_for(call: ast.AST) -> bool:
    made = up(call)
    names = {dotted(target) for target in made.targets} - {""} if isinstance(made, ast.Assign) else set()
    behind = (statement.value for statement in following(call) if isinstance(statement, ast.Expr))
    return any(
        isinstance(waiting, ast.Call)
        and isinstance(waiting.func, ast.Attribute)
        and waiting.func.attr == "join"
        and dotted(waiting.func.value) in names
        and not (waiting.args or waiting.keywords)
        for waiting in behind
    )
