"""What a rung of the ladder has shown: whether it holds, and whether what the workers read is right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flake8_torchmp.doctor.problems import COSTS, FATAL, STOPS, WRONG, Place, Problem, counted, places_of

from .common import first_line, stopped

if TYPE_CHECKING:
    from flake8_torchmp.doctor.bed import Outcome

_LEAKED = re.compile(r"leaked shared_memory objects")


def judge(outcome: Outcome, workers: int, method: str) -> list[Problem]:
    under = rung_name(workers, method)
    found = []
    stop = stopped(outcome, f"{under} {_doing(outcome)}")
    if stop is not None:
        title = f"{under}: {stop.title.replace(f'{under} ', '')}"
        codes = ("TMP801", "TMP802") if stop.kind == "hangs" and method == "fork" else stop.codes
        found.append(stop if stop.weight == COSTS else stop._replace(title=title, codes=codes))
    failures = [event for event in outcome.events if event["event"] in ("failed", "unmade", "cannot")]
    found += [_fails(dict(event), under, workers, method) for event in failures]
    if (compared := outcome.event("compared")) is not None:
        found += _compared(dict(compared), under, workers, method)
    if _LEAKED.search(outcome.output):
        found.append(
            Problem(
                "shared-memory-stays",
                COSTS,
                f"{under}: leaves blocks of shared memory behind",
                advice="call unlink() in the process that has made the block",
                codes=("TMP408",),
            )
        )
    return found


def rung_name(workers: int, method: str) -> str:
    return f"{counted(workers, 'worker')} under {method}" if workers else "0 workers"


def verdict(outcome: Outcome, problems: list[Problem]) -> str:
    """One word for the table."""
    if outcome.how == "silent" and outcome.event("done"):
        return "works"
    if outcome.how in ("silent", "overtime"):
        return "hangs" if outcome.how == "silent" else "too slow"
    if outcome.how == "died" or outcome.event("failed") or outcome.event("unmade") or outcome.event("cannot"):
        return "fails"
    return "differs" if any(one.weight == WRONG for one in problems) else "works"


def threads(admitted: dict[str, Any], methods: list[str]) -> list[Problem]:
    """Threads that run when the workers are forked."""
    running = admitted["threads"]
    if not running or "fork" not in methods:
        return []
    names = ", ".join(str(one["name"]) for one in running[:3])
    return [
        Problem(
            "threads-at-fork",
            COSTS,
            f"{counted(len(running), 'thread')} ({names}) {'runs' if len(running) == 1 else 'run'} when workers are "
            "forked: a lock that it holds then stays locked in them",
            places=tuple(
                Place(one["path"], one["line"], "", f"thread {one['name']}") for one in running if one["path"]
            ),
            advice="start threads after the workers, or use spawn or forkserver",
            codes=("TMP801", "TMP101"),
        )
    ]


def _doing(outcome: Outcome) -> str:
    last = next((one for one in reversed(outcome.events) if one["event"] in _DOING), None)
    return _DOING[str(last["event"])].format(**last) if last else "it is imported"


_DOING = {
    "imported": "the loader is made",
    "admitted": "the workers are started",
    "epoch": "waiting for the first batch",
    "batch": "waiting for the batch after batch {number}",
    "works": "the workers are ended and started again",
    "price": "the workers are ended",
    "comparing": "the same samples are read by each worker",
}


def _fails(event: dict[str, Any], under: str, workers: int, method: str) -> Problem:
    return Problem(
        "rung-fails",
        STOPS if workers else FATAL,
        f"{under}: {first_line(event)}",
        places=places_of(event.get("frames")),
        said=event.get("text", ""),
        codes=_SHARED if workers and method == "fork" else (),
    )


def _compared(event: dict[str, Any], under: str, workers: int, method: str) -> list[Problem]:
    return [*_values(event, under, method), *_stream(event, under, workers)]


_SHARED = ("TMP303", "TMP304")
"""Forked workers read through one open file: they get each other's data, or what makes no sense."""
_STALE = {
    "fork": ("TMP403", "TMP410", *_SHARED, "TMP402", "TMP401"),
    "spawn": ("TMP401", "TMP203", "TMP402", "TMP403", "TMP410"),
}


def _values(event: dict[str, Any], under: str, method: str) -> list[Problem]:
    found = []
    if event.get("different"):
        details = tuple(
            f"sample {one['key']}{one['path'] and ' at sample' + one['path']}: {one['parent']} in the parent, "
            f"{one['worker']} in a worker"
            for one in event["different"]
        )
        found.append(
            Problem(
                "different-values",
                WRONG,
                f"{under}: workers read other values than the parent; {details[0]}",
                details[1:],
                advice="what the parent changes after the import, or before the workers start, has to reach them: "
                "give it to the dataset as an argument",
                codes=_STALE.get(method, _STALE["spawn"]),
            )
        )
    if event.get("equal"):
        one = event["equal"][0]
        at = f" at sample{one['path']}" if one["path"] else ""
        found.append(
            Problem(
                "same-random-numbers",
                WRONG,
                f"{under}: workers {one['workers'][0]} and {one['workers'][1]} draw the same random numbers{at}",
                (f"both read {', then '.join(one['values'])}",),
                advice="seed the generator in each worker: in worker_init_fn, from torch.initial_seed()",
                codes=("TMP404", "TMP405"),
            )
        )
    return found


def _stream(event: dict[str, Any], under: str, workers: int) -> list[Problem]:
    if "expected" not in event:
        return []
    read, expected = event["read"], event["expected"]
    everything = event["whole"] and workers > 1 and expected > 0 and read == workers * expected
    if event["random"] and event["alike"]:
        one, other = event["alike"][0]
        return [
            Problem(
                "same-random-numbers",
                WRONG,
                f"{under}: workers {one} and {other} draw the same random numbers",
                advice="seed the generator in each worker, from get_worker_info().seed",
                codes=("TMP404", "TMP405"),
            )
        ]
    if everything or event["alike"]:
        many = f"{read} samples instead of {expected}" if everything else f"as workers {event['alike'][0]} show"
        return [
            Problem(
                "repeated",
                WRONG,
                f"{under}: every worker gives all samples: {many}",
                tuple(f"repeated: {one}" for one in event.get("first_repeated", ())),
                advice="give each worker its part, by get_worker_info(): itertools.islice(samples, info.id, None, "
                "info.num_workers)",
                codes=("TMP406", "TMP404"),
            )
        ]
    return _counts(event, under)


def _counts(event: dict[str, Any], under: str) -> list[Problem]:
    found = []
    for kind, number, text in (
        ("repeated", event.get("repeated", 0), "come more than once"),
        ("missing", 0 if event.get("new") else event.get("missing", 0), "are missing"),
        ("different-values", event.get("new_count", 0), "have values that the parent does not read"),
    ):
        examples = {"repeated": "first_repeated", "missing": "first_missing", "different-values": "new"}[kind]
        if number:
            found.append(
                Problem(
                    kind,
                    WRONG,
                    f"{under}: {number} of {event['expected']} samples {text}",
                    tuple(f"for example {one}" for one in event.get(examples, ())),
                    advice="the parts of the workers must not overlap, and together be everything",
                    codes=("TMP406",) if kind != "different-values" else _STALE["fork"],
                )
            )
    return found
