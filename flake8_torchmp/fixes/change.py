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

    @property
    def is_shared(self) -> bool:
        """Whether the same edit in another change is the same wish, as for an import, and not a second one."""
        return self.start < self.end or "\n" in self.text or "\r" in self.text


class Change(NamedTuple):
    edits: tuple[Edit, ...]
    is_safe: bool
    """Whether the program does what it did wherever it worked before."""
    what: str
    """One line for people, e.g. `the lambda became the function _collate_fn`."""


def _begins_group(edit: Edit) -> bool:
    lines = edit.text.splitlines()
    return len(lines) > 1 and sum(bool(line.strip()) for line in lines) == 1


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits cannot both be made; insertions of lines at one place stand beside each other.

    Only the first line of a group, which brings the blank line after it, comes alone: the next one joins the group.
    """
    if one.path != other.path:
        return False
    if one == other:
        return not one.is_shared
    if one.start == one.end == other.start == other.end:
        return not (one.is_shared and other.is_shared) or (_begins_group(one) and _begins_group(other))
    if one.start == one.end or other.start == other.end:
        return one.start < other.end and other.start < one.end
    return max(one.start, other.start) < min(one.end, other.end)


def clash(one: Change, other: Change) -> bool:
    return any(overlap(edit, another) for edit in one.edits for another in other.edits)


def combined(changes: Iterable[Change]) -> list[Edit]:
    """The edits of changes that do not clash; what several of them ask for is there once."""
    edits: list[Edit] = []
    for change in changes:
        known = set(edits)
        edits += [edit for edit in change.edits if edit not in known]
    return edits


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """As they stand in the text; what is inserted at one place keeps the order in which it came."""
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def applied(text: str, edits: Iterable[Edit]) -> str:
    parts: list[str] = []
    place = 0
    for edit in in_order(edits):
        parts += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*parts, text[place:]])


class Moves:
    """Where the characters of an edited text were before."""

    def __init__(self, edits: Iterable[Edit]) -> None:
        self._spans: list[tuple[int, int, Edit]] = []
        """The start and end of each edit's text, after."""
        shift = 0
        for edit in in_order(edits):
            start = edit.start + shift
            self._spans.append((start, start + len(edit.text), edit))
            shift += len(edit.text) - (edit.end - edit.start)

    def origin(self, offset: int) -> tuple[int, bool]:
        """An offset before, and whether the very character at the offset was there; else its edit began there."""
        shift = 0
        for start, end, edit in self._spans:
            if offset < start:
                break
            if offset < end:
                return edit.start, False
            shift += len(edit.text) - (edit.end - edit.start)
        return offset - shift, True

    def is_replaced(self, offset: int) -> bool:
        """Whether the character at an offset before is in text that an edit replaced."""
        return any(edit.start <= offset < edit.end for _, _, edit in self._spans)
