"""What any step can die of, and what is common to all."""

from __future__ import annotations

import signal
from typing import Any

from flake8_torchmp.doctor import stacks
from flake8_torchmp.doctor.bed import Outcome
from flake8_torchmp.doctor.problems import COSTS, FATAL, STOPS, Place, Problem, places_of


def unmade(event: dict[str, Any]) -> Problem:
    """The function that was to return a loader raises."""
    return Problem(
        "not-made",
        FATAL,
        f"calling it raises {first_line(event)}",
        places=places_of(event["frames"]),
        advice="nothing else can be examined until this is mended",
        said=event["text"],
    )


def stopped(outcome: Outcome, doing: str) -> Problem | None:
    """A step that has not come to its end."""
    if outcome.how == "silent" and outcome.event("done"):
        return Problem(
            "does-not-end",
            COSTS,
            "all is done, and the process does not end: a thread or process of the loader's keeps it",
            places=where(outcome),
            advice="make the thread a daemon, or end it when the dataset is closed",
            stacks=tuple(outcome.stacks),
        )
    if outcome.how == "silent":
        return Problem(
            "hangs",
            STOPS,
            f"hangs while {doing}: nothing happened for {outcome.seconds:.0f} s",
            places=where(outcome),
            advice="look at the stacks: who waits for whom",
            said=f"{outcome.output}\n{traceback_of(outcome)}",
            stacks=tuple(outcome.stacks),
        )
    if outcome.how == "overtime":
        return Problem(
            "slow",
            STOPS,
            f"does not come to an end while {doing}, and was stopped after {outcome.seconds:.0f} s",
            places=where(outcome),
            advice="give more time by --time-limit, or ask for fewer samples by --samples",
            stacks=tuple(outcome.stacks),
        )
    if outcome.how == "died":
        return Problem(
            "dies",
            STOPS,
            f"the process {ended_by(outcome.status)} while {doing}",
            details=tuple(outcome.output.strip().splitlines()[-5:]),
            places=_printed_places(outcome.output),
            advice="a dataset must not end its process: raise an exception instead",
            codes=("TMP603",),
            said=outcome.output,
        )
    return None


def ended_by(status: int) -> str:
    if status < 0:
        try:
            return f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"was killed by signal {-status}"
    return f"exited with code {status}"


def first_line(event: dict[str, Any]) -> str:
    """The exception in one line, without the traceback of a worker."""
    lines = str(event["error"]).strip().splitlines() or [""]
    line = lines[-1] if any("Traceback (most recent call last)" in one for one in lines) else lines[0]
    return line if len(line) <= 240 else line[:237] + "..."


def where(outcome: Outcome) -> tuple[Place, ...]:
    """The user's lines at which the processes stand: the innermost of each thread."""
    found = []
    for stack in outcome.stacks:
        for thread in stack.threads:
            own = next((frame for frame in thread if not stacks.is_foreign(frame.path)), None)
            if own is not None:
                found.append(Place(own.path, own.line, "", f"{stack.role} {stack.pid}"))
    return tuple(dict.fromkeys(found))


def traceback_of(outcome: Outcome) -> str:
    """Stacks in the form of tracebacks, for who reads those, under the message of a loader that has waited."""
    lines = [
        f'  File "{frame.path}", line {frame.line}, in {frame.function}'
        for stack in outcome.stacks
        for thread in stack.threads
        for frame in thread
    ]
    return "\n".join([*lines, "RuntimeError: DataLoader timed out after 60 seconds"])


def _printed_places(output: str) -> tuple[Place, ...]:
    """The user's innermost line in what faulthandler prints of a crash."""
    for thread in stacks.read(output):
        for frame in thread:
            if not stacks.is_foreign(frame.path):
                return (Place(frame.path, frame.line),)
    return ()
