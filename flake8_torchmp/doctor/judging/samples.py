"""What reading samples in the parent has shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flake8_torchmp.doctor.problems import COSTS, FATAL, STOPS, Place, Problem, counted, places_of, size_of, time_of

from .common import first_line, stopped

if TYPE_CHECKING:
    from flake8_torchmp.doctor.bed import Outcome

WORDY, MANY = 1 << 10, 1 << 16
"""Bytes printed for each sample, and in all."""


def judge(outcome: Outcome) -> list[Problem]:
    found = []
    stop = stopped(outcome, _doing(outcome))
    if stop is not None:
        found.append(stop._replace(weight=FATAL) if stop.weight == STOPS else stop)
    if (failed := outcome.event("failed")) is not None:
        found.append(_fails(dict(failed)))
    if (samples := outcome.event("samples")) is not None:
        found += _reading(dict(samples), outcome)
    if (collate := outcome.event("collate")) is not None and collate["keys"]:
        found.append(_collate(dict(collate), dict(samples or {})))
    if (growth := outcome.event("growth")) is not None:
        found += _growth(dict(growth))
    return found


def _doing(outcome: Outcome) -> str:
    last = next((one for one in reversed(outcome.events) if one["event"] in _DOING), None)
    if last is None:
        return "it is imported"
    return _DOING[str(last["event"])].format(**{"key": "", **last})


_DOING = {
    "imported": "the loader is made",
    "admitted": "samples are read",
    "reading": "sample {key} is read in the parent",
    "collating": "samples are put together",
    "samples": "samples are read again",
}


def _fails(event: dict[str, Any]) -> Problem:
    return Problem(
        "fails", FATAL, f"0 workers: {first_line(event)}", places=places_of(event["frames"]), said=event["text"]
    )


def _reading(event: dict[str, Any], outcome: Outcome) -> list[Problem]:
    found = []
    for failure in event["failures"]:
        ends = failure["kind"] in ("SystemExit", "KeyboardInterrupt")
        found.append(
            Problem(
                "sample-exits" if ends else "sample-fails",
                STOPS,
                f"sample {failure['key']} raises {first_line(failure)}",
                places=places_of(failure["frames"]),
                advice="raise an exception instead of ending the process" if ends else "",
                codes=("TMP603",) if ends else (),
                said=failure["text"],
            )
        )
    if event["slow"]:
        times = sorted(seconds for _, seconds in event["times"])
        slow = ", ".join(f"{key} ({time_of(seconds)})" for key, seconds in event["slow"])
        found.append(
            Problem(
                "slow-sample",
                COSTS,
                f"slow samples: {slow}; the others take {time_of(times[len(times) // 2])}",
                advice="a batch waits for its slowest sample: prepare these beforehand",
            )
        )
    if event["read"] and outcome.printed > max(MANY, WORDY * event["read"]):
        found.append(
            Problem(
                "prints",
                COSTS,
                f"prints {size_of(outcome.printed / event['read'])} for each sample that is read",
                details=tuple(line[:100] for line in outcome.output.splitlines()[:2]),
                advice="with workers the lines of all come mixed, and printing takes time: use logging, or nothing",
            )
        )
    return found


def _collate(event: dict[str, Any], samples: dict[str, Any]) -> Problem:
    one, other = (*event["keys"][:2], "", "")[:2]
    details = tuple(
        f"sample{each['path']}: {each['one']} in {one}, {each['other']} in {other}" for each in event["differs"]
    )
    nones = [none for none in samples.get("nones", ()) if none["key"] in event["keys"]]
    if nones:
        titles = ", ".join(f"sample {none['key']} has None at sample{none['path']}" for none in nones[:3])
        return Problem(
            "none",
            STOPS,
            f"None inside samples: {titles}",
            details,
            places_of(event["frames"]),
            "give every sample a value there, or give the loader a collate_fn that knows None",
            ("TMP601",),
            event["text"],
        )
    return Problem(
        "collate",
        STOPS,
        f"samples {one} and {other} cannot be put together: {first_line(event)}",
        details,
        places_of(event["frames"]),
        "give all samples the same structure and shapes, or the loader a collate_fn that pads",
        said=event["text"],
    )


def _growth(event: dict[str, Any]) -> list[Problem]:
    found = []
    read = event["read"]
    if all(more > max(1 << 20, read << 10) for more in event["memory"]):
        each = sum(event["memory"]) / len(event["memory"]) / read
        found.append(
            Problem(
                "memory-grows",
                COSTS,
                f"memory grows by {size_of(each)} for each sample, also for samples that were read before",
                tuple(f"round {number}: {size_of(more)} more" for number, more in enumerate(event["memory"], 2)),
                tuple(Place(one["path"], one["line"], "", f"{size_of(one['bytes'])} stay") for one in event["lines"]),
                "do not keep what was read on the dataset or in a module",
                ("TMP902", "TMP906"),
            )
        )
    if all(more > 0 for more in event["files"]):
        paths = [path for path, times in event["paths"] if times > 1]
        found.append(
            Problem(
                "files-stay-open",
                COSTS,
                f"every reading of {counted(read, 'sample')} leaves {counted(event['files'][-1], 'more file')} open",
                tuple(paths),
                advice="close what is opened for a sample: `with open(...) as file`",
            )
        )
    if all(more > 0 for more in event["threads"]):
        places = tuple(Place(one["path"], one["line"], "", f"thread {one['name']}") for one in event["running"])
        found.append(
            Problem(
                "threads-stay",
                COSTS,
                f"every reading of {counted(read, 'sample')} leaves {counted(event['threads'][-1], 'more thread')}"
                " running",
                places=places,
                advice="end the threads that a sample starts",
                codes=("TMP801",),
            )
        )
    return found
