"""A check imports nothing heavy, and asking for the version next to nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from bad_files import PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {"libcst", "multiprocessing", "sqlite3", "torch"}
"""subprocess is missing here: the command asks git which files there are."""


def imported(*arguments: str, folder: Path) -> set[str]:
    """The modules that a fresh interpreter imports for this, by their first names."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=folder,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}


@pytest.mark.parametrize("command", [["-m", "flake8_torchmp", "check"], ["-m", "flake8_torchmp", "check", "--jobs=1"]])
def test_check_of_one_file(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(PROGRAM)
    assert imported(*command, "train.py", folder=tmp_path) & HEAVY == set()


def test_version(tmp_path: Path) -> None:
    always = imported("-c", "pass", folder=tmp_path)
    more = imported("-m", "flake8_torchmp", "--version", folder=tmp_path) - always
    assert more & (HEAVY | {"argparse", "ast", "dataclasses", "flake8", "inspect", "json"}) == set()


def test_engine_alone(tmp_path: Path) -> None:
    """What a page in a browser would import."""
    (tmp_path / "train.py").write_bytes(PROGRAM)
    program = (
        "from flake8_torchmp import engine\n"
        "from flake8_torchmp.settings import Settings\n"
        "assert 'TMP301' in [one.code for _, found, _ in engine.check(['train.py'], Settings()) for one in found]\n"
    )
    assert imported("-c", program, folder=tmp_path) & (HEAVY | {"argparse", "flake8", "subprocess"}) == set()
