"""The first step: reads samples in the parent, as 0 workers would, and puts them together."""

from __future__ import annotations

import gc
import itertools
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from . import resources
from .channel import Channel
from .fingerprints import leaf, leaves
from .patient import Patient
from .tracebacks import described

MOST_FAILURES = 5
ROUNDS = 4
"""How often the same samples are read to see what grows."""
TRACED = 3
READING, GROWING = 20.0, 10.0
"""Seconds that this may take."""


class Reader:
    """Reads samples and keeps them, with the time that each took and what went wrong."""

    def __init__(self, patient: Patient, channel: Channel, most: int) -> None:
        self._patient, self._channel = patient, channel
        self.keys: list[Any] = [] if patient.is_iterable else patient.keys(most)
        self.most = most
        self.kept: dict[str, Any] = {}
        """Samples by their keys, as text."""
        self.times: list[tuple[str, float]] = []
        self.failures: list[dict[str, object]] = []

    def read(self) -> None:
        if self._patient.is_iterable:
            self._iterate()
            return
        began = time.monotonic()
        for key in self.keys:
            if len(self.failures) >= MOST_FAILURES or time.monotonic() - began > READING:
                break
            self._one(repr(key), partial(self._patient.dataset.__getitem__, key))

    def _iterate(self) -> None:
        began = time.monotonic()
        self._channel.say("reading", key="iter(dataset)")
        try:
            samples = iter(self._patient.dataset)
        except BaseException as error:
            self.failures.append({"key": "iter(dataset)", **described(error)})
            return
        for position in range(self.most):
            if time.monotonic() - began > READING or not self._one(str(position), partial(next, samples)):
                return

    def _one(self, name: str, get: Callable[[], Any]) -> bool:
        """Whether there was a sample."""
        self._channel.say("reading", key=name)
        began = time.perf_counter()
        try:
            sample = get()
        except StopIteration:
            return False
        except BaseException as error:
            self.failures.append({"key": name, **described(error)})
            return False
        self.times.append((name, time.perf_counter() - began))
        self.kept[name] = sample
        return True


def examine(patient: Patient, channel: Channel, most: int) -> None:
    reader = Reader(patient, channel, most)
    reader.read()
    slow = _slow_again(patient, reader, channel)
    channel.say(
        "samples",
        read=len(reader.times),
        times=reader.times,
        slow=slow,
        failures=reader.failures,
        nones=_nones(reader.kept),
        batch=patient.loader.batch_size or 0,
    )
    if patient.collates and not reader.failures:
        channel.say("collate", **_collated(patient, reader, channel, most))
    if not reader.failures:
        _grow(patient, reader, channel)


def _slow_again(patient: Patient, reader: Reader, channel: Channel) -> list[tuple[str, float]]:
    """Samples that take far longer than the others, and do so again: the first one of all opens files, and may."""
    if len(reader.times) < 4 or patient.is_iterable:
        return []
    usual = sorted(seconds for _, seconds in reader.times)[len(reader.times) // 2]
    suspects = [name for name, seconds in reader.times if seconds > max(0.2, 20 * usual)]
    again = []
    for name in suspects[:3]:
        key = next(key for key in reader.keys if repr(key) == name)
        channel.say("reading", key=name)
        began = time.perf_counter()
        patient.dataset[key]
        again.append((name, time.perf_counter() - began))
    return [(name, seconds) for name, seconds in again if seconds > max(0.2, 20 * usual)]


def _nones(kept: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {"key": key, "path": path}
        for key, sample in kept.items()
        for path, value in itertools.islice(leaves(sample), 200)
        if value is None
    ][:10]


def _collated(patient: Patient, reader: Reader, channel: Channel, most: int) -> dict[str, object]:
    """Whether the batches that come can be put together; if not, two samples that cannot."""
    collate = patient.loader.collate_fn
    for keys in _groups(patient, reader, most):
        samples = [reader.kept[key] for key in keys]
        channel.say("collating", keys=keys)
        error = _fails(collate, samples)
        if error is None:
            continue
        for key in keys[1:]:
            if (pair := _fails(collate, [reader.kept[keys[0]], reader.kept[key]])) is not None:
                return {"keys": [keys[0], key], "differs": _differences(reader, keys[0], key), **described(pair)}
        return {"keys": keys, "differs": [], **described(error)}
    return {"keys": []}


def _groups(patient: Patient, reader: Reader, most: int) -> list[list[str]]:
    """The keys of batches. Where any sample can meet any other, all of them are one."""
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

    loader = patient.loader
    is_plain = type(loader.batch_sampler) is BatchSampler and isinstance(
        loader.sampler, RandomSampler | SequentialSampler
    )
    names = list(reader.kept)
    if patient.is_iterable:
        size = loader.batch_size or 1
        groups = [names[start : start + size] for start in range(0, len(names), size)]
        if loader.drop_last and groups and len(groups[-1]) < size:
            groups.pop()
        return groups
    size = loader.batch_size if is_plain else None
    if size is None:
        batches = itertools.islice(patient.batches(), most)
        named = [[repr(key) for key in batch] for batch in batches]
        return [batch for batch in named if batch and all(name in reader.kept for name in batch)]
    if size == 1:
        return [[name] for name in names]
    shuffled = isinstance(loader.sampler, RandomSampler)
    if patient.is_own and not shuffled:
        return [names[start : start + size] for start in range(0, len(names), size)]
    default = loader.collate_fn.__module__.startswith("torch.utils.data")
    return [names] if default else [names[start : start + size] for start in range(0, len(names), size)]


def _fails(collate: Callable[[Any], Any], samples: list[Any]) -> BaseException | None:
    try:
        collate(samples)
    except BaseException as error:
        return error
    return None


def _differences(reader: Reader, one: str, other: str) -> list[dict[str, str]]:
    """Where two samples have another structure, type or shape."""
    mine = {path: leaf(value)[0] for path, value in leaves(reader.kept[one])}
    yours = {path: leaf(value)[0] for path, value in leaves(reader.kept[other])}
    return [
        {"path": path, "one": mine.get(path, "missing"), "other": yours.get(path, "missing")}
        for path in {**mine, **yours}
        if mine.get(path) != yours.get(path)
    ][:5]


def _grow(patient: Patient, reader: Reader, channel: Channel) -> None:
    """Reads the same samples again and again: what grows then leaks."""
    taken = sum(time for _, time in reader.times)
    if patient.is_iterable or not reader.times or taken * (ROUNDS + 1) > GROWING:
        return
    read = {name for name, _ in reader.times}
    keys = [key for key in reader.keys if repr(key) in read]
    reader.kept.clear()
    states = []
    for _ in range(ROUNDS + 1):
        _read_all(patient, keys, channel)
        states.append(_state())
    growth = {
        name: [after[name] - before[name] for before, after in itertools.pairwise(states[1:])]
        for name in ("memory", "files", "threads")
    }
    lines: list[dict[str, object]] = []
    if all(more > max(1 << 20, len(keys) << 10) for more in growth["memory"]):
        lines = _allocating(patient, keys, channel)
    paths = sorted(resources.open_paths().items(), key=lambda item: -item[1]) if min(growth["files"]) > 0 else []
    channel.say(
        "growth",
        rounds=ROUNDS,
        read=len(keys),
        memory=growth["memory"],
        files=growth["files"],
        threads=growth["threads"],
        lines=lines,
        paths=paths[:3],
        running=resources.threads()[:3],
    )


def _read_all(patient: Patient, keys: list[Any], channel: Channel) -> None:
    for key in keys:
        channel.beat()
        patient.dataset[key]


def _state() -> dict[str, int]:
    gc.collect()
    memory = resources.memory(os.getpid())
    return {
        "memory": memory[0] if memory else 0,
        "files": resources.files(os.getpid()) or 0,
        "threads": len(resources.threads()),
    }


def _allocating(patient: Patient, keys: list[Any], channel: Channel) -> list[dict[str, object]]:
    """The lines whose memory is still there after a few more samples: tracing takes its time."""
    import tracemalloc

    from .tracebacks import is_foreign

    tracemalloc.start(8)
    _read_all(patient, keys[:TRACED], channel)
    gc.collect()
    traces = tracemalloc.take_snapshot().statistics("traceback")
    tracemalloc.stop()
    sizes: dict[tuple[str, int], int] = {}
    for trace in traces:
        own = [frame for frame in trace.traceback if not is_foreign(frame.filename)]
        if own:
            place = own[-1].filename, own[-1].lineno
            sizes[place] = sizes.get(place, 0) + trace.size
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:3]
    return [{"path": path, "line": line, "bytes": size} for (path, line), size in largest if size > 1 << 16]
