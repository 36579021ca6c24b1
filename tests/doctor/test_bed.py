"""Where there is no fork, each step has an interpreter of its own; and no step gets out of hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flake8_torchmp.doctor.bed import Bed, Event

PATIENTS = Path(__file__).parent / "patients"
SAMPLES = {"step": "samples", "samples": 4, "seconds": 0.1}


def unheard(_event: Event) -> None:
    pass


def test_interpreter_of_its_own() -> None:
    with Bed(sys.executable, forks=False, limit=60) as bed:
        outcome = bed.run({**SAMPLES, "target": f"{PATIENTS / 'sick' / 'ends_its_process.py'}:make_loader"}, unheard)
        assert (outcome.how, outcome.status) == ("ended", 0)
        assert bed.processes() == []
        assert bed.files() == []
    assert outcome.event("samples") is not None


@pytest.mark.usefixtures("nothing_left")
def test_output_is_bounded(bed: Bed, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("print('first')\nprint('x' * 5_000_000)\nprint('last')\ndataset = [1]\n")
    outcome = bed.run({**SAMPLES, "target": f"{tmp_path / 'loud.py'}:dataset"}, unheard)
    assert outcome.printed > 5_000_000
    assert len(outcome.output) < 200_000
    assert outcome.output.startswith("first\n")
    assert outcome.output.endswith("last\n")


@pytest.mark.usefixtures("nothing_left")
def test_nurse_is_replaced_when_a_patient_kills_it(bed: Bed, tmp_path: Path) -> None:
    (tmp_path / "killer.py").write_text("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(300)\n")
    (tmp_path / "fine.py").write_text("dataset = [1]\n")
    assert bed.run({**SAMPLES, "target": f"{tmp_path / 'killer.py'}:dataset"}, unheard).how == "died"
    assert bed.run({**SAMPLES, "target": f"{tmp_path / 'fine.py'}:dataset"}, unheard).how == "ended"


WAITS = """\
import multiprocessing, os, time
from torch.utils.data import get_worker_info

class Waiting:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if get_worker_info():
            lock = multiprocessing.get_context("spawn").Lock()
            with open("worker.new", "w") as file:
                file.write(f"{os.getpid()} {lock._semlock.name}")
            os.rename("worker.new", "worker")
            time.sleep(300)
        return index

dataset = Waiting()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc and /dev/shm")
@pytest.mark.parametrize("moment", ["at any time", "while it asks", "before it reads an answer"])
def test_nothing_stays_when_the_doctor_is_killed(moment: str, tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    options = ["--workers", "1", "--start-methods", "spawn", "--time-limit", "200"]
    with subprocess.Popen(
        [sys.executable, "-m", "flake8_torchmp", "doctor", "waits.py:dataset", *options],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
    ) as doctor:
        said = tmp_path / "worker"
        eventually(said.exists)
        (nurse,) = map(int, Path(f"/proc/{doctor.pid}/task/{doctor.pid}/children").read_text().split())
        if moment != "at any time":
            os.kill(nurse, signal.SIGSTOP)
            time.sleep(1)
            doctor.send_signal(signal.SIGSTOP)
        if moment == "before it reads an answer":
            os.kill(nurse, signal.SIGCONT)
            time.sleep(1)
        doctor.kill()
        os.kill(nurse, signal.SIGCONT)
    pid, _, lock = said.read_text().partition(" ")
    block = Path("/dev/shm") / f"sem.{lock.strip('/')}"
    eventually(lambda: _is_dead(pid))
    eventually(lambda: not block.exists())
    eventually(lambda: not list(temporary.iterdir()))


def _is_dead(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def eventually(holds: Callable[[], bool]) -> None:
    latest = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < latest
        time.sleep(0.1)
