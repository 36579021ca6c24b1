"""Processes that run side by side, and those that take turns: each is joined before the next one is made."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from flake8_torchmp.semantics.flow import LOOPS, block_of
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, ancestors, dotted, last_name, position, statement_of, up


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
    return any(
        last_name(waiting.func) == "join"
        and isinstance(waiting.func, ast.Attribute)
        and dotted(waiting.func.value) in names
        and not (waiting.args or waiting.keywords)
        for waiting in _calls_behind(call)
    )


def _calls_behind(call: ast.AST) -> Iterator[ast.Call]:
    """The calls that are statements behind another one, in its block."""
    for statement in block_of(statement_of(call)):
        done = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(done, ast.Call) and position(done) > position(call):
            yield done
