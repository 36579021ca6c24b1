"""Finds the files of the project that a traceback names, wherever the program ran."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from .printed import Frame

_FOREIGN = re.compile(r"site-packages|dist-packages|[/\\]lib[/\\]python\d|[/\\]Lib[/\\]|^<|[/\\]torch[/\\]")


def in_project(frames: Iterable[Frame], files: Sequence[str]) -> list[Frame]:
    """The frames that lie in files of the project, with the paths that these have here."""
    known = set(files)
    by_name: dict[str, list[str]] = {}
    for file in files:
        by_name.setdefault(os.path.basename(file), []).append(file)
    found = []
    for frame in frames:
        absolute = os.path.abspath(os.path.expanduser(frame.path))
        if absolute in known:
            found.append(frame._replace(path=absolute))
        elif not _FOREIGN.search(frame.path):
            parts = re.split(r"[/\\]", frame.path)
            if (path := _longest_common_end(parts, by_name.get(parts[-1], ()))) is not None:
                found.append(frame._replace(path=path))
    return found


def _longest_common_end(parts: Sequence[str], candidates: Iterable[str]) -> str | None:
    """The candidate that agrees with a path in the most of its last parts, if one alone does."""
    lengths = {path: _common_end(parts, path.split(os.sep)) for path in candidates}
    best = [path for path, length in lengths.items() if length == max(lengths.values())]
    return best[0] if len(best) == 1 else None


def _common_end(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    for mine, yours in zip(reversed(one), reversed(other), strict=False):
        if mine != yours:
            break
        length += 1
    return length
