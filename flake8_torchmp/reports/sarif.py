"""SARIF 2.1.0, which GitHub's code scanning and many editors read."""

from __future__ import annotations

import json
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from flake8_torchmp.reports import Context, RulePage, fingerprints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.findings import Finding, Step

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"

Object = dict[str, object]


def write(findings: Sequence[Finding], stream: TextIO, context: Context) -> None:
    rules = sorted(context.rules(), key=lambda rule: rule.code)
    index = {rule.code: number for number, rule in enumerate(rules)}
    results = [
        _result(finding, fingerprint, index)
        for finding, fingerprint in zip(findings, fingerprints(findings, context), strict=True)
    ]
    run = {
        "tool": {
            "driver": {"name": "torchmp", "version": context.version, "rules": [_rule(rule) for rule in rules]},
        },
        "invocations": [
            {
                "executionSuccessful": not context.problems,
                "toolExecutionNotifications": [_notification(path, problem) for path, problem in context.problems],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which torchmp was run."}}},
        "results": results,
    }
    json.dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, stream, indent=2)
    stream.write("\n")


def _rule(rule: RulePage) -> Object:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary or rule.name},
        "help": {"text": rule.page or rule.summary or rule.name, "markdown": rule.page or rule.summary or rule.name},
        "defaultConfiguration": {"enabled": rule.default, "level": _level(rule.code)},
        "properties": {"tags": ["multiprocessing", "pytorch"]},
    }


def _level(code: str) -> str:
    return "note" if code.startswith("TMP9") else "error"


def _result(finding: Finding, fingerprint: str, index: dict[str, int]) -> Object:
    region: Object = {
        "startLine": finding.line,
        "startColumn": finding.column + 1,
        "endLine": finding.end_line,
        "endColumn": finding.end_column + 1,
    }
    result: Object = {
        "ruleId": finding.code,
        "level": _level(finding.code),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(finding.path), "region": region}}],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if finding.way:
        steps = [{"location": _location(step)} for step in finding.way]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return result


def _location(step: Step) -> Object:
    return {
        "physicalLocation": {"artifactLocation": _artifact(step.path), "region": {"startLine": max(1, step.line)}},
        "message": {"text": step.text},
    }


def _notification(path: str, problem: str) -> Object:
    return {
        "level": "error",
        "message": {"text": f"{path}: {problem}"},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(path)}}],
    }


def _artifact(path: str) -> Object:
    if os.path.isabs(path):
        return {"uri": PurePath(path).as_uri()}
    return {"uri": quote(os.fsencode(path.replace(os.sep, "/").removeprefix("./"))), "uriBaseId": _ROOT}
