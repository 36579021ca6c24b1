"""The whole examination: the samples, what crosses, the ladder, the price, and what is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .bed import Bed, Event, Outcome
from .judging import common, crossing, ladder, samples
from .problems import STOPS, Problem

_RUNG = re.compile(r"^\d+ workers?(?: under \w+)?: |\d+|0x\w+")
"""What the same problem says differently on different rungs."""
_PICKLING = re.compile(r"[Pp]ickl|Can't get|no default __reduce__|through inheritance|serializ")

FASTER = 1.1
"""So much faster has more workers to be, to be worth them."""


class Wishes(NamedTuple):
    """What the user asks for."""

    target: str
    workers: tuple[int, ...] = ()
    """Empty: 0, 1, 2, 4... up to the processors."""
    methods: tuple[str, ...] = ()
    """Empty: all that the platform has."""
    samples: int = 64
    seconds: float = 3.0
    """How long a rung reads to measure its speed."""


class Rung(NamedTuple):
    workers: int
    method: str
    verdict: str
    outcome: Outcome | None
    problems: tuple[Problem, ...]

    @property
    def price(self) -> dict[str, Any]:
        """Of the epoch that was faster."""
        event = self.outcome.event("price") or self.outcome.event("works") if self.outcome else None
        epochs: Any = event.get("epochs", [event]) if event else []
        return max(epochs, key=lambda one: one["rate"] or 0, default={})


class Examination:
    def __init__(self, wishes: Wishes) -> None:
        self.wishes = wishes
        self.admitted: dict[str, Any] = {}
        self.cannot: dict[str, Any] | None = None
        """Why there is nothing to examine."""
        self.samples: Outcome | None = None
        self.crossing: Outcome | None = None
        self.rungs: list[Rung] = []
        self.methods: list[str] = []
        self.problems: list[Problem] = []

    @property
    def ranked(self) -> list[Problem]:
        """The worst first; what several rungs show, once, and not what is known from pickling already."""
        unique: dict[tuple[str, str], Problem] = {}
        is_refused = any(problem.kind == "not-picklable" for problem in self.problems)
        for problem in self.problems:
            if is_refused and problem.kind == "rung-fails" and _PICKLING.search(problem.title):
                continue
            unique.setdefault((problem.kind, _RUNG.sub("", problem.title)), problem)
        return sorted(unique.values(), key=lambda problem: -problem.weight)

    @property
    def is_stopped(self) -> bool:
        """Whether it goes wrong in the parent already, so that there is no sense in workers."""
        return any(problem.weight >= STOPS for problem in self.problems)

    @property
    def exit_code(self) -> int:
        return 2 if self.cannot else int(bool(self.problems))

    def chosen(self) -> tuple[Rung | None, str]:
        """The rung that it would take, and why."""
        measured = [rung for rung in self.rungs if rung.verdict == "works" and rung.price.get("rate")]
        if not measured:
            return None, ""
        best = measured[0]
        for rung in sorted(measured, key=lambda rung: (rung.workers, rung.method != self.admitted.get("default"))):
            if rung.price["rate"] > FASTER * best.price["rate"]:
                best = rung
        rate = best.price["rate"]
        alone = next((rung.price["rate"] for rung in measured if rung.workers == 0), None)
        gain = f", {rate / alone:.1f} times as many as without workers" if alone and best.workers else ""
        more = [rung for rung in measured if rung.workers > best.workers]
        rest = "; more workers give no more" if more else ""
        return best, f"{rate:.0f} samples/s{gain}{rest}"


Watch = Callable[[str, Event | None], None]
"""Is told what is being done, and what a step says meanwhile."""


Arrived = Callable[[Examination, "Rung | None"], None]
"""Is told when a step has ended: the samples, what crosses, each rung."""


def examine(wishes: Wishes, bed: Bed, watch: Watch, arrived: Arrived) -> Examination:
    examination = Examination(wishes)
    step = {"target": wishes.target, "samples": wishes.samples, "seconds": wishes.seconds}
    if _sample(examination, bed, step, watch):
        arrived(examination, None)
        _cross(examination, bed, step, watch)
        arrived(examination, None)
        if not examination.is_stopped:
            _climb(examination, bed, step, watch, arrived)
    return examination


def _run(bed: Bed, step: dict[str, Any], doing: str, watch: Watch) -> Outcome:
    watch(doing, None)
    return bed.run(step, lambda event: watch(doing, event))


def _sample(examination: Examination, bed: Bed, step: dict[str, Any], watch: Watch) -> bool:
    """Whether there is a loader that can be examined further."""
    outcome = _run(bed, {**step, "step": "samples"}, "reading samples", watch)
    examination.samples = outcome
    if (cannot := outcome.event("cannot")) is not None:
        examination.cannot = dict(cannot)
        return False
    examination.methods = list(examination.wishes.methods) or _methods(outcome)
    if (unmade := outcome.event("unmade")) is not None:
        examination.problems.append(common.unmade(dict(unmade)))
        return False
    examination.problems += samples.judge(outcome)
    admitted = outcome.event("admitted")
    if admitted is None:
        return False
    examination.admitted = dict(admitted)
    examination.problems += ladder.threads(examination.admitted, examination.methods)
    return True


def _methods(outcome: Outcome) -> list[str]:
    began: Any = outcome.event("began")
    return list(began["methods"]) if began else []


def _cross(examination: Examination, bed: Bed, step: dict[str, Any], watch: Watch) -> None:
    outcome = _run(bed, {**step, "step": "crossing"}, "pickling what crosses", watch)
    examination.crossing = outcome
    examination.problems += crossing.judge(outcome, examination.methods)


def _climb(examination: Examination, bed: Bed, step: dict[str, Any], watch: Watch, arrived: Arrived) -> None:
    counts = examination.wishes.workers or _counts(os.cpu_count() or 1)
    compared_at = next((count for count in counts if count > 1), max(counts))

    def climb(workers: int, method: str) -> str:
        name = ladder.rung_name(workers, method)
        wanted = {**step, "step": "rung", "workers": workers, "method": method, "compare": workers == compared_at}
        outcome = _run(bed, wanted, name, watch)
        problems = ladder.judge(outcome, workers, method)
        verdict = ladder.verdict(outcome, problems)
        if verdict == "works" and any((rung.method, rung.verdict) == (method, "differs") for rung in examination.rungs):
            verdict = "differs"  # as with fewer workers
        rung = Rung(workers, method, verdict, outcome, tuple(problems))
        examination.rungs.append(rung)
        examination.problems += problems
        arrived(examination, rung)
        return rung.verdict

    if 0 in counts and climb(0, "") in ("fails", "hangs"):
        return
    for method in examination.methods:
        for workers in counts:
            if workers and climb(workers, method) in ("fails", "hangs"):
                break


def _counts(processors: int) -> tuple[int, ...]:
    counts = [0, 1]
    while counts[-1] * 2 <= processors:
        counts.append(counts[-1] * 2)
    return tuple(counts)
