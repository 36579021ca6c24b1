"""Fixes the fixtures and runs them for real: what failed has to end well, what ended well has to go on doing so.

One in four runs by default, under one of its start methods: always the same ones. With FIXTURE_STARTS=all in the
environment all of them run under all of their start methods, which takes long.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fixes.mending import mended_in
from fixture_format import Fixture, fixtures
from running import run
from test_fixtures_run import one_start, report

from flake8_torchmp import rules

if TYPE_CHECKING:
    from flake8_torchmp.fixes.engine import Outcome

FIXABLE = {rule.code for rule in rules.all_rules() if rule.fix}
STILL_FAIL = {
    "tmp202/early_exit_before_worker_code": "moved up, the function still stands in a module that ends the child",
    "tmp603/exit_in_getitem": "the worker says what is wrong with its sample instead of ending",
    "tmp603/system_exit_in_collate": "the worker says what is wrong with its batch instead of ending",
    "tmp501/other_launcher": "the program starts itself once more, in another folder",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = os.environ.get("FIXTURE_STARTS") == "all"
    runs = [
        pytest.param(program, start, id=f"{program.name}-{start}")
        for program in fixtures()
        if FIXABLE & {one.code for one in program.expected} and program.name not in STILL_FAIL
        for start in (program.head.starts if every else one_start(program))
        if every or zlib.crc32(program.name.encode()) % 4 == 0
    ]
    metafunc.parametrize("program, start", runs)


def test_fixed_it_ends_well(program: Fixture, start: str, tmp_path: Path) -> None:
    outcome = _mend(program, tmp_path)
    if not outcome.files:
        pytest.skip("no fix changes it")
    if outcome.left and program.head.ends != "well":
        pytest.skip("some of its findings have no fix")
    ended, output = run(program.main, tmp_path, start)
    if ended != "well":
        text = "\n".join(f"--- {path.name}\n{path.read_text()}" for path in sorted(tmp_path.rglob("*.py")))
        pytest.fail(report(program, start, f"fixed, it {ended}\n{text}", output), pytrace=False)


def _mend(program: Fixture, folder: Path) -> Outcome:
    program.copy(folder)
    (folder / "setup.cfg").touch()
    outcome = mended_in(Path(os.path.realpath(folder)), unsafe=True)
    for path, (_, new) in outcome.files.items():
        Path(path).write_bytes(new)
    return outcome
