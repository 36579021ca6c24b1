"""Numbers that are drawn for another try, or for how long to wait: no data comes of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_torchmp.semantics.effects import HANDING_OVER
from flake8_torchmp.semantics.flow import never_continues
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, last_name, mentions, statement_of


def is_for_waiting(node: ast.AST) -> bool:
    return any(
        isinstance(outer, ast.ExceptHandler) or (isinstance(outer, ast.Call) and last_name(outer.func) == "sleep")
        for outer in ancestors(node)
    )


def is_for_another_try(node: ast.AST) -> bool:
    """Whether the first round of a loop, which may end it, goes without what is drawn: `index = rng.choice(others)`.

    What begins where the last round ended, or leaves something of each round, is a walk.
    """
    statement = statement_of(node)
    if not isinstance(statement, ast.Assign):
        return False
    drawn = {part.id for target in statement.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    if mentions(statement.value, drawn):
        return False
    for block in _blocks_of_loop(statement):
        place = next(place for place, item in enumerate(block) if _holds(item, statement))
        ends = [item for item in block[:place] if isinstance(item, ast.If) and never_continues(item.body)]
        left = [part for item in block if item not in ends for part in ast.walk(item)]
        return bool(ends) and any(mentions(item, drawn) for item in block[:place]) and not any(map(_keeps, left))
    return False


def _keeps(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) in HANDING_OVER
    is_stored = isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store)
    return is_stored or isinstance(node, ast.Yield | ast.YieldFrom)


def _blocks_of_loop(statement: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """The body of the loop around a statement."""
    for outer in ancestors(statement):
        if isinstance(outer, FUNCTIONS):
            return
        if isinstance(outer, ast.While | ast.For):
            if any(_holds(item, statement) for item in outer.body):
                yield outer.body
            return


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return outer is node or any(above is outer for above in ancestors(node))
