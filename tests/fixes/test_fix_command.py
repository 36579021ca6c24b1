"""`torchmp fix` as people run it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flake8_torchmp.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable

    Torchmp = Callable[..., tuple[int, str, str]]

HEAD = """\
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, root):
        self.root = root

    def __getitem__(self, index):
        return open(f"{self.root}/{index}.txt").read()


"""
BAD = f'{HEAD}texts = Texts("data/train")\n'
GOOD = f'import os\n\n{HEAD}texts = Texts(os.path.abspath("data/train"))\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "setup.cfg").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def torchmp(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Torchmp:
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        said = capfdbinary.readouterr()
        return code, said.out.decode("latin-1"), said.err.decode()

    return call


def command(folder: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "flake8_torchmp", "fix", *arguments],
        cwd=folder,
        input=given,
        capture_output=True,
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "replace")


def test_fixes_and_says_what_it_did_and_what_is_left(folder: Path, torchmp: Torchmp) -> None:
    table = 'ROOTS = {"train": "data/train"}\nothers = Texts(ROOTS["train"])\n'
    (folder / "a.py").write_text(BAD + table)
    code, out, err = torchmp("fix")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "./a.py:12:15: TMP501 fixed: the path is made absolute",
        "./a.py:13:19: TMP501 left: its fix may change what the program does: --unsafe-fixes applies it",
        "1 finding fixed in 1 file, 1 left",
    ]
    assert (folder / "a.py").read_text() == GOOD + table
    code, out, err = torchmp("fix", "--unsafe-fixes", "--exit-non-zero-on-fix")
    assert code == 1
    assert "1 finding fixed in 1 file (1 unsafely), 0 left" in out
    code, out, err = torchmp("fix", "--unsafe-fixes", "--exit-non-zero-on-fix")
    assert (code, out) == (0, "0 findings fixed in 0 files, 0 left\n")


def test_comments_and_selection_hold(folder: Path, torchmp: Torchmp) -> None:
    silenced = BAD.replace('train")', 'train")  # noqa: TMP501')
    (folder / "a.py").write_text(silenced)
    (folder / "b.py").write_text(BAD)
    (folder / "c.py").write_text(f"# @{'generated'}\n{BAD}")
    assert "0 findings fixed" in torchmp("fix", "--ignore", "TMP501")[1]
    assert "0 findings fixed" in torchmp("fix", "--select", "TMP3")[1]
    assert "1 finding fixed in 1 file, 1 left" in torchmp("fix", "--select", "TMP501")[1]
    assert (folder / "a.py").read_text() == silenced
    assert (folder / "b.py").read_text() == GOOD
    assert (folder / "c.py").read_text() == f"# @{'generated'}\n{BAD}"


LAYOUTS = {
    "plain": BAD.encode(),
    "CRLF": BAD.replace("\n", "\r\n").encode(),
    "no line end at the end": BAD.rstrip().encode(),
    "CRLF, no line end": BAD.rstrip().replace("\n", "\r\n").encode(),
    "latin-1": b"# coding: latin-1\n# \xe4\n" + BAD.encode(),
    "byte-order mark": b"\xef\xbb\xbf" + BAD.encode(),
    "form feed": BAD.replace("\n\n\n", "\n\x0c\n\n").encode(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tool", ["git", "patch"])
def test_the_patch_makes_what_the_fix_writes(layout: str, tool: str, folder: Path, torchmp: Torchmp) -> None:
    names = ["a.py", "sub/my file.py", "sub/größe.py"]
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(LAYOUTS[layout])
    code, out, err = torchmp("fix", "--diff")
    assert code == 0
    assert "3 findings would be fixed in 3 files" in err
    assert all((folder / name).read_bytes() == LAYOUTS[layout] for name in names), "nothing is written"
    assert torchmp("fix", "--diff", "--exit-non-zero-on-fix")[0] == 1
    (folder / "p").write_bytes(out.encode("latin-1"))
    applying = (
        ["git", "apply", "--whitespace=nowarn", "p"] if tool == "git" else ["patch", "--binary", "-p1", "-i", "p"]
    )
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    done = subprocess.run(applying, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    by_patch = {name: (folder / name).read_bytes() for name in names}
    for name in names:
        (folder / name).write_bytes(LAYOUTS[layout])
    torchmp("fix")
    assert by_patch == {name: (folder / name).read_bytes() for name in names}
    assert all(data != LAYOUTS[layout] for data in by_patch.values())


def test_standard_input(folder: Path) -> None:
    data = LAYOUTS["latin-1"].replace(b"\n", b"\r\n")
    done = command(folder, "-", "--stdin-filename", "a.py", given=data)
    assert done.returncode == 0
    assert done.stdout == data.replace(b'"data/train"', b'os.path.abspath("data/train")').replace(
        b"from torch", b"import os\r\n\r\nfrom torch"
    )
    assert b"1 finding fixed" in done.stderr
    assert os.listdir(folder) == ["setup.cfg"]
    diff = command(folder, "-", "--stdin-filename", "a.py", "--diff", given=BAD.encode())
    assert diff.stdout.startswith(b"--- a/a.py\n+++ b/a.py\n")
    unchanged = command(folder, "-", given=b"x = 1\r\n")
    assert unchanged.stdout == b"x = 1\r\n"


def test_for_programs(folder: Path, torchmp: Torchmp) -> None:
    (folder / "a.py").write_text(BAD)
    said = json.loads(torchmp("fix", "--format", "json", "--diff")[1])
    assert [(one["path"], one["line"], one["code"], one["safe"]) for one in said["fixed"]] == [
        ("./a.py", 12, "TMP501", True)
    ]
    assert said["diff"].startswith("--- a/a.py\n")
    assert said["left"] == [] and said["files"] == ["./a.py"]


def test_the_summary_agrees_with_git(folder: Path, torchmp: Torchmp) -> None:
    for name in ("a.py", "b|c.py"):
        (folder / name).write_text(f'{BAD}ROOTS = {{"train": "data/train"}}\nothers = Texts(ROOTS["train"])\n')
    (folder / "d.py").write_text("def\n# DataLoader(\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    torchmp("fix", "--summary", "out/summary.md")
    text = (folder / "out/summary.md").read_text()
    assert "fixed 2 findings in 2 files and left 2" in text
    assert "2 files changed, 6 insertions(+), 2 deletions(-)" in git(folder, "diff", "--stat")
    assert "| TMP501 relative-path-to-dataset | 2 | 2 |" in text
    assert "| ./b\\|c.py:12 | TMP501 | the path is made absolute | yes |" in text
    assert "d.py: cannot be parsed" in text


def test_what_it_cannot_do(folder: Path, torchmp: Torchmp) -> None:
    (folder / "a.py").write_text(BAD)
    code, _, err = torchmp("fix", "missing", "a.py")
    assert (code, err) == (2, "missing: No such file or directory\n")
    assert (folder / "a.py").read_text() == GOOD, "the others are fixed"
    assert torchmp("fix", "--select", "nonsense")[0] == 2


def test_a_link_and_its_target_are_one_file(folder: Path, torchmp: Torchmp) -> None:
    (folder / "real.py").write_text(BAD)
    (folder / "also.py").symlink_to("real.py")
    assert "1 finding fixed in 1 file, 0 left" in torchmp("fix")[1]
    assert (folder / "real.py").read_text() == GOOD
    assert (folder / "also.py").is_symlink()


def test_many_files_and_processes(folder: Path) -> None:
    for number in range(25):
        (folder / f"m{number}.py").write_text(BAD)
    done = command(folder, "--jobs", "2")
    assert b"25 findings fixed in 25 files, 0 left" in done.stdout
    assert {(folder / f"m{number}.py").read_text() for number in range(25)} == {GOOD}


KILLS = int(os.environ.get("KILLS", "1000"))


class Interrupted:
    """A small project whose fixing is interrupted; each file has to be what it was or what it becomes."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._chance = folder, random.Random(seed)
        self._files = [folder / f"m{number}.py" for number in range(12)]
        for file in self._files:
            file.write_text(BAD)
            file.chmod(0o640)
        start = time.monotonic()
        command(folder)
        self._seconds = time.monotonic() - start
        self.cut = 0
        """The runs that were cut between one file and the next."""

    def kill(self, *signals: signal.Signals, while_it_writes: bool = False) -> None:
        for file in self._files:
            if file.read_text() != BAD:
                file.write_text(BAD)
        before = os.stat(self._folder).st_mtime_ns
        process = subprocess.Popen(
            [sys.executable, "-m", "flake8_torchmp", "fix", "--jobs", "1"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if while_it_writes:
            while os.stat(self._folder).st_mtime_ns == before and process.poll() is None:
                time.sleep(0.0002)
            time.sleep(self._chance.uniform(0, 0.004))
        else:
            time.sleep(self._chance.uniform(0.1, 1.05) * self._seconds)
        process.send_signal(self._chance.choice(signals))
        process.wait()
        texts = [file.read_text() for file in self._files]
        assert set(texts) <= {BAD, GOOD}
        assert {file.stat().st_mode & 0o777 for file in self._files} == {0o640}
        self.cut += len(set(texts)) == 2

    def finish(self) -> int:
        """Nothing that was left behind hinders the next run; counts what was."""
        command(self._folder)
        assert {file.read_text() for file in self._files} == {GOOD}
        here = {*self._folder.iterdir()}
        assert {file for file in here if file.suffix == ".py"} == {*self._files}
        return len(here - {*self._files, self._folder / "setup.cfg"})


def test_killed_at_random(folder: Path) -> None:
    project = Interrupted(folder, 1)
    for while_it_writes in (False, True):
        for _ in range(4):
            project.kill(signal.SIGTERM, signal.SIGINT, while_it_writes=while_it_writes)
    assert project.finish() == 0, "these clean up"
    for while_it_writes in (False, True):
        for _ in range(3):
            project.kill(signal.SIGKILL, while_it_writes=while_it_writes)
    project.finish()


@pytest.mark.slow
def test_killed_a_thousand_times(folder: Path) -> None:
    project = Interrupted(folder, 3)
    for number in range(KILLS):
        project.kill(signal.SIGKILL, while_it_writes=number % 2 == 1)
    behind = project.finish()
    print(f"{KILLS} kills, {project.cut} between two files, {behind} temporary files left behind")
    assert project.cut > 0
