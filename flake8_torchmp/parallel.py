"""A project looked at by spawned processes; the answers come in the order of the files."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

from .engine import MOST_LOADED, Project
from .findings import Finding
from .settings import Settings

SHARES = 8
"""How often a process comes back for more."""

_projects: list[Project] = []
"""The project that this worker process looks at."""


class Processes:
    def __init__(self, project: Project, jobs: int) -> None:
        codebase = project.codebase
        self._jobs = jobs
        self._executor = ProcessPoolExecutor(
            jobs,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_open,
            initargs=(codebase.root, project.model.settings, codebase.buffers),
        )

    def close(self) -> None:
        self._executor.shutdown()

    def seeds(self, paths: Sequence[str]) -> list[str]:
        return self._executor.submit(_seeds, paths).result()

    def findings_of(self, seeds: Sequence[str]) -> Iterator[list[Finding]]:
        return self._executor.map(_find, seeds, chunksize=self._share(seeds))

    def problems(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        size = self._share(paths)
        parts = [paths[start : start + size] for start in range(0, len(paths), size)]
        return chain.from_iterable(self._executor.map(_problems, parts))

    def _share(self, paths: Sequence[str]) -> int:
        return max(1, len(paths) // (self._jobs * SHARES))


def _open(root: str, settings: Settings, buffers: dict[str, bytes]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _projects[:] = [Project(Path(root), settings, buffers, MOST_LOADED // 2)]  # there are several that keep it


def _end_with_parent() -> None:
    """A parent that is killed says nothing, and its workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _seeds(paths: Sequence[str]) -> list[str]:
    return _projects[0].seeds(paths)


def _find(seed: str) -> list[Finding]:
    return _projects[0].findings_from(seed)


def _problems(paths: Sequence[str]) -> list[tuple[str, str]]:
    return list(_projects[0].problems(paths))
