"""Fixes small projects that tests write down."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchmp.engine import Project
from flake8_torchmp.fixes.engine import Fix, Left, Outcome, Wishes, mend
from flake8_torchmp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping


DEFAULT_SETTINGS = Settings()


class Mended(NamedTuple):
    files: dict[str, str]
    """All of them, as they are after it."""
    fixes: list[Fix]
    left: list[Left]


def mended(
    files: Mapping[str, str], unsafe: bool = False, only: str = "", settings: Settings = DEFAULT_SETTINGS
) -> Mended:
    """A project of these files, with every fix that there is for it, or for one code."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode())
        outcome = mended_in(root, unsafe, only, settings)
        after = dict(files)
        for path, (_, new) in outcome.files.items():
            after[os.path.relpath(path, root)] = new.decode()
        return Mended(after, outcome.fixes, outcome.left)


def mended_in(root: Path, unsafe: bool = False, only: str = "", settings: Settings = DEFAULT_SETTINGS) -> Outcome:
    """The same for the project in a folder; nothing is written."""
    project = Project(root, settings)
    members = [str(path) for path in sorted(root.rglob("*.py"))]
    by_seed = {seed: project.findings_from(seed) for seed in project.seeds(members)}
    wishes = Wishes(
        unsafe, lambda finding, _: finding.code == only if only else not finding.code.startswith("TMP9"), lambda _: ""
    )
    return mend(project.changed, project, by_seed, members, wishes)


def mended_text(text: str, unsafe: bool = False, only: str = "") -> str:
    return mended({"main.py": text}, unsafe, only).files["main.py"]
