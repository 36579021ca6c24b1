"""The command itself: what it prints, how it ends, and that it leaves nothing behind, also when it is interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SICK = Path(__file__).parent / "patients" / "sick"


def command(target: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "flake8_torchmp", "doctor", target, "--measure", "0.2", *options]


def run(target: str, *options: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(target, *options),
        cwd=folder,
        env=dict(os.environ, TMPDIR=str(folder), **env),
        capture_output=True,
        text=True,
        check=False,
    )


def test_sick(tmp_path: Path) -> None:
    done = run(
        f"{SICK / 'several_culprits.py'}:make_loader",
        *("--workers", "0", "--start-methods", "spawn", "--html", "page.html"),
        folder=tmp_path,
    )
    assert done.returncode == 1
    assert "torchmp doctor imports and runs" in done.stdout
    assert "\n4 problems\n" in done.stdout
    assert "several_culprits.py:13: self.log = open(os.devnull)" in done.stdout
    assert re.search(r"^0 +works ", done.stdout, re.MULTILINE)
    assert done.stderr == ""
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "dataset.lock is a _thread.lock" in page
    assert "<svg" in page
    assert not re.search(r"https?:|src=|<script|<link|@import|url\(", page)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_healthy_as_json(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("dataset = [1, 2, 3]\n")
    done = run("own:dataset", "--workers", "0", "--format", "json", folder=tmp_path)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["healthy"] is True
    assert report["problems"] == []
    assert report["samples"]["read"] == 3
    assert [rung["verdict"] for rung in report["ladder"]] == ["works"]


def test_interpreter_that_is_none(tmp_path: Path) -> None:
    done = run("own:dataset", "--python", "true", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "torchmp: error: true ends as soon as it is started\n"


@pytest.fixture
def without_torch(tmp_path: Path) -> Path:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "torch.py").write_text("raise ImportError('not here')\n")
    return folder


@pytest.fixture
def bare_torch(tmp_path: Path) -> Path:
    """Enough of torch for a module that is not imported to its end, and quicker to import."""
    folder = tmp_path / "lib" / "torch" / "utils" / "data"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").touch()
    return tmp_path / "lib"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("own:dataset", "has no torch"),
        ("nothing", "expected MODULE:OBJECT"),
    ],
)
def test_could_not_run(target: str, said: str, tmp_path: Path, without_torch: Path) -> None:
    done = run(target, folder=tmp_path, PYTHONPATH=str(without_torch))
    assert done.returncode == 2
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_import_fails(tmp_path: Path, bare_torch: Path) -> None:
    (tmp_path / "train.py").write_text("import settings\n")
    (tmp_path / "settings.py").write_text("import json\nlimits = json.loads('{')\n")
    done = run("train:make_loader", folder=tmp_path, PYTHONPATH=str(bare_torch))
    assert done.returncode == 2
    assert 'settings.py", line 2, in <module>' in done.stdout
    assert "JSONDecodeError" in done.stdout
    assert "json/decoder.py" not in done.stdout
    assert "bedside" not in done.stdout


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP])
def test_interrupted(how: signal.Signals, tmp_path: Path, bare_torch: Path) -> None:
    mark = tmp_path / "started"
    (tmp_path / "stubborn.py").write_text(
        "import signal, subprocess, sys, time\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(300)'],"
        " start_new_session=True)\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(300)\n"
    )
    before = signal.signal(how, signal.SIG_DFL)  # a shell's background jobs ignore some
    doctor = subprocess.Popen(
        command("stubborn:dataset"),
        cwd=tmp_path,
        env=dict(os.environ, TMPDIR=str(tmp_path), PYTHONPATH=str(bare_torch)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(how, before)
    end = time.monotonic() + 120
    while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    child = int(mark.read_text())
    doctor.send_signal(how)
    _, said = doctor.communicate(timeout=60)
    assert doctor.returncode == 130
    assert said == "torchmp: interrupted\n"
    assert not is_running(child)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("torchmp-")]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
