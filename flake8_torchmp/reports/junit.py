"""JUnit's XML: a suite a file, a failed case a finding."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, TextIO
from xml.etree.ElementTree import Element, SubElement, indent, tostring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.findings import Finding
    from flake8_torchmp.reports import Context

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(findings: Sequence[Finding], stream: TextIO, context: Context) -> None:
    root = Element("testsuites", name="torchmp")
    for path, group in groupby(findings, lambda finding: finding.path):
        found = list(group)
        suite = _suite(root, path, failures=len(found))
        for finding in found:
            place = f"line {finding.line}, column {finding.column + 1}"
            case = _case(suite, path, f"{finding.code} {place}", line=str(finding.line))
            failure = SubElement(case, "failure", type=finding.code, message=_clean(finding.message))
            failure.text = _clean(f"{place}: {finding.message}")
    for path, problem in context.problems:
        case = _case(_suite(root, path, errors=1), path, "could not be checked")
        SubElement(case, "error", message=_clean(problem))
    if not len(root):
        _case(_suite(root, "torchmp"), "torchmp", "no findings")
    total = {"tests": 0, "failures": 0, "errors": 0}
    for suite in root:
        for name in total:
            total[name] += int(suite.get(name, "0"))
    root.attrib.update({name: str(number) for name, number in total.items()})
    indent(root)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="us-ascii").decode() + "\n")


def _suite(root: Element, path: str, failures: int = 0, errors: int = 0) -> Element:
    numbers = {"tests": max(1, failures + errors), "failures": failures, "errors": errors, "skipped": 0}
    counts = {name: str(number) for name, number in numbers.items()}
    return SubElement(root, "testsuite", {"name": _clean(path), **counts})


def _case(suite: Element, path: str, name: str, **attributes: str) -> Element:
    return SubElement(suite, "testcase", {"name": name, "classname": _clean(path), "file": _clean(path), **attributes})


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("?", text)
