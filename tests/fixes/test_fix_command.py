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


def kill_at_random(folder: Path, times: int, seed: int, signals: list[signal.Signals]) -> int:
    """Interrupts fixing runs; each file has to be what it was or what it becomes. Counts the runs cut in the middle."""
    chance, cut = random.Random(seed), 0
    names = [f"m{number}.py" for number in range(12)]
    for name in names:
        (folder / name).write_text(BAD)
        (folder / name).chmod(0o640)
    start = time.monotonic()
    command(folder)
    whole = time.monotonic() - start
    for _ in range(times):
        for name in names:
            if (folder / name).read_text() != BAD:
                (folder / name).write_text(BAD)
        process = subprocess.Popen(
            [sys.executable, "-m", "flake8_torchmp", "fix", "--jobs", "1"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0.3, 1.05) * whole)
        process.send_signal(chance.choice(signals))
        process.wait()
        texts = [(folder / name).read_text() for name in names]
        assert set(texts) <= {BAD, GOOD}
        assert {(folder / name).stat().st_mode & 0o777 for name in names} == {0o640}
        cut += len(set(texts)) == 2
    return cut


def test_killed_at_random(folder: Path) -> None:
    kill_at_random(folder, 5, 1, [signal.SIGKILL])
    kill_at_random(folder, 10, 2, [signal.SIGTERM, signal.SIGINT])
    assert {name for name in os.listdir(folder) if name.endswith(".py")} == {f"m{number}.py" for number in range(12)}


@pytest.mark.slow
def test_killed_a_thousand_times(folder: Path) -> None:
    cut = kill_at_random(folder, 1000, 3, [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    assert cut > 0, "some have to be cut between two files"
