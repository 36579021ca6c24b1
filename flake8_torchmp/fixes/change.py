"""What a codemod answers: edits of texts, applied together or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class NotFixable(Exception):  # noqa: N818 - an answer, not an accident
    """A codemod declines; its text says why, in one line."""


class Edit(NamedTuple):
    """The text that replaces a span of a file; offsets count characters of its text as it is, line ends included."""

    path: str
    start: int
    end: int
    text: str


class Change(NamedTuple):
    edits: tuple[Edit, ...]
    is_safe: bool
    """Whether the program does what it did wherever it worked before."""
    what: str
    """One line for people, e.g. `the lambda became the function _collate_fn`."""


def overlap(one: Edit, other: Edit) -> bool:
    """Whether the result would depend on which is applied first; insertions at one place stand beside each other."""
    if one.path != other.path or one == other:
        return False
    if one.start == one.end or other.start == other.end:
        return one.start < other.end and other.start < one.end
    return max(one.start, other.start) < min(one.end, other.end)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap; the same edit asked for twice is made once."""
    parts: list[str] = []
    place = 0
    for edit in in_order(edits):
        parts += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*parts, text[place:]])


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """Each edit once, as they stand in the text; what is inserted at one place keeps the order in which it came."""
    return sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end))
