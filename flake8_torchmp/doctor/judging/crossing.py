"""What pickling has shown, and what a fork would copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flake8_torchmp.doctor.problems import COSTS, REFUSED, Place, Problem, size_of

from .common import first_line, stopped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.doctor.bed import Outcome

HEAVY = 1 << 28
"""Bytes that are sent to every worker."""

_ADVICE = {
    "function": "give it a name at module level",
    "lock": "make it in the worker, when it is first used",
    "file": "open it in the worker, when a sample first needs it",
    "socket": "connect in the worker, when a sample first needs it",
    "other": "make it in the worker, or leave it out in __getstate__",
}
_CODES = {
    "function": ("TMP301", "TMP302"),
    "lock": ("TMP305", "TMP306"),
    "file": ("TMP303", "TMP305"),
    "socket": ("TMP303", "TMP305"),
    "other": ("TMP305", "TMP303"),
}


def judge(outcome: Outcome, methods: Sequence[str]) -> list[Problem]:
    """Problems, if one of the start methods pickles."""
    pickling = [method for method in methods if method != "fork"]
    if not pickling:
        return []
    found = []
    stop = stopped(outcome, "it is pickled")
    if stop is not None:
        found.append(stop._replace(weight=min(stop.weight, REFUSED)))
    if (failed := outcome.event("failed")) is not None:
        found.append(Problem("pickle", REFUSED, f"pickling fails: {first_line(dict(failed))}"))
    for event in outcome.events:
        if event["event"] == "crosses":
            found += _crossed(dict(event), pickling)
    return found


def culprits(outcome: Outcome) -> list[dict[str, Any]]:
    """All that does not cross, whoever asks."""
    found: list[dict[str, Any]] = []
    for event in outcome.events:
        if event["event"] == "crosses" and isinstance(event["culprits"], list):
            found += event["culprits"]
    return found


def _crossed(event: dict[str, Any], pickling: Sequence[str]) -> list[Problem]:
    found = []
    for one in event["culprits"]:
        kind = one["kind"]
        place = (Place(one["path"], one["line"], one["source"]),) if one.get("path") else ()
        found.append(
            Problem(
                "not-picklable",
                REFUSED,
                f"{one['way']} is a {one['what']} and cannot be pickled ({', '.join(pickling)})",
                (one["error"],),
                place,
                _ADVICE[kind],
                _CODES[kind],
                one["error"],
            )
        )
    if event["size"] is not None and event["size"] > HEAVY:
        found.append(
            Problem(
                "heavy",
                COSTS,
                f"{event['name']} is {size_of(event['size'])} that every worker is sent ({', '.join(pickling)})",
                advice="keep it in a file that the workers map or read, and send its path",
            )
        )
    return found
