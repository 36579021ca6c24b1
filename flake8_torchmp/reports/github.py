"""Workflow commands, which GitHub shows as annotations, and a table in the summary of the step.

GitHub shows ten annotations of a kind a step and drops the rest: hence the table, which has them all.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.findings import Finding
    from flake8_torchmp.reports import Context

_SUMMARY_LIMIT = 1_000_000


def write(findings: Sequence[Finding], stream: TextIO, context: Context) -> None:
    stream.writelines(_annotation(finding) + "\n" for finding in findings)
    stream.writelines(
        f"::error title=torchmp,file={_property(path)}::{_data(problem)}\n" for path, problem in context.problems
    )
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and findings:
        _append(summary, findings)


def _annotation(finding: Finding) -> str:
    place = f"file={_property(finding.path)},line={finding.line}"
    if finding.end_line == finding.line:  # GitHub takes columns on one line only
        place += f",col={finding.column + 1},endLine={finding.line},endColumn={finding.end_column + 1}"
    else:
        place += f",endLine={finding.end_line}"
    title = _property(f"torchmp ({finding.code})")
    return f"::error title={title},{place}::{_data(f'{finding.code} {finding.message}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _append(path: str, findings: Sequence[Finding]) -> None:
    rows = ["### torchmp", "", "| place | code | finding |", "| --- | --- | --- |"]
    size = 0
    for number, finding in enumerate(findings):
        cells = (f"{finding.path}:{finding.line}", finding.code, finding.message)
        row = "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"
        size += len(row.encode("utf-8", "replace"))
        if size > _SUMMARY_LIMIT:
            rows.append(f"\n{len(findings) - number} more findings are not shown.")
            break
        rows.append(row)
    try:
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(rows) + "\n\n")
    except OSError:
        pass  # the findings are in the log all the same
