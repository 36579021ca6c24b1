"""What was found in a project is kept until a byte of it changes.

One file for each state of a project, named by a digest of all that answers depend on: the contents and names of the
project's files, the settings, the Python that parses, and the tool's own code. In it is a line of JSON for each file
that was checked. So answers can be shared between checkouts and machines, deleted at any time, and are never wrong for
being old.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import source
from .findings import CRASH, Answer, Finding, Repair, Step
from .semantics.files import Extent, Files
from .settings import Settings

FOLDER = ".torchmp_cache"
FEW = 20
"""Files of a project that is checked as soon as it is read."""
MOST_KEPT = 20
"""States of projects in a folder; the oldest go."""

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by torchmp; it may be deleted at any time.\n"


class Cache:
    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        """Where answers are kept; beside each project if it is not said."""

    def of(self, root: str, settings: Settings, buffers: Mapping[str, bytes] | None = None) -> Known | None:
        """What is known of a project as it is now.

        Nothing is kept of a small one, which is checked as soon as it is read, nor beside files that are no project.
        """
        files = Files(Extent(root, buffers=buffers or {}))
        if len(files.files) < FEW or not (self.folder or files.is_project):
            return None
        name = f"{_digest_of(files, settings)}.jsonl"
        return Known(os.path.join(self.folder or os.path.join(root, FOLDER), name), files)


class Known:
    """What was said of the files of a project in one state."""

    def __init__(self, path: str, files: Files) -> None:
        self._path, self._files = path, files
        self._answers = dict(_answers_in(path, files.root))

    def answer(self, path: str) -> Answer | None:
        return self._answers.get((path, self._outside(path)))

    def answers(self, paths: Sequence[str]) -> list[Answer] | None:
        """What was said of some files, where it is known of all whether they can be checked."""
        answers = [answer for path in paths if (answer := self.answer(path)) is not None and answer.problem is not None]
        return answers if len(answers) == len(paths) else None

    def keep(self, answers: Sequence[Answer]) -> None:
        """Adds answers where that is possible: a folder that cannot be written is as good as none."""
        if any(finding.code == CRASH for answer in answers for finding in answer.findings):
            return
        added = {(answer.path, self._outside(answer.path)): answer for answer in answers}
        self._answers.update(added)
        with contextlib.suppress(OSError, UnicodeEncodeError):
            lines = (_as_kept(answer, held, self._files.root) for (_, held), answer in added.items())
            _append(self._path, "".join(f"\n{line}" for line in lines).encode())

    def _outside(self, path: str) -> str:
        """A digest of what a file holds that the project's state does not cover: one that is no part of it."""
        if self._files.contains(path):
            return ""
        return hashlib.blake2b(self._files.look_at(path), digest_size=20).hexdigest()


def _digest_of(files: Files, settings: Settings) -> str:
    digest = hashlib.blake2b(_own_digest(), digest_size=20)
    digest.update(repr((sys.version_info[:3], settings)).encode())
    for path in files.files:
        data = files.look_at(path)
        digest.update(f"{os.path.relpath(path, files.root)}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        digest.update(data)
    return digest.hexdigest()


def _answers_in(path: str, root: str) -> Iterator[tuple[tuple[str, str], Answer]]:
    """What can be read of the answers in a file: a line that somebody is about to write is none yet."""
    try:
        lines = source.read(path).split(b"\n")
    except source.Unreadable:
        return
    with contextlib.suppress(OSError):
        os.utime(path)  # what is asked for again stays longer
    for line in filter(None, lines):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            kept = json.loads(line)
            findings = [_finding_from(one, root) for one in kept["findings"]]
            answer = Answer(os.path.join(root, kept["path"]), findings, kept["problem"])
            yield (answer.path, kept["outside"]), answer


def _append(path: str, lines: bytes) -> None:
    """Several processes may do so at once: each adds whole lines, and begins them itself."""
    folder = os.path.dirname(path)
    is_new = not os.path.exists(path)
    if is_new:
        os.makedirs(folder, exist_ok=True)
        source.write_atomically(os.path.join(folder, "CACHEDIR.TAG"), _TAG.encode())
        source.write_atomically(os.path.join(folder, ".gitignore"), b"*\n")
    with open(path, "ab", buffering=0) as file:
        file.write(lines)
    if is_new:
        _drop_oldest(folder)


def _own_digest() -> bytes:
    """The tool's own code: what another version found is no answer."""
    digest = hashlib.blake2b(digest_size=20)
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _drop_oldest(folder: str) -> None:
    with os.scandir(folder) as entries:
        answers = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(".jsonl")]
    for _, path in sorted(answers)[:-MOST_KEPT]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _as_kept(answer: Answer, outside: str, root: str) -> str:
    kept = {
        "path": os.path.relpath(answer.path, root),
        "outside": outside,
        "findings": [_finding_as_kept(finding, root) for finding in answer.findings],
        "problem": answer.problem,
    }
    return json.dumps(kept, separators=(",", ":"))


def _finding_as_kept(finding: Finding, root: str) -> dict[str, Any]:
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
