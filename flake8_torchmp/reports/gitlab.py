"""GitLab's code quality report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from flake8_torchmp.reports import Context, fingerprints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.findings import Finding


def write(findings: Sequence[Finding], stream: TextIO, context: Context) -> None:
    issues = [
        {
            "description": f"{finding.code} {finding.message}",
            "check_name": finding.code,
            "fingerprint": fingerprint,
            "severity": "minor" if finding.code.startswith("TMP9") else "major",
            "location": {
                "path": finding.path.replace("\\", "/").removeprefix("./"),
                "lines": {"begin": finding.line, "end": finding.end_line},
            },
        }
        for finding, fingerprint in zip(findings, fingerprints(findings, context), strict=True)
    ]
    json.dump(issues, stream, indent=2)
    stream.write("\n")
