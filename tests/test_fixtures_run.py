"""Runs the fixtures for real: a bad one has to fail as it says, a near miss to run.

Running everything takes long. By default each fixture of an existing rule runs under one of the start methods that it
names: fork, or one that imports the program anew. With FIXTURE_STARTS=all in the environment, every fixture runs under
every start method that it names.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

import pytest
from fixture_format import Fixture, fixtures
from running import LONG, run

from flake8_torchmp import rules


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "start" not in metafunc.fixturenames:
        return
    every = os.environ.get("FIXTURE_STARTS") == "all"
    codes = {rule.code for rule in rules.all_rules()}
    runs = [
        pytest.param(program, start, id=f"{program.name}-{start}")
        for program in fixtures()
        if every or program.code in codes
        for start in (program.head.starts if every else one_start(program))
    ]
    metafunc.parametrize("program, start", runs)


def one_start(program: Fixture) -> list[str]:
    """The same start method in each run, and all of them over the fixtures."""
    named = program.head.starts
    different = [start for start in named if start != "spawn" or "forkserver" not in named]
    return different and [different[zlib.crc32(program.name.encode()) % len(different)]]


def test_runs_as_it_says(program: Fixture, start: str, tmp_path: Path) -> None:
    program.copy(tmp_path)
    patience = program.head.patience if program.head.ends == "hangs" else LONG
    ended, output = run(program.main, tmp_path, start, patience)
    if ended != program.head.ends:
        pytest.fail(report(program, start, f"wanted: {program.head.ends}, was: {ended}", output), pytrace=False)
    if ended == "fails" and not re.search(program.head.shows, output):
        pytest.fail(report(program, start, f"failed, but not with: {program.head.shows}", output), pytrace=False)


def report(program: Fixture, start: str, why: str, output: str) -> str:
    return f"{program.name} under {start}: {why}\n{program.listing()}\n--- output\n{output[-3000:]}"
