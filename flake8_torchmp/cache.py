"""What was found in a project is kept until a byte of it changes.

One file an answer, named by a digest of all that the answer depends on: the contents and names of the project's files,
which of them were checked, the settings, the Python that parses, and the tool's own code. So answers can be shared
between checkouts and machines, deleted at any time, and are never wrong for being old. They are JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import source
from .findings import Answer, Finding, Repair, Step
from .settings import Settings

FOLDER = ".torchmp_cache"
MOST_KEPT = 20
"""Answers in a folder; the oldest go."""

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by torchmp; it may be deleted at any time.\n"


class Cache:
    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        """Where answers are kept; beside each project if it is not said."""

    def key(self, root: str, contents: Iterable[tuple[str, bytes]], members: Iterable[str], settings: Settings) -> str:
        """Names the answer for some files of a project, whose files and contents are given in order."""
        digest = hashlib.blake2b(_own_digest(), digest_size=20)
        digest.update(repr((sys.version_info[:3], settings)).encode())
        for path, data in contents:
            digest.update(f"{os.path.relpath(path, root)}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            digest.update(data)
        for path in members:
            digest.update(f"{os.path.relpath(path, root)}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def answer(self, root: str, key: str) -> Answer | None:
        """What was found then; None where it is not known, or cannot be read."""
        path = self._path(root, key)
        try:
            kept = json.loads(source.read(path))
            answer = Answer(
                [_finding_from(one, root) for one in kept["findings"]],
                [(os.path.join(root, path), problem) for path, problem in kept["problems"]],
            )
        except (source.Unreadable, ValueError, TypeError, KeyError):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # what is asked for again stays longer
        return answer

    def keep(self, root: str, key: str, answer: Answer) -> None:
        """Keeps an answer where that is possible: a folder that cannot be written is as good as none."""
        kept = {
            "findings": [_as_kept(finding, root) for finding in answer.findings],
            "problems": [(os.path.relpath(path, root), problem) for path, problem in answer.problems],
        }
        path = self._path(root, key)
        with contextlib.suppress(OSError, UnicodeEncodeError):
            folder = os.path.dirname(path)
            if not os.path.isdir(folder):
                os.makedirs(folder)
                source.write_atomically(os.path.join(folder, "CACHEDIR.TAG"), _TAG.encode())
                source.write_atomically(os.path.join(folder, ".gitignore"), b"*\n")
            source.write_atomically(path, json.dumps(kept, separators=(",", ":")).encode())
            _drop_oldest(folder)

    def _path(self, root: str, key: str) -> str:
        return os.path.join(self.folder or os.path.join(root, FOLDER), f"{key}.json")


def _own_digest() -> bytes:
    """The tool's own code: what another version found is no answer."""
    digest = hashlib.blake2b(digest_size=20)
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _drop_oldest(folder: str) -> None:
    with os.scandir(folder) as entries:
        answers = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(".json")]
    for _, path in sorted(answers)[:-MOST_KEPT]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _as_kept(finding: Finding, root: str) -> dict[str, Any]:
    kept = finding._asdict()
    kept["path"] = os.path.relpath(finding.path, root)
    kept["way"] = [(os.path.relpath(step.path, root), step.line, step.text) for step in finding.way]
    if finding.repair is not None:
        kept["repair"] = finding.repair._replace(path=os.path.relpath(finding.repair.path, root))
    return kept


def _finding_from(kept: Mapping[str, Any], root: str) -> Finding:
    repair = None
    if kept["repair"] is not None:
        repair = Repair(*kept["repair"])
        notes = tuple((name, text) for name, text in repair.notes)
        repair = repair._replace(path=os.path.join(root, repair.path), notes=notes)
    way = tuple(Step(os.path.join(root, path), line, text) for path, line, text in kept["way"])
    return Finding(**{**kept, "path": os.path.join(root, kept["path"]), "way": way, "repair": repair})
