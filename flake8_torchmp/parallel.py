"""A project's files spread over spawned processes; the answers come in the order of the files."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from .engine import Project
from .findings import Finding
from .settings import Settings

_projects: list[Project] = []
"""The project that this worker process looks at."""


def findings_from(
    root: str, seeds: list[str], settings: Settings, jobs: int, buffers: dict[str, bytes]
) -> Iterator[list[Finding]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_open, initargs=(root, settings, buffers)
    ) as executor:
        yield from executor.map(_find, seeds, chunksize=max(1, len(seeds) // (jobs * 8)))


def _open(root: str, settings: Settings, buffers: dict[str, bytes]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _projects[:] = [Project(Path(root), settings, buffers)]


def _end_with_parent() -> None:
    """A parent that is killed says nothing, and its workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _find(seed: str) -> list[Finding]:
    return _projects[0].findings_from(seed)
