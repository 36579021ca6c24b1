"""What a check says: findings, and the way that a value took to the place that matters."""

from __future__ import annotations

from typing import NamedTuple

CRASH = "TMP000"
"""The code of what is said where a rule, or the check itself, fails."""


class Step(NamedTuple):
    """One hop of a way, e.g. `DataLoader(collate_fn=)` in train.py:80."""

    path: str
    line: int
    text: str


class Repair(NamedTuple):
    """What would mend a finding: a codemod (a module of `fixes`), the node that it works on, what it has to know."""

    codemod: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    notes: tuple[tuple[str, str], ...] = ()


class Finding(NamedTuple):
    """A defect and its place. Columns count characters from 0, the end is exclusive; lines count from 1."""

    path: str
    line: int
    column: int
    code: str
    message: str
    end_line: int
    end_column: int
    rule: str = ""
    """The rule's name, e.g. lambda-to-worker."""
    way: tuple[Step, ...] = ()
    cause: str = ""
    """What several findings of a file can have in common: only the first of them is reported."""
    repair: Repair | None = None
    """Not set where nothing can mend it without its author."""


class Answer(NamedTuple):
    """What a check said of one file."""

    path: str
    findings: list[Finding]
    problem: str | None
    """Why the file could not be checked, if it could not; None where nobody asked."""
