from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from flake8_torchmp.options import COMMAND, OPTIONS, SETTINGS
from flake8_torchmp.options.configuration import Configurations
from flake8_torchmp.options.versions import pythons_allowed
from flake8_torchmp.settings import PYTHONS, Settings

if TYPE_CHECKING:
    from doors.calling import Command, Project


@pytest.mark.parametrize(
    ("specifier", "allowed"),
    [
        (">=3.12", "3.12 3.13 3.14 3.15"),
        (">=3.10,<3.12", "3.10 3.11"),
        (" >= 3.11.4 , < 3.13 ", "3.11 3.12"),
        (">3.11", "3.11 3.12 3.13 3.14 3.15"),
        ("<=3.11", "3.10 3.11"),
        ("==3.12.*", "3.12"),
        ("==3.12", "3.12"),
        ("==3.12.7", "3.12"),
        ("===3.13", "3.13"),
        ("~=3.13", "3.13 3.14 3.15"),
        ("~=3.12.1", "3.12"),
        (">=3.12,!=3.13.*", "3.12 3.14 3.15"),
        (">=3.12,!=3.12.3", "3.12 3.13 3.14 3.15"),
        (">=3.8", " ".join(PYTHONS)),
        (">=3.7,<3.10", "3.10"),
        (">=3.16", "3.15"),
        (">=3.12.0rc1", "3.12 3.13 3.14 3.15"),
        ("<3", ""),
        ("", ""),
        ("^3.10", ""),
        ("three", ""),
    ],
)
def test_a_specifier_allows_python_versions(specifier: str, allowed: str) -> None:
    assert " ".join(pythons_allowed(specifier)) == allowed


def test_every_field_of_the_settings_is_an_option_but_those_that_commands_choose() -> None:
    chosen_by_commands = {"codes": ()}
    assert (*(option.attribute for option in SETTINGS), *chosen_by_commands) == Settings._fields
    assert {option.attribute: option.default for option in SETTINGS} | chosen_by_commands == Settings()._asdict()


def test_every_option_is_explained() -> None:
    for option in OPTIONS:
        assert option.help and option.metavar.isupper()
    assert len({option.name for option in OPTIONS}) == len(SETTINGS) + len(COMMAND)


def test_every_option_can_stand_in_pyproject(project: Project) -> None:
    folder = project(
        pyproject_toml="""
[tool.torchmp]
target-python = ">=3.13"
target_platforms = ["windows", "linux"]
target-torch = "2.4"
dataset-bases = ["base.Dataset"]
worker-functions = "pkg.work, pkg.jobs.*"
loaders = ["pkg.make_loader"]
source-roots = ["lib"]
start-method = "forkserver"
select = ["TMP3"]
ignore = ["TMP301"]
extend-select = ["TMP9"]
extend-ignore = ["TMP302"]
per-file-ignores = { "tests/*" = ["TMP1"], "x.py" = "TMP2,TMP3" }
exclude = ["old"]
extend-exclude = ["gen/*"]
format = "json"
"""
    )
    configuration = Configurations().for_folder(str(folder))
    assert configuration.settings == Settings(
        target_python=("3.13", "3.14", "3.15"),
        target_platforms=("linux", "windows"),
        target_torch="2.4",
        dataset_bases=("base.Dataset",),
        worker_functions=("pkg.work", "pkg.jobs.*"),
        loaders=("pkg.make_loader",),
        source_roots=("lib",),
        start_method="forkserver",
    )
    assert configuration.value("per-file-ignores") == {f"{folder}/tests/*": ("TMP1",), "x.py": ("TMP2", "TMP3")}
    assert configuration.value("extend-exclude") == (f"{folder}/gen/*",)
    assert {configuration.chosen[option.name].origin for option in OPTIONS} >= {"pyproject.toml: tool.torchmp.select"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "target-pyton = '3.10'",
            "pyproject.toml: tool.torchmp.target-pyton: unknown key; did you mean target-python?",
        ),
        ("zzz = 1", "pyproject.toml: tool.torchmp.zzz: unknown key (known: target-python,"),
        ("target-python = ['3.9']", "pyproject.toml: tool.torchmp.target-python: '3.9' is not one of 3.10, 3.11"),
        ("target-python = 3.10", "expected a list of texts in quotes, found 3.1"),
        ("target-python = '>=4'", "is not one of"),
        ("target-python = []", "tool.torchmp.target-python: names nothing"),
        ("target-platforms = ['beos']", "'beos' is not one of linux, macos, windows"),
        ("target-torch = 2", "tool.torchmp.target-torch: expected a text in quotes, found 2"),
        ("target-torch = 'new'", "'new' is not a version such as 2.4"),
        ("start-method = 'fork'", "'fork' is not one of spawn, forkserver"),
        ("loaders = ['a b']", "'a b' is not a dotted name"),
        ("select = ['E501']", "'E501' is not a code of torchmp"),
        ("per-file-ignores = 'a.py'", "expected pairs such as `tests/*:TMP301,TMP302`, found 'a.py'"),
        ("per-file-ignores = {'a.py' = ['X1']}", "'X1' is not a code"),
        ("select = ['TMP1']\nselect = ['TMP2']", "pyproject.toml: no valid TOML: "),
        ("target-torch = '2.4'\ntarget_torch = '2.5'", "tool.torchmp.target_torch: given twice, with - and with _"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_file_by_both_doors(
    text: str, problem: str, project: Project, torchmp: Command, flake8: Command
) -> None:
    project(pyproject_toml=f"[tool.torchmp]\n{text}\n", a_py="bad_TMP301\n")
    checked = torchmp("check")
    assert checked.code == 2
    assert problem in checked.err
    assert len(checked.err.splitlines()) == 1
    assert problem in torchmp("config").err
    linted = flake8("a.py")
    assert linted.code == 1
    assert problem in linted.out
    assert "Traceback" not in linted.out + linted.err


def test_a_table_must_be_a_table(project: Project, torchmp: Command) -> None:
    project(pyproject_toml="[tool]\ntorchmp = 3\n")
    assert "tool.torchmp: expected a table, found 3" in torchmp("check").err


def test_a_broken_pyproject_of_others_is_theirs(project: Project) -> None:
    folder = project(pyproject_toml="requires-python = [[[\n")
    assert Configurations().for_folder(str(folder)).settings == Settings()


def test_a_broken_setup_cfg_of_others_is_theirs(project: Project) -> None:
    folder = project(setup_cfg="python_requires = >=3.14\n")
    assert Configurations().for_folder(str(folder)).settings == Settings()


def test_a_named_configuration_may_say_nothing(project: Project, torchmp: Command) -> None:
    project(empty_toml="", a_py="bad_TMP301\n")
    assert torchmp("check", "--config=empty.toml").code == 1


def test_the_python_versions_come_from_what_the_project_states(project: Project) -> None:
    folder = project(
        pyproject_toml="[project]\nname = 'x'\nrequires-python = '>=3.14'\n",
        old__setup_cfg="[options]\npython_requires = >=3.11,<3.13\n",
        both__pyproject_toml="[project]\nrequires-python = '>=3.14'\n[tool.torchmp]\ntarget-python = ['3.10']\n",
    )
    (folder / ".git").mkdir()
    configurations = Configurations()
    assert configurations.for_folder(str(folder)).settings.target_python == ("3.14", "3.15")
    assert configurations.for_folder(str(folder / "old")).settings.target_python == ("3.11", "3.12")
    assert configurations.for_folder(str(folder / "both")).settings.target_python == ("3.10",)
    origin = configurations.for_folder(str(folder / "old")).chosen["target-python"].origin
    assert origin == "old/setup.cfg: options.python_requires = '>=3.11,<3.13'"


def test_the_nearest_table_counts_up_to_the_root_of_the_project(project: Project) -> None:
    folder = project(
        pyproject_toml="[tool.torchmp]\ntarget-torch = '2.1'\n",
        repo__pyproject_toml="[tool.torchmp]\ntarget-torch = '2.2'\n",
        repo__a__pyproject_toml="[tool.torchmp]\ntarget-torch = '2.3'\n",
        repo__b__pyproject_toml="[tool.other]\n",
        outside__x_py="",
    )
    (folder / "repo" / ".git").mkdir()
    (folder / "outside" / ".git").mkdir()
    configurations = Configurations()

    def torch(name: str) -> str:
        return configurations.for_file(str(folder / name / "x.py")).settings.target_torch

    assert (torch("repo"), torch("repo/a"), torch("repo/b"), torch("repo/b/c/d")) == ("2.2", "2.3", "2.2", "2.2")
    assert torch("outside") == Settings().target_torch
    assert configurations.for_folder(str(folder / "repo")) is configurations.for_folder(str(folder / "repo" / "b"))


def test_a_toml_reader_is_loaded_only_where_it_is_needed(project: Project, environment: dict[str, str]) -> None:
    import subprocess
    import sys

    folder = project(pyproject_toml="[project]\nname = 'x'\n[tool.ruff]\n", setup_cfg="[flake8]\n")
    program = (
        "import sys; from flake8_torchmp.options.configuration import Configurations;"
        f"Configurations().for_folder({str(folder)!r});"
        "print(sorted({'tomllib', 'tomli', 'configparser', 'argparse', 'difflib', 'dataclasses'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_the_command_says_what_is_in_force_and_why(project: Project, torchmp: Command) -> None:
    folder = project(
        pyproject_toml="[project]\nrequires-python = '>=3.14'\n[tool.torchmp]\ntarget-torch = '2.4'\n",
        sub__pyproject_toml="[tool.torchmp]\nper-file-ignores = {'a.py' = ['TMP3']}\n",
    )
    (folder / ".git").mkdir()
    shown = torchmp("config", "--start-method=forkserver")
    assert shown.code == 0
    assert shown.lines[:2] == [f"# project: {folder}", "# configuration: pyproject.toml"]
    assert 'target-torch = "2.4"  # pyproject.toml: tool.torchmp.target-torch' in shown.lines
    assert 'target-python = ["3.14", "3.15"]  # pyproject.toml: project.requires-python = \'>=3.14\'' in shown.lines
    assert 'start-method = "forkserver"  # --start-method' in shown.lines
    assert "loaders = []  # default" in shown.lines
    inner = torchmp("config", os.path.join("sub", "x.py"))
    assert 'per-file-ignores = {"a.py" = ["TMP3"]}  # sub/pyproject.toml: tool.torchmp.per-file-ignores' in inner.lines


def test_a_named_configuration_counts_for_every_file(project: Project, torchmp: Command) -> None:
    project(
        pyproject_toml="[tool.torchmp]\nselect = ['TMP302']\n",
        other_toml="[tool.torchmp]\nselect = ['TMP301']\n",
        a_py="bad_TMP301\nbad_TMP302\n",
    )
    assert "TMP301" in torchmp("check", "--config", "other.toml").out
    assert "TMP302" not in torchmp("check", "--config", "other.toml").out
    missing = torchmp("check", "--config", "missing.toml")
    assert (missing.code, missing.err) == (2, "torchmp: error: missing.toml: No such file or directory\n")
