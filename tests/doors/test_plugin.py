from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from doors import stand_in_engine
from doors.calling import plugin_arguments

from flake8_torchmp.plugin import Plugin

if TYPE_CHECKING:
    from pathlib import Path

    from doors.calling import Command, Project


def test_findings_are_reported_with_columns_from_one(project: Project, flake8: Command) -> None:
    project(a_py="x = 'é漢', bad_TMP301\n")
    result = flake8("a.py")
    assert (result.code, result.lines) == (1, ["a.py:1:11: TMP301 bad_TMP301 reaches a worker"])


def test_a_finding_is_reported_once(project: Project, flake8: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    project(a_py="bad_TMP301; bad_TMP302\n")
    find = stand_in_engine.Project.findings
    monkeypatch.setattr(stand_in_engine.Project, "findings", lambda *given: find(*given) * 2)
    assert len(flake8("a.py").lines) == 2


def test_noqa_silences(project: Project, flake8: Command) -> None:
    project(a_py="bad_TMP301  # noqa: TMP3\nbad_TMP301  # noqa: TMP4\n")
    assert [line.split(":")[1] for line in flake8("a.py").lines] == ["2"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ((), False),
        (("--select=TMP",), False),
        (("--ignore=E1",), False),
        (("--extend-select=TMP",), False),
        (("--extend-select=TMP9",), True),
        (("--select=TMP9",), True),
        (("--extend-select=TMP902",), True),
        (("--extend-select=TMP901",), False),
    ],
)
def test_a_rule_that_is_off_by_default_needs_a_prefix_of_its_own(
    arguments: tuple[str, ...], shown: bool, project: Project, flake8: Command
) -> None:
    project(a_py="bad_TMP902\n")
    assert bool(flake8("a.py", *arguments).lines) == shown


def test_options_come_from_the_command_line_then_flake8_then_pyproject(project: Project, flake8: Command) -> None:
    folder = project(
        a_py="settings_here\n",
        pyproject_toml="[tool.torchmp]\ntarget-torch = '2.4'\nstart-method = 'forkserver'\nloaders = ['a.b']\n",
        setup_cfg="[flake8]\ntorchmp-start-method = spawn\ntorchmp_loaders =\n    c.d,\n    e.f\n",
    )
    (folder / ".git").mkdir()
    out = flake8("a.py", "--torchmp-loaders=g.h", "--torchmp-target-platforms=windows").out
    assert "target_torch='2.4'" in out
    assert "start_method='spawn'" in out
    assert "loaders=('g.h',)" in out
    assert "target_platforms=('windows',)" in out
    assert "loaders=('c.d', 'e.f')" in flake8("a.py").out


@pytest.mark.parametrize("where", ["command line", "configuration"])
def test_a_wrong_option_is_one_line_of_flake8(where: str, project: Project, flake8: Command) -> None:
    project(
        a_py="bad_TMP301\n", setup_cfg="[flake8]\ntorchmp-start-method = fork\n" if where == "configuration" else ""
    )
    result = flake8("a.py", *(["--torchmp-start-method=fork"] if where == "command line" else []))
    assert result.code == 1
    assert "torchmp-start-method: 'fork' is not one of spawn, forkserver" in result.out
    assert "Traceback" not in result.out + result.err


def test_a_wrong_configuration_further_down_is_a_finding(project: Project, flake8: Command) -> None:
    project(sub__deep__a_py="bad_TMP301\n", sub__deep__pyproject_toml="[tool.torchmp]\nx = 1\n", b_py="bad_TMP301\n")
    lines = flake8(".").lines
    assert lines[0].startswith("./b.py:1:1: TMP301")
    assert lines[1].startswith("./sub/deep/a.py:1:1: TMP000 sub/deep/pyproject.toml: tool.torchmp.x: unknown key")


def test_a_crash_is_a_finding_and_the_run_goes_on(project: Project, flake8: Command) -> None:
    project(a_py="x = 1\ncrash_here\n", b_py="bad_TMP301\n")
    result = flake8("a.py", "b.py")
    assert result.lines[0] == "a.py:1:1: TMP000 the check of this file failed with KeyError; see standard error"
    assert len(result.lines) == 2
    assert "a rule of the stand-in" in result.err


def test_a_broken_installation_does_not_stop_flake8(
    project: Project, flake8: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(a_py="import os\n")
    monkeypatch.setitem(sys.modules, "flake8_torchmp.engine", None)
    result = flake8("a.py", "--extend-ignore=E")
    assert "F401" in result.out
    assert "TMP000" in result.out


def test_files_in_other_encodings_are_checked(project: Project, flake8: Command) -> None:
    project(
        a_py="# coding: latin-1\nx = 'café', bad_TMP301\n".encode("latin-1"),
        b_py=b"\xef\xbb\xbfx = 1\r\nbad_TMP301\r\n",
        c_py=b"x = '\xe9'; bad_TMP301\n",
        d_py=b"",
    )
    places = [line.rsplit(":", 1)[0] for line in flake8("a.py", "b.py", "d.py").lines]
    assert places == ["a.py:2:13", "b.py:2:1"]
    assert "Traceback" not in flake8("c.py").err


def test_the_plugin_needs_no_options() -> None:
    text = "bad_TMP301\n"
    assert [found[:3] for found in Plugin(ast.parse(text), [text], "stdin").run()] == [
        (1, 0, "TMP301 bad_TMP301 reaches a worker")
    ]
    assert list(Plugin(ast.parse(""), [], "x.py", argparse.Namespace()).run()) == []


@pytest.fixture
def program(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(environment, tmp_path_factory.mktemp("plugin"))


class Program:
    """flake8 in processes of its own."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self._environment, self._loading = environment, plugin_arguments(folder)

    def __call__(self, *arguments: str, given: bytes | None = None, start: str = "") -> list[str]:
        ran = subprocess.run(
            [sys.executable, "-m", "flake8", *self._loading, *arguments],
            env={**self._environment, "START_METHOD": start},
            input=given,
            capture_output=True,
            check=False,
        )
        assert ran.stderr == b""
        return ran.stdout.decode().splitlines()


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_more_processes_find_the_same(start: str, project: Project, program: Program) -> None:
    if start != "spawn" and sys.platform == "win32":
        pytest.skip("Windows can only spawn")
    project(a_py="settings_here\nbad_TMP902\n", b_py="bad_TMP301\n", c_py="asks_helper\n", helper_py="unpicklable\n")
    arguments = (".", "--torchmp-target-torch=2.7", "--extend-select=TMP9")
    alone = program("-j1", *arguments)
    assert len(alone) == 4
    assert "target_torch='2.7'" in alone[0]
    assert program("-j2", *arguments, start=start) == alone


def test_standard_input_stands_for_the_file_it_is_named_after(project: Project, program: Program) -> None:
    project(src__train_py="x = 1\n", src__helper_py="unpicklable\n")
    given = b"\xef\xbb\xbfasks_helper\n"
    assert program("-", "--stdin-display-name=src/train.py", given=given) == [
        "src/train.py:1:1: TMP301 asks_helper reaches a worker"
    ]
    assert program("-", given=given) == []
    assert program("-", given=b"bad_TMP301\n") == ["stdin:1:1: TMP301 bad_TMP301 reaches a worker"]


def test_both_doors_report_the_same(project: Project, flake8: Command, torchmp: Command) -> None:
    project(
        a_py="bad_TMP301  # noqa\nbad_TMP302\nbad_TMP902\n",
        sub__b_py="# flake8: noqa\nbad_TMP301\n",
        sub__c_py="x = '漢'; bad_TMP301; bad_TMP301\n",
    )
    for arguments in ((), (".",), ("sub", "a.py"), ("--ignore=TMP302", "--extend-select=TMP9"), ("--disable-noqa",)):
        assert flake8(*arguments).out == torchmp("check", *arguments).out
