"""The finding, its source with the span underlined, and the way that the value takes to the worker.

train.py:5:37: TMP301 lambda reaches DataLoader workers as collate_fn and cannot be pickled ...
  |
5 | loader = DataLoader(ds, collate_fn=lambda b: b)
  |                                    ^^^^^^^^^^^
  = lambda                   train.py:5
  → DataLoader(collate_fn=)  train.py:5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO
from unicodedata import combining, east_asian_width

from flake8_torchmp.reports.concise import line_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.findings import Finding
    from flake8_torchmp.reports import Context

_TAB = 4


def write(findings: Sequence[Finding], stream: TextIO, context: Context) -> None:
    for number, finding in enumerate(findings):
        block = [line_of(finding), *_source(finding, context), *_way(finding, context)]
        stream.write(("\n" if number else "") + "\n".join(block) + "\n")


def _source(finding: Finding, context: Context) -> list[str]:
    text = context.line(finding.path, finding.line)
    if not text.strip():
        return []
    spans_lines = finding.end_line > finding.line
    end = len(text.rstrip()) if spans_lines else finding.end_column
    start = min(finding.column, len(text))
    gutter = " " * len(str(finding.line))
    carets = "^" * max(1, _width(text[:end]) - _width(text[:start]))
    block = [
        f"{gutter} |",
        f"{finding.line} | {_untabbed(text.rstrip())}",
        f"{gutter} | {' ' * _width(text[:start])}{carets}",
    ]
    if spans_lines:
        count = finding.end_line - finding.line
        block.append(f"{gutter} | ... and {count} more {'line' if count == 1 else 'lines'}")
    return block


def _way(finding: Finding, context: Context) -> list[str]:
    if not finding.way:
        return []
    gutter = " " * len(str(finding.line))
    width = max(_width(step.text) for step in finding.way)
    arrow = "→" if context.unicode else ">"
    return [
        f"{gutter} {arrow if number else '='} {step.text}{' ' * (width - _width(step.text))}  {step.path}:{step.line}"
        for number, step in enumerate(finding.way)
    ]


def _untabbed(text: str) -> str:
    return "".join(_shown(text))


def _width(text: str) -> int:
    """The columns that a text takes on a terminal."""
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in _shown(text)
    )


def _shown(text: str) -> list[str]:
    """The characters as they are shown: tabs as spaces, since terminals and editors disagree about them."""
    shown: list[str] = []
    for character in text:
        if character == "\t":
            shown.extend(" " * (_TAB - len(shown) % _TAB))
        else:
            shown.append(character if character.isprintable() else " ")
    return shown
