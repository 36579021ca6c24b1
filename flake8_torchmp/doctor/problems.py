"""What is wrong with a patient: a problem, where it shows, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flake8_torchmp.findings import Finding

    from .stacks import Stack


# How bad: the worst comes first.
FATAL, STOPS, WRONG, REFUSED, COSTS = 5, 4, 3, 2, 1


class Place(NamedTuple):
    path: str
    line: int
    source: str = ""
    label: str = ""


class Problem(NamedTuple):
    kind: str
    """A name for machines, such as `sample-fails`."""
    weight: int
    title: str
    """What is wrong, in one line."""
    details: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    advice: str = ""
    codes: tuple[str, ...] = ()
    """The rules that find its cause in the code, the likeliest first."""
    said: str = ""
    """What the program printed about it."""
    stacks: tuple[Stack, ...] = ()
    finding: Finding | None = None
    """What the check says about the code behind it."""


def places_of(frames: object, label: str = "") -> tuple[Place, ...]:
    """From the frames that a step reports."""
    if not isinstance(frames, list):
        return ()
    return tuple(Place(one["path"], one["line"], one.get("source", ""), label) for one in frames)


def counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def size_of(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if abs(number) < 1000:
            return f"{number:.0f} {unit}" if unit == "B" or abs(number) >= 10 else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GB"


def time_of(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs" if seconds else "0 ms"
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s"
