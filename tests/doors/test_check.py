from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from doors import stand_in_engine

from flake8_torchmp.__main__ import main
from flake8_torchmp.cli.output import Progress

if TYPE_CHECKING:
    from doors.calling import Command, Project

    from flake8_torchmp.findings import Finding


def _standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


class TestExitCodes:
    def test_nothing_found(self, project: Project, torchmp: Command) -> None:
        project(a_py="x = 1\n")
        result = torchmp("check")
        assert (result.code, result.out, result.err) == (0, "", "")

    def test_findings(self, project: Project, torchmp: Command) -> None:
        project(b_py="x = bad_TMP301\n", a_py="if x:\n  bad_TMP302\n")
        result = torchmp("check")
        assert result.code == 1
        assert result.lines == [
            "./a.py:2:3: TMP302 bad_TMP302 reaches a worker",
            "./b.py:1:5: TMP301 bad_TMP301 reaches a worker",
        ]
        assert torchmp("check", "--exit-zero").code == 0

    def test_a_file_that_cannot_be_checked(self, project: Project, torchmp: Command) -> None:
        project(a_py="def f(:\n", b_py=b"x = '\xe9'\n", c_py="x = 1\n")
        result = torchmp("check")
        assert result.code == 1
        assert [line.split(": ")[0] for line in result.err.splitlines()] == ["./a.py", "./b.py"]
        assert torchmp("check", "--exit-zero").code == 0

    def test_findings_go_before_what_could_not_be_checked(self, project: Project, torchmp: Command) -> None:
        project(a_py="def f(:\n", b_py="bad_TMP301\n")
        result = torchmp("check")
        assert result.code == 1
        assert len(result.lines) == len(result.err.splitlines()) == 1

    def test_a_path_that_does_not_exist(self, project: Project, torchmp: Command) -> None:
        project(a_py="x = 1\n")
        result = torchmp("check", "missing", "a.py")
        assert (result.code, result.err) == (2, "missing: No such file or directory\n")

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("chek",),
            ("check", "--no-such-option"),
            ("check", "--jobs=0"),
            ("check", "--jobs=many"),
            ("check", "--format=pretty"),
            ("check", "--select=E501"),
            ("check", "--per-file-ignores=a.py"),
            ("check", "--target-python=2.7"),
            ("check", "--output-file=a.py/x"),
        ],
    )
    def test_wrong_options(self, arguments: tuple[str, ...], project: Project, torchmp: Command) -> None:
        project(a_py="x = 1\n")
        result = torchmp(*arguments)
        assert result.code == 2
        assert "error: " in result.err
        assert "Traceback" not in result.err

    def test_no_files_at_all(self, project: Project, torchmp: Command) -> None:
        project()
        result = torchmp("check")
        assert (result.code, result.err) == (0, "torchmp: no Python files to check\n")


def test_a_finding_is_reported_once(project: Project, torchmp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    project(a_py="bad_TMP301\n")
    find = stand_in_engine.Project.findings
    monkeypatch.setattr(stand_in_engine.Project, "findings", lambda *given: find(*given) * 2)
    assert len(torchmp("check", ".", "a.py", "./a.py").lines) == 1


def test_noqa_silences_unless_it_is_disabled(project: Project, torchmp: Command) -> None:
    project(
        a_py="bad_TMP301  # noqa: TMP301\nbad_TMP301  # noqa: TMP302\nf(\n  bad_TMP301,\n)  # noqa\n",
        b_py="# flake8: noqa\nbad_TMP301\n",
    )
    assert [line.split(":")[:2] for line in torchmp("check").lines] == [["./a.py", "2"], ["./a.py", "4"]]
    assert len(torchmp("check", "--disable-noqa").lines) == 4


def test_files_are_configured_by_their_own_project(project: Project, torchmp: Command) -> None:
    project(
        a__pyproject_toml="[tool.torchmp]\ntarget-torch = '2.4'\nextend-exclude = ['gen.py']\n",
        b__pyproject_toml="[tool.torchmp]\nignore = ['TMP301']\n",
        a__x_py="settings_here\n",
        a__gen_py="bad_TMP301\n",
        b__x_py="bad_TMP301\nbad_TMP302\n",
        c_py="bad_TMP301\n",
    )
    lines = torchmp("check", "c.py", "b", "a").lines
    assert [line.split(": ")[0] for line in lines] == ["a/x.py:1:1", "b/x.py:2:1", "c.py:1:1"]
    assert "target_torch='2.4'" in lines[0]
    assert "target_torch='2.6'" in torchmp("check", "a", "--target-torch=2.6").lines[0]


def test_standard_input_stands_for_the_file_it_is_named_after(
    project: Project, torchmp: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(src__train_py="x = 1\n", src__helper_py="unpicklable\n")
    text = b"\xef\xbb\xbfasks_helper\nbad_TMP302  # noqa\n"
    for arguments in (("-", "--stdin-filename=src/train.py"), ("--stdin-filename", "src/train.py")):
        _standard_input(monkeypatch, text)
        result = torchmp("check", *arguments)
        assert result.lines == ["src/train.py:1:1: TMP301 asks_helper reaches a worker"]
    _standard_input(monkeypatch, text)
    assert torchmp("check", "-").out == ""
    _standard_input(monkeypatch, b"bad_TMP301\n")
    assert torchmp("check", "-").lines == ["stdin:1:1: TMP301 bad_TMP301 reaches a worker"]
    _standard_input(monkeypatch, b"bad_TMP301\n")
    assert torchmp("check", "-", "--stdin-filename=x.egg/a.py", "--exclude=x.egg,a.py").out == ""
    _standard_input(monkeypatch, b"bad_TMP301\n")
    assert "^^^^^^^^^^" in torchmp("check", "-", "--format=full").out


def test_statistics_count_codes(project: Project, torchmp: Command) -> None:
    project(a_py="bad_TMP302\nbad_TMP301\nbad_TMP302\n")
    assert torchmp("check", "--statistics").lines[-2:] == [
        "1     TMP301 bad_TMP301 reaches a worker",
        "2     TMP302 bad_TMP302 reaches a worker",
    ]
    machine = torchmp("check", "--statistics", "--format=json")
    json.loads(machine.out)
    assert "2     TMP302" in machine.err


def test_an_output_file_gets_the_report_and_nothing_else_does(project: Project, torchmp: Command) -> None:
    folder = project(a_py="bad_TMP301\n")
    result = torchmp("check", "--output-file=reports/out.json", "--format=json")
    assert (result.code, result.out) == (1, "")
    assert json.loads((folder / "reports" / "out.json").read_text())["findings"][0]["code"] == "TMP301"
    assert torchmp("check", f"--output-file={os.devnull}").code == 1
    assert not os.path.isfile(os.devnull)


def test_few_files_start_no_processes(project: Project, torchmp: Command) -> None:
    project(**{f"m{number}_py": "" for number in range(19)})
    torchmp("check", "--jobs=8")
    project(more_py="")
    torchmp("check", "--jobs=8")
    torchmp("check", "--jobs=1")
    torchmp("check")
    assert [1, 8, 1, os.cpu_count()] == stand_in_engine.JOBS


def test_answers_are_kept_unless_told_otherwise(project: Project, torchmp: Command) -> None:
    project(a_py="x = 1\n")
    torchmp("check")
    torchmp("check", "--cache-dir=kept")
    torchmp("check", "--no-cache")
    torchmp("noqa")
    folders = [cache.folder if cache is not None else None for cache in stand_in_engine.CACHES]
    assert folders == ["", "kept", None, None]


def test_progress_shows_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(Progress, "_INTERVAL", 0.0)
    for stream, expected in (
        (Terminal(), "\rchecked 1 of 3 files\rchecked 3 of 3 files\r                    \r"),
        (io.StringIO(), ""),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress(3) as progress:
            progress.count(1, 2)
            progress.add(2)
            progress.count(1, 1)
        assert stream.getvalue() == expected


def _run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "flake8_torchmp", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, check=False)


def test_a_reader_that_goes_away_is_no_crash(project: Project, environment: dict[str, str]) -> None:
    project(a_py="bad_TMP301\n" * 20_000)
    command = [sys.executable, "-m", "flake8_torchmp", "check"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout and running.stderr
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 1


def test_a_file_that_vanishes_in_between_is_no_crash(
    project: Project, torchmp: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(a_py="bad_TMP301\n", b_py="x\n")
    find = stand_in_engine.Project.findings

    def find_and_delete(self: stand_in_engine.Project, path: str) -> list[Finding]:
        found = find(self, path)
        for name in ("a.py", "b.py"):
            (folder / name).unlink(missing_ok=True)
        return found

    monkeypatch.setattr(stand_in_engine.Project, "findings", find_and_delete)
    result = torchmp("check", "--format=full")
    assert result.lines == ["./a.py:1:1: TMP301 bad_TMP301 reaches a worker", *_way("./a.py")]
    assert result.err == "./b.py: No such file or directory\n"


def _way(path: str) -> list[str]:
    return [f"  = bad_TMP301               {path}:1", f"  → DataLoader(collate_fn=)  {path}:1"]


def test_an_interruption_is_one_line(project: Project, torchmp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    project(a_py="x\n")
    monkeypatch.setattr(stand_in_engine.Project, "findings", interrupt)
    result = torchmp("check")
    assert (result.code, result.err) == (130, "torchmp: interrupted\n")


def test_a_defect_of_the_tool_is_told_from_findings(project: Project, torchmp: Command) -> None:
    project(a_py="crash_here\n")
    result = torchmp("check")
    assert (result.code, result.out) == (2, "")
    assert "a rule of the stand-in" in result.err
    assert result.err.endswith("torchmp: error: this is a defect of torchmp, which had to stop\n")


def test_an_old_terminal_gets_all_findings(project: Project, environment: dict[str, str]) -> None:
    project(ä_py="x = 'é'; bad_TMP301\n")
    ran = _run({**environment, "PYTHONIOENCODING": "ascii"}, "check", "--format=full")
    assert (ran.returncode, ran.stderr) == (1, b"")
    assert ran.stdout.startswith(b"./\\xe4.py:1:10: TMP301")


def test_the_module_is_the_command(project: Project, environment: dict[str, str]) -> None:
    from flake8_torchmp import __version__

    project(a_py="bad_TMP301\n")
    assert _run(environment, "--version").stdout.decode().split() == ["torchmp", __version__]
    assert _run(environment, "check", "--version").returncode == 2
    assert _run(environment, "check", "a.py").stdout.decode().split() == [
        "a.py:1:1:",
        "TMP301",
        "bad_TMP301",
        "reaches",
        "a",
        "worker",
    ]
    assert b"exit codes:" in _run(environment, "check", "--help").stdout


def test_the_command_takes_what_the_shell_gives(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(a_py="bad_TMP301\n")
    for arguments, code, start in ((["-V"], 0, "torchmp "), (["check", "--format=sarif", "--jobs=auto"], 1, "{")):
        monkeypatch.setattr(sys, "argv", ["torchmp", *arguments])
        assert main() == code
        assert capsys.readouterr().out.startswith(start)


HEAVY = ("libcst", "torch", "multiprocessing", "subprocess", "sqlite3", "asyncio", "inspect", "dataclasses", "flake8")


@pytest.mark.parametrize("arguments", [("--version",), ("check", "a.py")])
def test_nothing_heavy_is_imported(arguments: tuple[str, ...], project: Project, environment: dict[str, str]) -> None:
    project(a_py="x = 1\n", pyproject_toml="[project]\nname = 'x'\n")
    program = (
        f"import sys; sys.argv = ['torchmp', *{arguments!r}]; from flake8_torchmp.__main__ import main; main();"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), 'argparse' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == f"[] {arguments[0] == 'check'}"


class TestRules:
    def test_are_listed(self, torchmp: Command) -> None:
        result = torchmp("rules")
        assert result.code == 0
        assert result.lines[0].split() == ["CODE", "NAME", "FIX", "SUMMARY"]
        assert result.lines[1].split(maxsplit=3) == ["TMP301", "lambda-to-worker", "safe", "a lambda reaches a worker"]
        assert result.lines[3].endswith("a cache for each worker (off by default)")

    def test_are_data(self, torchmp: Command) -> None:
        rules = json.loads(torchmp("rules", "--format=json").out)
        assert [rule["code"] for rule in rules] == ["TMP301", "TMP302", "TMP902"]
        assert set(rules[0]) == {"code", "name", "summary", "fix", "since", "default", "page"}

    @pytest.mark.parametrize("name", ["TMP301", "tmp301", "lambda-to-worker"])
    def test_have_a_page(self, name: str, torchmp: Command) -> None:
        result = torchmp("rule", name)
        assert (result.code, result.out) == (0, "# TMP301\n\nWhy *lambdas* fail.\n")

    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            ("TMP303", "did you mean TMP30"),
            ("lambda-to-workers", "did you mean TMP301 (lambda-to-worker)?"),
            ("zzz", "see torchmp rules"),
        ],
    )
    def test_that_do_not_exist_are_guessed(self, name: str, hint: str, torchmp: Command) -> None:
        result = torchmp("rule", name)
        assert (result.code, result.out) == (2, "")
        assert f"there is no rule {name}; {hint}" in result.err


def test_paths_are_shown_as_they_were_named(project: Project, torchmp: Command) -> None:
    folder = project(a__x_py="bad_TMP301\n")
    assert torchmp("check", str(folder / "a")).lines[0].startswith(str(folder / "a" / "x.py"))
    way = json.loads(torchmp("check", "a", "--format=json").out)["findings"][0]["way"]
    assert [step["path"] for step in way] == [str(Path("a/x.py"))] * 2
    way = json.loads(torchmp("check", "--format=json").out)["findings"][0]["way"]
    assert [step["path"] for step in way] == [os.path.join(".", "a", "x.py")] * 2


_TWO_WORKERS = """\
import multiprocessing, sys, time
from pathlib import Path
from flake8_torchmp.engine import Project
from flake8_torchmp.parallel import Processes
from flake8_torchmp.settings import Settings
answers = Processes(Project(Path(sys.argv[1]), Settings()), 2).findings_of(sys.argv[2:] * 20)
next(answers)
print(*[child.pid for child in multiprocessing.active_children()], flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    command = [sys.executable, "-c", _TWO_WORKERS, str(tmp_path), str(tmp_path / "train.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        children = process.stdout.readline().split()
        process.kill()
    assert len(children) == 2
    wait_until = time.monotonic() + 30
    while any(map(_lives, children)) and time.monotonic() < wait_until:
        time.sleep(0.1)
    assert not any(map(_lives, children))


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
