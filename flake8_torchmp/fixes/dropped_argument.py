"""A call loses an argument, a dict an entry, each with the line that it had for itself; a comment on it stays."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from .change import Edit
from .document import Document

_FOR_TOOLS = re.compile(r"#\s*(noqa|type:|pyright:|mypy:|pylint:|pragma)")
"""Comments about the line on which they stand alone."""


def without(document: Document, holder: cst.Call | cst.Dict, item: cst.Arg | cst.BaseDictElement) -> Edit:
    text = document.text
    items = holder.args if isinstance(holder, cst.Call) else holder.elements
    start, end = document.span(item)
    after = document.span(item.comma).end if isinstance(item.comma, cst.Comma) else end
    before = document.span(holder.func).end if isinstance(holder, cst.Call) else document.span(holder).start
    if len(items) == 1 and not _comments(document, holder, before):
        bracket = next(place for place in range(before, len(text)) if text[place] in "({")
        return Edit(document.path, bracket + 1, document.span(holder).end - 1, "")
    line, next_line = document.line_start(start), document.line_after(after)
    behind = text[after:next_line].strip()
    if not text[line:start].strip() and (not behind or behind.startswith("#")):
        said = behind if behind and not _FOR_TOOLS.match(behind) else ""
        return Edit(document.path, line, next_line, f"{text[line:start]}{said}{document.newline}" if said else "")
    index = next(i for i, one in enumerate(items) if one is item)
    if after > end or not index:
        return _between(document, items, index, after)
    previous = document.span(items[index - 1]).end
    return Edit(document.path, start if "#" in text[previous:start] else previous, end, "")


def _comments(document: Document, holder: cst.CSTNode, behind: int) -> list[cst.CSTNode]:
    inner = (node for node in document.nodes(holder) if isinstance(node, cst.Comment))
    return [node for node in inner if document.span(node).start >= behind]


def _between(document: Document, items: Sequence[cst.CSTNode], index: int, after: int) -> Edit:
    """An item and its comma, where others share its line; no space is left at the end of that."""
    text = document.text
    start = document.span(items[index]).start
    while text[after] in " \t":
        after += 1
    if text[after] not in "\r\n#":
        return Edit(document.path, start, after, "")
    if index:
        while text[start - 1] in " \t":
            start -= 1
        while text[after - 1] in " \t":
            after -= 1
    elif text[after] != "#":
        following = document.span(items[1]).start
        after = after if "#" in text[after:following] else following
    return Edit(document.path, start, after, "")
