"""A statement of one line that edits made too long goes on in its last brackets, as formatters do it."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence

from .change import Edit, applied
from .document import Document

LONGEST = 120
"""What a line may have, unless the file has many that are longer."""
MANY = 0.01


def broken_lines(document: Document, edits: Sequence[Edit]) -> Iterator[Edit]:
    text = document.text
    by_line: dict[int, list[Edit]] = {}
    for edit in edits:
        by_line.setdefault(document.line_start(edit.start), []).append(edit)
    if not any(sum(len(edit.text) for edit in inside) for inside in by_line.values()):
        return
    lines = text.splitlines()
    if sum(len(line) > LONGEST for line in lines) > MANY * len(lines):
        return
    for start, inside in by_line.items():
        line = text[start : document.line_after(start)].rstrip("\r\n")
        end = start + len(line)
        if any(edit.end > end or "\n" in edit.text or "\r" in edit.text for edit in inside):
            continue
        moved = [edit._replace(start=edit.start - start, end=edit.end - start) for edit in inside]
        if len(applied(line, moved)) > LONGEST >= len(line):
            yield from _broken(document, start, line, inside)


def _broken(document: Document, start: int, line: str, edits: list[Edit]) -> Iterator[Edit]:
    opener = _last_opener(line)
    first, last = start + opener + 1, start + len(line) - 1
    is_apart = all(edit.end <= first - 1 or (first <= edit.start and edit.end <= last) for edit in edits)
    if opener < 0 or not is_apart or any(edit.start == edit.end == first for edit in edits):
        return
    indent = line[: len(line) - len(line.lstrip())]
    inner = [edit._replace(start=edit.start - first, end=edit.end - first) for edit in edits if edit.start >= first]
    body = applied(document.text[first:last], inner)
    if len(indent + document.indent + body) <= LONGEST:
        yield document.inserted(first, document.newline + indent + document.indent)
        yield document.inserted(last, document.newline + indent)


def _last_opener(line: str) -> int:
    """Where the bracket is opened that ends a line which is a whole statement; -1 where there is none."""
    code = line.lstrip()
    try:
        ast.parse(code)
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (SyntaxError, tokenize.TokenError):
        return -1
    brackets = [token for token in tokens if token.type == tokenize.OP and token.string in "()[]{}"]
    if not code.endswith((")", "]", "}")) or not brackets or brackets[-1].end[1] != len(code):
        return -1
    opened: list[int] = []
    for token in brackets[:-1]:
        if token.string in "([{":
            opened.append(token.start[1])
        else:
            opened.pop()
    return len(line) - len(code) + opened[-1]
