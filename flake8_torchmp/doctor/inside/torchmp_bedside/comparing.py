"""Compares what workers read with what the parent reads: the same samples, the same values, other random numbers.

What changes from reading to reading, in one process, is random and compared with nothing but the other worker's.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .channel import Channel
from .fingerprints import Fingerprints, Print, differing, fingerprint, leaves, shown, token
from .patient import Patient, seed

READINGS = 2
"""How often each worker reads each sample."""
KEYS = 8
TELLING = 4
"""So many different values must come before equal ones are no chance."""

Read = tuple[int, Print, dict[str, str]]
"""The worker, the fingerprint, the values for a person."""


def compare(patient: Patient, channel: Channel, workers: int, method: str, most: int) -> dict[str, object]:
    if patient.is_iterable:
        return _compare_streams(patient, channel, workers, method, most)
    return _compare_samples(patient, channel, workers, method)


def _compare_samples(patient: Patient, channel: Channel, workers: int, method: str) -> dict[str, object]:
    """Every worker reads the same samples, then the parent does."""
    from torch.utils.data import DataLoader

    keys = patient.keys(KEYS)
    loader = patient.loader
    seed(7)
    probe = DataLoader(
        patient.dataset,
        batch_size=None,
        sampler=[key for key in keys for _ in range(READINGS * workers)],
        num_workers=workers,
        collate_fn=Fingerprints(False),
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=method,
    )
    by_worker: dict[int, list[Read]] = {worker: [] for worker in range(workers)}
    for ((worker, printed, values),) in probe:
        channel.beat()
        by_worker[worker].append((worker, printed, values))
    seed(8)
    own: list[Read] = []
    for key in keys:
        for _ in range(READINGS):
            channel.beat()
            sample = patient.dataset[key]
            own.append((-1, fingerprint(sample), {path: shown(value) for path, value in leaves(sample)}))
    streams = list(by_worker.values())
    volatile = {path for stream in [*streams, own] for path in _changing(stream)}
    return {
        "different": _different(keys, streams, own, volatile),
        "equal": _equal(streams, volatile) if workers > 1 else [],
        "volatile": sorted(volatile)[:5],
        "read": len(keys),
    }


def _changing(stream: Sequence[Read]) -> set[str]:
    """The paths whose values differ between readings of one sample by one process."""
    found: set[str] = set()
    for start in range(0, len(stream) - READINGS + 1, READINGS):
        for one, other in itertools.pairwise(stream[start : start + READINGS]):
            found.update(differing(one[1], other[1]))
    return found


def _different(
    keys: Sequence[Any], streams: Sequence[Sequence[Read]], own: Sequence[Read], volatile: set[str]
) -> list[dict[str, object]]:
    """What a worker reads that the parent does not; each path once, with the first sample that shows it."""
    found: dict[str, dict[str, object]] = {}
    for stream in streams:
        for position, (theirs, mine) in enumerate(zip(stream, own, strict=True)):
            for path in differing(theirs[1], mine[1]):
                if path in volatile:
                    continue
                seen = found.setdefault(
                    path,
                    {
                        "path": path,
                        "key": repr(keys[position // READINGS]),
                        "parent": mine[2].get(path, "missing"),
                        "worker": theirs[2].get(path, "missing"),
                        "times": 0,
                    },
                )
                seen["times"] = int(str(seen["times"])) + 1
    return list(found.values())[:5]


def _equal(streams: Sequence[Sequence[Read]], volatile: set[str]) -> list[dict[str, object]]:
    """Paths that change from reading to reading, and in two workers in the same way."""
    found: list[dict[str, object]] = []
    for path in sorted(volatile):
        series = [[token({path: read[1][path]}) for read in stream if path in read[1]] for stream in streams]
        for (one, mine), (other, yours) in itertools.combinations(enumerate(series), 2):
            changes = sum(a != b for a, b in zip(mine[::READINGS], mine[1::READINGS], strict=False))
            if mine == yours and changes >= TELLING:
                values = [read[2].get(path, "") for read in streams[one][:3]]
                found.append({"path": path, "workers": [one, other], "values": values})
                break
    return found[:5]


def _compare_streams(patient: Patient, channel: Channel, workers: int, method: str, most: int) -> dict[str, object]:
    patient.loader.collate_fn = Fingerprints(patient.collates)
    seed(7)
    theirs, theirs_end = _streamed(patient.with_workers(workers, method), most * workers, channel)
    seed(8)
    mine, mine_end = _streamed(patient.with_workers(0, method), most * workers, channel)
    again, _ = _streamed(patient.with_workers(0, method), most * workers, channel)
    words = [token(read[1]) for read in mine]
    theirs_words = [token(read[1]) for read in theirs]
    is_random = Counter(words) != Counter(token(read[1]) for read in again)
    by_worker = [
        [word for read, word in zip(theirs, theirs_words, strict=True) if read[0] == worker]
        for worker in range(workers)
    ]
    alike = [
        [one, other]
        for (one, a), (other, b) in itertools.combinations(enumerate(by_worker), 2)
        if len(set(a)) >= 2 and a[: len(b)] == b[: len(a)]
    ]
    report: dict[str, object] = {
        "read": len(theirs),
        "expected": len(mine),
        "whole": theirs_end and mine_end,
        "random": is_random,
        "alike": alike,
    }
    if is_random or not (theirs_end and mine_end):
        return report
    known = Counter(words)
    got = Counter(theirs_words)
    examples = dict(zip(theirs_words, theirs, strict=True))
    new = [word for word in got if word not in known]
    missing = known - got
    lost = patient.loader.batch_size if patient.loader.drop_last else 0
    return {
        **report,
        "repeated": sum(((got - known) - Counter({word: got[word] for word in new})).values()),
        "missing": 0 if sum(missing.values()) <= (lost or 0) * workers and not new else sum(missing.values()),
        "new": [_values(examples[word]) for word in new[:3]],
        "new_count": sum(got[word] for word in new),
        "first_missing": [_values(mine[words.index(word)]) for word in itertools.islice(missing, 3)],
        "first_repeated": [_values(examples[word]) for word in itertools.islice(got - known, 3) if word in known],
    }


def _streamed(loader: Iterable[Any], most: int, channel: Channel) -> tuple[list[Read], bool]:
    """The first samples of a stream, and whether they are all."""
    found: list[Read] = []
    for batch in loader:
        channel.beat()
        found.extend(batch)
        if len(found) >= most:
            return found[:most], False
    return found, True


def _values(read: Read) -> str:
    return ", ".join(f"{path} {value}".strip() for path, value in list(read[2].items())[:3])
