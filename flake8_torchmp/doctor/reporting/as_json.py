"""For machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from flake8_torchmp.doctor.judging.crossing import culprits

from .text import named

if TYPE_CHECKING:
    from flake8_torchmp.doctor.examination import Examination, Rung
    from flake8_torchmp.doctor.problems import Problem


def described(examination: Examination) -> dict[str, Any]:
    best, why = examination.chosen()
    samples: Any = examination.samples.event("samples") if examination.samples else None
    return {
        "target": examination.wishes.target,
        "healthy": examination.exit_code == 0,
        "exit_code": examination.exit_code,
        "cannot": examination.cannot,
        "loader": {name: value for name, value in examination.admitted.items() if name != "event"},
        "samples": {"read": samples["read"], "times": samples["times"]} if samples else None,
        "crossing": _crossing(examination),
        "ladder": [_rung(rung) for rung in examination.rungs],
        "choice": {"workers": best.workers, "method": best.method, "why": why} if best else None,
        "problems": [_problem(problem) for problem in examination.ranked],
    }


def write(examination: Examination, stream: TextIO) -> None:
    json.dump(described(examination), stream, indent=2, default=str)
    stream.write("\n")


def _crossing(examination: Examination) -> dict[str, Any] | None:
    if examination.crossing is None:
        return None
    sizes: dict[str, Any] = {
        str(one["name"]): one["size"] for one in examination.crossing.events if one["event"] == "crosses"
    }
    return {"sizes": sizes, "culprits": culprits(examination.crossing)}


def _rung(rung: Rung) -> dict[str, Any]:
    seconds = rung.outcome.seconds if rung.outcome else None
    return {
        "workers": rung.workers,
        "method": rung.method or None,
        "verdict": rung.verdict,
        "seconds": seconds,
        "price": rung.price,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    finding = problem.finding
    return {
        "kind": problem.kind,
        "weight": problem.weight,
        "title": problem.title,
        "details": problem.details,
        "places": [place._asdict() for place in problem.places],
        "advice": problem.advice,
        "stacks": [
            {
                "pid": stack.pid,
                "role": stack.role,
                "threads": [[frame._asdict() for frame in one] for one in stack.threads],
            }
            for stack in problem.stacks
        ],
        "finding": {
            "path": named(finding.path),
            "line": finding.line,
            "column": finding.column + 1,
            "code": finding.code,
            "message": finding.message,
        }
        if finding
        else None,
    }
