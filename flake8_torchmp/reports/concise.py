"""One line a finding, as flake8 writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.findings import Finding
    from flake8_torchmp.reports import Context


def line_of(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}:{finding.column + 1}: {finding.code} {finding.message}"


def write(findings: Sequence[Finding], stream: TextIO, _context: Context) -> None:
    stream.writelines(line_of(finding) + "\n" for finding in findings)
