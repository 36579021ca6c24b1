"""The files of a project: which there are, and their bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from flake8_torchmp import source

SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules", "site-packages", "dist-packages"))
MOST_BYTES = 100_000_000
"""Bytes of files that are held; of a larger project, the other files are read whenever they are asked for."""
MANY_FILES = 100_000
"""A folder with more files than this is no project: the index stops there."""


_TESTS = re.compile(r"test_.*\.py|.*_test\.py")


def is_called_test(path: str) -> bool:
    """Whether a file's name is one by which test runners collect it."""
    return _TESTS.fullmatch(re.split(r"[\\/]", path)[-1]) is not None


class Extent(NamedTuple):
    """What belongs to a project."""

    root: str
    source_roots: tuple[str, ...] = ()
    """Folders below the root in which modules are looked for first."""
    libraries: frozenset[str] = frozenset()
    """Top-level names that are never looked for in odd corners of the project."""
    popular: frozenset[str] = frozenset()
    """Names of libraries that projects use for modules of their own as well."""
    buffers: Mapping[str, bytes] = MappingProxyType({})
    """What some files hold, whatever lies on the disk."""


class Files:
    """What lies below one root folder."""

    def __init__(self, extent: Extent) -> None:
        self.root = extent.root
        self.buffers = dict(extent.buffers)
        self._files: dict[str, None] | None = None
        self._is_project = True
        self._folders: set[str] = set()
        self._tops: dict[str, list[str]] = {}
        """The folders in which there is a module or package of a name."""
        self._bytes: dict[str, bytes] = {}
        self._held_bytes = 0
        self._last_read = ("", b"")
        self._problems: dict[str, str] = {}

    @property
    def files(self) -> list[str]:
        """Every Python file of the project, sorted."""
        if self._files is None:
            self._list_files()
        assert self._files is not None
        return list(self._files)

    @property
    def is_project(self) -> bool:
        """Whether something says that the root is that of a project, and no folder that just happens to be current."""
        if self._files is None:
            self._list_files()
        return self._is_project

    def _list_files(self) -> None:
        files: list[str] = [path for path in self.buffers if path.endswith(".py")]
        seen_folders: set[str] = set()
        pending = [self.root]
        while pending and len(files) < MANY_FILES:
            folder = pending.pop()
            real = os.path.realpath(folder)
            if real in seen_folders:
                continue
            seen_folders.add(real)
            try:
                with os.scandir(folder) as entries:
                    listed = list(entries)
            except OSError:
                continue
            names = {entry.name for entry in listed}
            is_marked = not names.isdisjoint(source.PROJECT_MARKS)
            if folder == self.root:
                self._is_project = is_marked
            if "pyvenv.cfg" in names or (is_marked and not self._is_project):
                continue  # a folder of projects is none itself
            self._folders.add(folder)
            for entry in listed:
                name = entry.name
                if name.endswith(".py"):
                    files.append(entry.path)
                elif not name.startswith(".") and name not in SKIPPED_FOLDERS and "." not in name:
                    try:
                        if entry.is_dir():
                            pending.append(entry.path)
                    except OSError:
                        continue
        self._files = dict.fromkeys(sorted(files))
        for path in self._files:
            folder, name = os.path.split(path)
            self._tops.setdefault(name[:-3], []).append(folder)
        for folder in sorted(self._folders):
            parent, name = os.path.split(folder)
            homes = self._tops.setdefault(name, [])
            if os.path.join(folder, "__init__.py") in self._files:
                homes.append(parent)

    def contains(self, path: str) -> bool:
        if self._files is None:
            self._list_files()
        assert self._files is not None
        return path in self._files

    def data(self, path: str) -> bytes:
        """The bytes of a file, or none where it cannot be read."""
        if path in self.buffers:
            return self.buffers[path]
        if path not in self._bytes:
            if self._last_read[0] == path:
                return self._last_read[1]
            data = self._read(path)
            if self._held_bytes > MOST_BYTES:
                self._last_read = (path, data)
                return data
            self._bytes[path] = data
            self._held_bytes += len(data)
        return self._bytes[path]

    def _read(self, path: str) -> bytes:
        try:
            return source.read(path)
        except source.Unreadable as problem:
            self._problems[path] = str(problem)
            return b""

    def look_at(self, path: str) -> bytes:
        """The bytes of a file, held only if they are already."""
        held = self.buffers.get(path, self._bytes.get(path))
        return self._read(path) if held is None else held

    def name_of(self, path: str) -> tuple[str, bool]:
        """The dotted name of a file, counted from above its topmost package."""
        folder, file = os.path.split(path)
        stem = file[:-3]
        is_package = stem == "__init__"
        parts = [] if is_package else [stem]
        while self.contains(os.path.join(folder, "__init__.py")) and folder != self.root:
            folder, name = os.path.split(folder)
            parts.append(name)
        if is_package and not parts:
            parts.append(os.path.basename(folder))
        return ".".join(reversed(parts)), is_package

    def package_root(self, path: str) -> str:
        """The folder above the topmost package that a file lies in."""
        folder = os.path.dirname(path)
        while self.contains(os.path.join(folder, "__init__.py")) and folder != self.root:
            folder = os.path.dirname(folder)
        return folder
