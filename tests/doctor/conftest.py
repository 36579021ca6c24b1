from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from flake8_torchmp.doctor.bed import Bed


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """One for all: torch is imported once."""
    with Bed(sys.executable, forks=sys.platform == "linux", limit=60) as made:
        made.run({"step": "samples", "target": "nowhere.py:nothing"}, lambda _: None)  # now the nurse is there
        yield made


@pytest.fixture
def nothing_left(bed: Bed) -> Iterator[None]:
    """No process, no block of shared memory, no temporary file outlives a test."""
    before = _lying_around(bed)
    yield
    assert _lying_around(bed) == before


def _lying_around(bed: Bed) -> tuple[object, ...]:
    blocks = [name for name in os.listdir("/dev/shm") if os.path.basename(bed.folder) in name]
    return bed.processes(), blocks, bed.files()
