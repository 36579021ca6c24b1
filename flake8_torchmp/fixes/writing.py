"""Puts new contents in the place of files: each file in one step, files that belong together all or none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

from flake8_torchmp import source


def hindrance(path: str) -> str:
    """Why a file cannot be written; nothing where it can."""
    try:
        os.stat(path)
    except OSError as error:
        return f"{os.path.basename(path)}: {error.strerror or type(error).__name__}"
    return "" if os.access(path, os.W_OK) else f"{os.path.basename(path)} is read-only"


def write(files: Mapping[str, tuple[bytes, bytes]], together: Iterable[frozenset[str]]) -> dict[str, str]:
    """Writes what changed; gives the files that were not written, and why."""
    refused: dict[str, str] = {}
    for group in together:
        problem = _problem(group, files) or _write_all(group, files)
        if problem:
            refused.update(dict.fromkeys(group, problem))
    return refused


def _problem(group: frozenset[str], files: Mapping[str, tuple[bytes, bytes]]) -> str:
    for path in sorted(group):
        problem = hindrance(path)
        if problem:
            return problem
        try:
            now = source.read(path)
        except source.Unreadable as error:
            return f"{os.path.basename(path)}: {error}"
        if now != files[path][0]:
            return f"{os.path.basename(path)} changed since it was checked"
    return ""


def _write_all(group: frozenset[str], files: Mapping[str, tuple[bytes, bytes]]) -> str:
    written: list[str] = []
    for path in sorted(group):
        try:
            source.write_atomically(path, files[path][1])
        except OSError as error:
            for other in written:
                with contextlib.suppress(OSError):
                    source.write_atomically(other, files[other][0])
            return f"{os.path.basename(path)} cannot be written: {error.strerror or type(error).__name__}"
        written.append(path)
    return ""
