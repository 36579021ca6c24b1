"""Which findings are the same before and after changes, though their lines have moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from flake8_torchmp.findings import Finding

from .change import Edit, Moves

_LINE_END = re.compile(r"\r\n|\r|\n")


class Lines:
    """A text's lines by number, as findings count them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def offset(self, line: int, column: int) -> int:
        return self._starts[min(line, len(self._starts)) - 1] + column

    def line(self, offset: int) -> int:
        from bisect import bisect_right

        return bisect_right(self._starts, offset)

    def underlined(self, finding: Finding) -> str:
        """What a finding is about, however it is laid out."""
        start, end = self.offset(finding.line, finding.column), self.offset(finding.end_line, finding.end_column)
        return " ".join(self._text[start:end].split())


Place = tuple[str, int, int, str]


def place(finding: Finding) -> Place:
    return finding.path, finding.line, finding.column, finding.code


class Difference(NamedTuple):
    remaining: frozenset[Place]
    """Where findings of before are still there."""
    new: list[Finding]


def difference(
    before: Iterable[Finding],
    after: Iterable[Finding],
    edits: Mapping[str, list[Edit]],
    text_before: Callable[[str], Lines],
    text_after: Callable[[str], Lines],
) -> Difference:
    moves = {path: Moves(those) for path, those in edits.items()}
    places = {(one.path, one.code, _offset(one, moves, text_before)): one for one in before}
    replaced: dict[tuple[str, str], list[Finding]] = {}
    for (path, _, offset), one in places.items():
        if path in moves and moves[path].is_replaced(offset):
            replaced.setdefault((one.code, text_before(path).underlined(one)), []).append(one)
    remaining: set[Place] = set()
    unknown: list[tuple[Finding, int]] = []
    new: list[Finding] = []
    for one in after:
        offset, was_there = _offset(one, moves, text_after), True
        if one.path in moves:
            offset, was_there = moves[one.path].origin(offset)
        known = places.get((one.path, one.code, offset)) if was_there else None
        if known is not None:
            remaining.add(place(known))
        elif was_there:
            new.append(one)
        else:
            unknown.append((one, offset))
    for one, offset in unknown:
        same = replaced.get((one.code, text_after(one.path).underlined(one)), [])
        moved = next((other for other in same if place(other) not in remaining), None)
        known = moved or places.get((one.path, one.code, offset))
        if known is not None:
            remaining.add(place(known))
        else:
            new.append(one)
    return Difference(frozenset(remaining), new)


def _offset(finding: Finding, moves: Mapping[str, Moves], lines: Callable[[str], Lines]) -> int:
    """The place of a finding in its file; in a file without edits any number that tells places apart will do."""
    if finding.path in moves:
        return lines(finding.path).offset(finding.line, finding.column)
    return finding.line * 1_000_000 + finding.column
