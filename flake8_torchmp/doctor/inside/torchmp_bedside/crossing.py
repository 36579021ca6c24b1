"""The second step: pickles what a spawned worker is given, as its start would."""

from __future__ import annotations

import time
from typing import Any

from .channel import Channel
from .culprits import culprits
from .patient import Patient


class _Counting:
    """A file that only counts."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, content: Any) -> int:
        size = memoryview(content).nbytes
        self.size += size
        return size


def examine(patient: Patient, channel: Channel) -> None:
    from multiprocessing import context

    context.set_spawning_popen(_popen())
    loader = patient.loader
    for name, thing in (
        ("dataset", patient.dataset),
        ("collate_fn", loader.collate_fn),
        ("worker_init_fn", loader.worker_init_fn),
    ):
        channel.say("crosses", name=name, **_crossed(thing, name))


def _popen() -> Any:
    """Locks, queues and tensors are only pickled for a process that is being started."""
    from multiprocessing import popen_spawn_posix

    class Pretended(popen_spawn_posix.Popen):
        def __init__(self) -> None:
            self._fds: list[int] = []

    return Pretended()


def _crossed(thing: Any, name: str) -> dict[str, object]:
    from multiprocessing.reduction import ForkingPickler

    sink = _Counting()
    began = time.perf_counter()
    try:
        ForkingPickler(sink, None).dump(thing)
    except Exception as error:
        found = [one.described() for one in culprits(thing, name)]
        if not found:
            found = [{"way": name, "what": type(thing).__qualname__, "kind": "other", "error": repr(error)}]
        return {"size": None, "seconds": time.perf_counter() - began, "culprits": found}
    return {"size": sink.size, "seconds": time.perf_counter() - began, "culprits": []}
