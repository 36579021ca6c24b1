"""A line that edits made too long goes on in brackets, as formatters do it.

A statement of one line goes on in its last ones, and so does a call that has a line for itself. Of a call that goes on
already, the arguments of the line get a line each where they had one for all of them, and otherwise the last ones begin
another line below the first. A value that is new as a whole is put into parentheses.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence

import libcst as cst

from .change import Edit, applied
from .document import Document, Span

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
            breaks = list(_broken(document, start, line, inside)) or _spread(document, Span(start, end), inside)
            yield from breaks or _in_parentheses(document, start, line, inside)


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


def _in_parentheses(document: Document, start: int, line: str, edits: list[Edit]) -> Iterator[Edit]:
    """A value that is given to a name, and is new as a whole, goes on in parentheses."""
    indent = line[: len(line) - len(line.lstrip())]
    try:
        (statement,) = ast.parse(line.lstrip()).body
    except (SyntaxError, ValueError):
        return
    if not isinstance(statement, ast.Assign) or len(edits) > 1 or not line.isascii():
        return
    value = statement.value
    first, last = start + len(indent) + value.col_offset, start + len(indent) + (value.end_col_offset or 0)
    if edits[0][1:3] == (first, last) and len(indent + document.indent + edits[0].text) <= LONGEST:
        yield document.inserted(first, f"({document.newline}{indent}{document.indent}")
        yield document.inserted(last, f"{document.newline}{indent})")


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


def _spread(document: Document, line: Span, edits: list[Edit]) -> list[Edit]:
    """The breaks between arguments of the outermost call that has the edits in several of them on the line."""
    for call in document.nodes():
        arguments = [document.span(argument) for argument in call.args] if isinstance(call, cst.Call) else []
        here = [span for span in arguments if line.start <= span.start < line.end]
        if len(here) < 2 or here[-1].end > line.end or not all(_is_inside(edit, here) for edit in edits):
            continue
        breaks = _each_apart(document, line, here) if here == arguments else []
        breaks = breaks or _within(document, line, document.span(call), here)
        breaks = breaks or _last_apart(document, line, arguments[0], here, edits)
        text = applied(document.text[line.start : line.end], _from(line.start, [*edits, *breaks]))
        return breaks if all(len(part) <= LONGEST for part in text.splitlines()) else []
    return []


def _is_inside(edit: Edit, spans: list[Span]) -> bool:
    return any(span.start <= edit.start and edit.end <= span.end for span in spans)


def _from(start: int, edits: list[Edit]) -> list[Edit]:
    return [edit._replace(start=edit.start - start, end=edit.end - start) for edit in edits]


def _each_apart(document: Document, line: Span, arguments: list[Span]) -> list[Edit]:
    """All arguments stand on a line of their own, between the lines of the brackets."""
    before = document.text[line.start : arguments[0].start]
    behind = document.text[arguments[-1].end : line.end].strip()
    if before.strip() or behind not in ("", ","):
        return []
    breaks = [_break(document, span, before) for span in arguments[1:]]
    return breaks if behind else [*breaks, document.inserted(arguments[-1].end, ",")]


def _within(document: Document, line: Span, call: Span, arguments: list[Span]) -> list[Edit]:
    """A call that has its line for itself goes on between its brackets."""
    text = document.text
    before, behind = text[line.start : call.start], text[call.end : line.end].strip()
    above = text[: line.start].rstrip()
    is_alone = line.start <= call.start and call.end <= line.end and not before.strip() and behind in ("", ",")
    if not is_alone or not above.endswith(("(", "[", "{", ",")):
        return []
    return [
        document.inserted(arguments[0].start, document.newline + before + document.indent),
        document.inserted(call.end - 1, document.newline + before),
    ]


def _last_apart(document: Document, line: Span, first: Span, here: list[Span], edits: list[Edit]) -> list[Edit]:
    """A break before the first argument that ends too far on the right; what follows is below the call's first one."""
    indent = " " * (first.start - document.line_start(first.start))
    length = here[0].start - line.start
    for span, following in zip(here, [*here[1:], None], strict=True):
        inside = [edit for edit in edits if _is_inside(edit, [span])]
        length += len(applied(document.text[slice(*span)], _from(span.start, inside)))
        end = following.start if following else line.end
        if length + len(document.text[span.end : end].rstrip()) > LONGEST and span != here[0]:
            return [_break(document, span, indent)]
        length += end - span.end
    return []


def _break(document: Document, span: Span, indent: str) -> Edit:
    """The space before an argument becomes the end of its line."""
    blank = len(document.text[: span.start]) - len(document.text[: span.start].rstrip(" \t"))
    return Edit(document.path, span.start - blank, span.start, document.newline + indent)
