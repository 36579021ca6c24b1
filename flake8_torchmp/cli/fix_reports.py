"""What `torchmp fix` says that it did: for people, for programs, and for a pull request."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchmp.cli.output import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flake8_torchmp.findings import Finding
    from flake8_torchmp.fixes.engine import Fix, Left


class Report(NamedTuple):
    fixes: list[Fix]
    left: list[Left]
    files: dict[str, tuple[bytes, bytes]]
    """What changed: the content before and after."""
    together: list[frozenset[str]]
    """The changed files, in sets that are written together."""
    problems: list[tuple[str, str]]
    """Files that could not be looked at, and why."""
    name: Callable[[str], str] = str
    """A path as people should see it."""

    def patches(self) -> Iterator[bytes]:
        from flake8_torchmp.fixes.patch import patch

        for path, (old, new) in sorted(self.files.items()):
            yield patch(os.path.relpath(path).replace(os.sep, "/"), old, new)


def as_text(report: Report, unsafe: bool, would: bool = False) -> str:
    lines = [f"{_place(report, fix.finding)} {fix.finding.code} fixed: {fix.what}" for fix in report.fixes]
    lines += [f"{_place(report, left.finding)} {left.finding.code} left: {left.reason}" for left in report.left]
    done = "would be fixed" if would else "fixed"
    unsafely = sum(not fix.is_safe for fix in report.fixes)
    total = f"{counted(len(report.fixes), 'finding')} {done} in {counted(len(report.files), 'file')}"
    if unsafe and unsafely:
        total += f" ({unsafely} unsafely)"
    return "\n".join([*lines, f"{total}, {len(report.left)} left", ""])


def _place(report: Report, finding: Finding) -> str:
    return f"{report.name(finding.path)}:{finding.line}:{finding.column + 1}:"


def as_json(report: Report, version: str, with_patch: bool) -> str:
    document: dict[str, object] = {
        "tool": "torchmp",
        "version": version,
        "fixed": [
            {
                **_finding(report, fix.finding),
                "what": fix.what,
                "safe": fix.is_safe,
                "files": [report.name(path) for path in fix.paths],
            }
            for fix in report.fixes
        ],
        "left": [{**_finding(report, left.finding), "reason": left.reason} for left in report.left],
        "files": [report.name(path) for path in sorted(report.files)],
        "problems": [{"path": path, "problem": problem} for path, problem in report.problems],
    }
    if with_patch:
        document["diff"] = b"".join(report.patches()).decode("utf-8", "surrogateescape")
    return json.dumps(document, indent=2) + "\n"


def _finding(report: Report, finding: Finding) -> dict[str, object]:
    return {
        "path": report.name(finding.path),
        "line": finding.line,
        "column": finding.column + 1,
        "code": finding.code,
        "rule": finding.rule,
        "message": finding.message,
    }


def as_markdown(report: Report, version: str) -> str:
    """By rule: what was done and why, and what was not."""
    from flake8_torchmp.rules import rule_for

    done = (
        f"torchmp {version} fixed {counted(len(report.fixes), 'finding')} in {counted(len(report.files), 'file')} "
        f"and left {len(report.left)}. After each fix the project was checked again: "
        "the finding is gone, and no other came."
    )
    lines = ["# Fixes by torchmp", "", done, ""]
    found = [*(fix.finding for fix in report.fixes), *(one.finding for one in report.left)]
    codes = sorted({finding.code for finding in found})
    if codes:
        lines += ["| rule | fixed | left | why it matters |", "| --- | ---: | ---: | --- |"]
    for code in codes:
        rule = rule_for(code)
        fixed = sum(fix.finding.code == code for fix in report.fixes)
        left = sum(one.finding.code == code for one in report.left)
        name, summary = (rule.name, rule.summary) if rule else ("", "")
        lines.append(f"| {code} {name} | {fixed} | {left} | {_cell(summary)} |")
    if report.fixes:
        lines += ["", "## Fixed", "", "| where | rule | what | safe |", "| --- | --- | --- | --- |"]
    for fix in report.fixes:
        safe = "yes" if fix.is_safe else "no: please look at it"
        lines.append(f"| {_where(report, fix.finding)} | {fix.finding.code} | {_cell(fix.what)} | {safe} |")
    if report.left:
        lines += ["", "## Left", "", "| where | rule | finding | why it is left |", "| --- | --- | --- | --- |"]
    for one in report.left:
        finding = one.finding
        lines.append(f"| {_where(report, finding)} | {finding.code} | {_cell(finding.message)} | {_cell(one.reason)} |")
    if report.problems:
        lines += ["", "## Not looked at", ""]
        lines += [f"- {_cell(path)}: {_cell(problem)}" for path, problem in report.problems]
    return "\n".join([*lines, ""])


def _where(report: Report, finding: Finding) -> str:
    return f"{_cell(report.name(finding.path).replace(os.sep, '/'))}:{finding.line}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
