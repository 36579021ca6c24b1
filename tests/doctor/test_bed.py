"""Where there is no fork, each step has an interpreter of its own; and no step gets out of hand."""

from __future__ import annotations

import sys
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
