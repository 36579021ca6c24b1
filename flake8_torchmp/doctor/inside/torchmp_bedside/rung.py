"""A rung of the ladder: reads with so many workers under a start method, and asks what it costs."""

from __future__ import annotations

import multiprocessing
import os
import time
from typing import Any

from . import comparing, resources
from .channel import Channel
from .patient import Patient, seed


def examine(patient: Patient, channel: Channel, step: dict[str, Any]) -> None:
    workers, method = step["workers"], step["method"]
    prices = []
    for epoch in range(2 if step["compare"] else 1):
        channel.say("epoch", number=epoch)
        seed(1 + epoch)
        prices.append(_read(patient.with_workers(workers, method), workers, channel, step["seconds"]))
        if epoch == 0:
            channel.say("works", **prices[0])
    channel.say("price", epochs=prices)
    if workers and step["compare"]:
        channel.say("comparing")
        channel.say("compared", **comparing.compare(patient, channel, workers, method, step["samples"]))


def _read(loader: Any, workers: int, channel: Channel, seconds: float) -> dict[str, object]:
    """Reads batches for some time after the first one, and says what that took."""
    base = resources.shared_memory()
    began = time.perf_counter()
    spent = 0.0
    times: list[float] = []
    seen: dict[str, Any] = {}
    for _ in loader:
        now = time.perf_counter()
        times.append(now - began - spent)
        batches = len(times)
        channel.say("batch", number=batches) if batches < 4 else channel.beat()
        if batches & (batches - 1) == 0:  # 1, 2, 4...
            seen = _seen(base)
            spent += time.perf_counter() - now
        if times[-1] - times[0] > seconds and batches >= 4 * max(1, workers):
            break
    return {
        "first": times[0] if times else None,
        "batches": len(times),
        "rate": _rate(times, workers, _batch_size(loader)),
        **seen,
    }


def _batch_size(loader: Any) -> int:
    return int(loader.batch_size or getattr(loader.batch_sampler, "batch_size", None) or 1)


def _rate(times: list[float], workers: int, size: int) -> float | None:
    """Samples per second, once every worker has given its first batches, which it had time to prepare."""
    left_out = min(2 * workers, len(times) // 2)
    if len(times) - left_out < 2:
        return None
    taken = times[-1] - times[left_out]
    return (len(times) - left_out - 1) * size / taken if taken > 0 else None


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
