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


def imported(*arguments: str, folder: Path, whole: bool = False) -> set[str]:
    """The modules that a fresh interpreter imports for this, by their first names or their whole ones."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=folder,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "Traceback" not in done.stderr
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return names if whole else {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("command", [["-m", "flake8_torchmp", "check"], ["-m", "flake8_torchmp", "check", "--jobs=1"]])
def test_check_of_one_file(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(PROGRAM)
    assert imported(*command, "train.py", folder=tmp_path) & HEAVY == set()


def test_version(tmp_path: Path) -> None:
    always = imported("-c", "pass", folder=tmp_path)
    more = imported("-m", "flake8_torchmp", "--version", folder=tmp_path) - always
    assert more & (HEAVY | {"argparse", "ast", "dataclasses", "flake8", "inspect", "json"}) == set()


@pytest.mark.parametrize("command", [["-c", "import flake8_torchmp"], ["-m", "flake8_torchmp", "check", "train.py"]])
def test_doctor_stays_away(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(PROGRAM)
    assert not [
        name for name in imported(*command, folder=tmp_path, whole=True) if "doctor" in name or "psutil" in name
    ]


def test_doctor_imports_no_torch(tmp_path: Path) -> None:
    """Where there is nothing to examine, and so nobody else who could have."""
    loaded = imported("-c", "import flake8_torchmp.cli.doctor", folder=tmp_path, whole=True)
    assert "flake8_torchmp.doctor.bed" in loaded
    assert not {"torch", "psutil", "numpy", "libcst"} & loaded


def test_engine_alone(tmp_path: Path) -> None:
    """What a page in a browser would import."""
    (tmp_path / "train.py").write_bytes(PROGRAM)
    program = (
        "from flake8_torchmp import engine\n"
        "from flake8_torchmp.settings import Settings\n"
        "assert 'TMP301' in [one.code for _, found, _ in engine.check(['train.py'], Settings()) for one in found]\n"
    )
    assert imported("-c", program, folder=tmp_path) & (HEAVY | {"argparse", "flake8", "subprocess"}) == set()
