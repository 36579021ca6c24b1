"""What a program says in its comments."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from .nodes import ancestors, statement_of

_NO_PROSE = re.compile(r"#[\s!:]*(?:noqa|type:|pylint|pragma|nosec|todo|fixme|xxx|hack|tmp\d)", re.IGNORECASE)
_COMMENT = re.compile(r"^[^#\"']*#(.*)")
_WORD = re.compile(r"[A-Za-z']{2,}")


def words_of(line: str) -> list[str]:
    """The words of a line's comment, unless it speaks to a tool, or of what is to be done."""
    told = None if _NO_PROSE.search(line) else _COMMENT.search(line)
    return _WORD.findall(told[1]) if told is not None else []


def words_above(lines: Sequence[str], number: int) -> list[str]:
    """The words of the comments that stand right above a line."""
    words: list[str] = []
    for line in reversed(lines[: number - 1]):
        if not line.lstrip().startswith("#"):
            break
        words = words_of(line) + words
    return words


def words_about(node: ast.expr, lines: Sequence[str]) -> list[str]:
    """The words of the comments about an expression: at its line, above it, its statement and the tests around.

    What stands in the same paragraph above a statement is about it, too, and what stands behind or right below it.
    """
    statement = statement_of(node)
    places = {node.lineno, _begin_of_paragraph(lines, statement.lineno)}
    for outer in ancestors(statement):
        if not isinstance(outer, ast.If):
            break
        places |= {outer.lineno, _after_comment(lines, outer.lineno)}
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    words = [word for line in lines[statement.lineno - 1 : last] for word in words_of(line)]
    words += _words_below(lines, last) if not body else []
    return words + [word for place in sorted(places) for word in words_above(lines, place)]


def _words_below(lines: Sequence[str], number: int) -> list[str]:
    words: list[str] = []
    for line in lines[number:]:
        if not line.lstrip().startswith("#"):
            break
        words += words_of(line)
    return words


def _begin_of_paragraph(lines: Sequence[str], number: int) -> int:
    """The first of the lines right above one that are as deep, up to a comment."""
    depth = _depth(lines[number - 1])
    while number > 1 and _depth(lines[number - 2]) == depth and not lines[number - 2].lstrip().startswith("#"):
        number -= 1
    return number


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else -1


def _after_comment(lines: Sequence[str], number: int) -> int:
    """The first of the imports that a line follows: what is said above them is said of it, too."""
    while number > 1 and (not (line := lines[number - 2].strip()) or line.startswith(("import ", "from "))):
        number -= 1
    return number
