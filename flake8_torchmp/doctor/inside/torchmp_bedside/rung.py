"""A rung of the ladder: reads with so many workers under a start method, and asks what it costs."""

from __future__ import annotations

import multiprocessing
import os
import time
from typing import Any

from . import comparing, resources
from .channel import Channel
from .patient import Patient, seed

EPOCHS = 2


def examine(patient: Patient, channel: Channel, step: dict[str, Any]) -> None:
    workers, method = step["workers"], step["method"]
    prices = []
    for epoch in range(EPOCHS):
        channel.say("epoch", number=epoch)
        seed(1 + epoch)
        prices.append(_read(patient.with_workers(workers, method), workers, channel, step))
        if epoch == 0:
            channel.say("works", **prices[0])
    channel.say("price", epochs=prices)
    if workers and step["compare"]:
        channel.say("comparing")
        channel.say("compared", **comparing.compare(patient, channel, workers, method, step["samples"]))


def _read(loader: Any, workers: int, channel: Channel, step: dict[str, Any]) -> dict[str, object]:
    """Reads batches for some time, and says what that took."""
    base = resources.shared_memory()
    began = time.perf_counter()
    first = spent = 0.0
    batches = 0
    seen: dict[str, Any] = {}
    for _ in loader:
        batches += 1
        now = time.perf_counter()
        first = first or now - began
        channel.say("batch", number=batches) if batches < 4 else channel.beat()
        if batches & (batches - 1) == 0:  # 1, 2, 4...
            seen = _seen(base)
            spent += time.perf_counter() - now
        if now - began - spent > step["seconds"] and batches >= 2 * max(1, workers):
            break
    taken = time.perf_counter() - began - spent
    size = loader.batch_size or 1
    rest = taken - first
    return {
        "first": first,
        "batches": batches,
        "rate": (batches - 1) * size / rest if batches > 2 and rest > 0 else None,
        **seen,
    }


def _seen(shared_before: int | None) -> dict[str, Any]:
    pids = [process.pid for process in multiprocessing.active_children() if process.pid]
    memories = [memory for pid in pids if (memory := resources.memory(pid)) is not None]
    shared = resources.shared_memory()
    return {
        "own": max((own for own, _ in memories), default=None),
        "shared": max((other for _, other in memories), default=None),
        "files": resources.files(os.getpid()),
        "blocks": shared - shared_before if shared is not None and shared_before is not None else None,
        "parent": (resources.memory(os.getpid()) or (None,))[0],
    }
