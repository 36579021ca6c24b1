"""Everything that is known, for programs. Lines and columns count from 1, the end column is exclusive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.findings import Finding
    from flake8_torchmp.reports import Context


def write(findings: Sequence[Finding], stream: TextIO, context: Context) -> None:
    document = {
        "tool": "torchmp",
        "version": context.version,
        "findings": [_finding(finding) for finding in findings],
        "problems": [{"path": path, "problem": problem} for path, problem in context.problems],
    }
    json.dump(document, stream, indent=2)
    stream.write("\n")


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "path": finding.path,
        "line": finding.line,
        "column": finding.column + 1,
        "end_line": finding.end_line,
        "end_column": finding.end_column + 1,
        "code": finding.code,
        "rule": finding.rule,
        "message": finding.message,
        "way": [{"path": step.path, "line": step.line, "text": step.text} for step in finding.way],
    }
