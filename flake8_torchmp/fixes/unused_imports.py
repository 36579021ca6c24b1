"""Imports of the standard library that nothing needs any more once edits are made."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import libcst as cst
from libcst.helpers import get_full_name_for_node

from .change import Edit, applied
from .document import Document

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""Not what stands behind a dot: `Lock` of `ctx.Lock` is no name."""
_IMPORT = re.compile(r"^(?:import|from)\b[^\r\n]*", re.MULTILINE)
_TORCH = re.compile(r"^(?:import|from)[ \t]+torch\b(?!\.multiprocessing)", re.MULTILINE)


def unused_after(document: Document, edits: Sequence[Edit]) -> list[Edit]:
    """What takes those imports out whose last use the edits take away; a name in a text or comment is a use as well."""
    gone = _names(document, edits)
    if not gone or document.path.endswith("__init__.py"):
        return []
    after = applied(document.text, edits)
    found: list[Edit] = []
    for line in document.module.body:
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1 or not _is_bare(document, line):
            continue
        part = line.body[0]
        span = document.span(line)
        if not isinstance(part, cst.Import | cst.ImportFrom) or isinstance(part.names, cst.ImportStar):
            continue
        if any(edit.start < span.end and span.start < edit.end for edit in edits):
            continue
        unused = [alias for alias in part.names if _is_unused(alias, part, gone, document.code(line), after)]
        if unused:
            found.append(_without(document, line, [alias for alias in part.names if alias not in unused]))
    return found


def _names(document: Document, edits: Sequence[Edit]) -> set[str]:
    """The names of imports that edits take away somewhere."""
    gone: set[str] = set()
    for edit in edits:
        if edit.end > edit.start:
            gone |= {*_NAME.findall(document.text[edit.start : edit.end])} - {*_NAME.findall(edit.text)}
    return gone & {name for line in _IMPORT.findall(document.text) for name in _NAME.findall(line)} if gone else gone


def _is_bare(document: Document, line: cst.SimpleStatementLine) -> bool:
    """Whether an import stands on one line, and no comment says anything about it."""
    first = document.line_start(document.span(line).start)
    return document.text[first : document.line_after(first)].strip() == document.code(line)


def _is_unused(
    alias: cst.ImportAlias, part: cst.Import | cst.ImportFrom, gone: set[str], code: str, after: str
) -> bool:
    name = alias.evaluated_alias or alias.evaluated_name
    if name not in gone or not _does_nothing(alias, part, after):
        return False
    pattern = rf"(?<![\w.]){name}\b"
    return len(re.findall(pattern, after)) == len(re.findall(pattern, code))


def _does_nothing(alias: cst.ImportAlias, part: cst.Import | cst.ImportFrom, text: str) -> bool:
    """Whether an import only gives a name: of the standard library, or of what torch imports anyway."""
    module = alias.evaluated_name
    if isinstance(part, cst.ImportFrom):
        module = get_full_name_for_node(part.module) or "" if part.module is not None and not part.relative else ""
    if module == "torch.multiprocessing":
        return _TORCH.search(text) is not None
    return module.partition(".")[0] in sys.stdlib_module_names and module != "__future__"


def _without(document: Document, line: cst.SimpleStatementLine, kept: list[cst.ImportAlias]) -> Edit:
    part = line.body[0]
    assert isinstance(part, cst.Import | cst.ImportFrom) and not isinstance(part.names, cst.ImportStar)
    if kept:
        first, last = document.span(part.names[0]).start, document.span(part.names[-1]).end
        texts = (document.text[slice(*document.span(alias))].rstrip(", ") for alias in kept)
        return Edit(document.path, first, last, ", ".join(texts))
    start, end = document.line_start(document.span(line).start), document.line_after(document.span(line).end)
    blank = _blank_lines(document, end)
    above = document.text[:start].splitlines()
    if blank and (not above or not above[-1].strip()):
        end = blank[-1] if not above else blank[0]
    return Edit(document.path, start, end, "")


def _blank_lines(document: Document, place: int) -> list[int]:
    """Where the blank lines from a place on end."""
    ends: list[int] = []
    while place < len(document.text) and not document.text[place : document.line_after(place)].strip():
        place = document.line_after(place)
        ends.append(place)
    return ends
