"""What a parameter may be given where the arguments come in a dict that is filled step by step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .calls import Arguments
from .evaluate import Evaluator
from .flow import block_of
from .nodes import ancestors, position, statement_of
from .values import Collection, Source


def sources(
    evaluator: Evaluator, arguments: Arguments, index: int | None, name: str, beside: Source | None = None
) -> list[Source]:
    """The expressions of which a parameter gets one: branches may put several into `**options` under its name.

    `beside` is given at the same time: what is replaced on the way to it is no longer there.
    """
    last = arguments.get(index, name)
    if last is None or arguments.keywords.get(name) is not last or not isinstance(arguments.call, ast.Call):
        return [] if last is None else [last]
    spread = [keyword.value for keyword in arguments.call.keywords if keyword.arg is None]
    if not spread or any(keyword.arg == name for keyword in arguments.call.keywords):
        return [last]
    entries = [entry for options in spread for entry in _entries(evaluator, options, arguments, name)]
    current = [entry for entry in entries if not any(_replaces(later, entry, beside) for later in entries)]
    return current or [last]


def _entries(evaluator: Evaluator, options: ast.expr, arguments: Arguments, name: str) -> Iterator[Source]:
    for value in evaluator.values(options, arguments.frame):
        if isinstance(value, Collection):
            yield from (source for key, source in evaluator.items(value) if key == name)


def _replaces(later: Source, entry: Source, beside: Source | None) -> bool:
    """Whether what puts one entry in is always followed by what puts in the other."""
    if later.frame is not entry.frame or position(later.node) <= position(entry.node):
        return False
    block = block_of(statement_of(later.node))
    passed = [entry] if beside is None or beside.frame is not later.frame else [entry, beside]
    return any(item is outer for item in block for source in passed for outer in (source.node, *ancestors(source.node)))
