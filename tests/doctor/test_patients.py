"""Each patient has one defect, which its first line names, or none."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from flake8_torchmp.cli.arguments import parser
from flake8_torchmp.doctor.bed import Bed
from flake8_torchmp.doctor.examination import Examination, Wishes, examine
from flake8_torchmp.doctor.explaining import Explainer
from flake8_torchmp.doctor.problems import Problem

FOLDER = Path(__file__).parent / "patients"
SICK = sorted((FOLDER / "sick").glob("*.py"))
HEALTHY = sorted((FOLDER / "healthy").glob("*.py"))
USUAL = "--workers 0,2 --start-methods fork"
_FINDS = re.compile(r"(?P<kind>[a-z-]+)(?P<texts>(?:,? ?`[^`]+`)*)(?: at (?P<line>\d+))?")


class Expected(NamedTuple):
    kind: str
    texts: tuple[str, ...]
    line: int | None


def header(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line[2:].partition(": ") for line in lines[:3] if line.startswith("# ")]
    return {name: value for name, _, value in comments}


def expected(text: str) -> list[Expected]:
    """`kind `regex`, `regex` at line, kind ...`: the problems, the worst first."""
    return [
        Expected(match["kind"], tuple(re.findall("`([^`]+)`", match["texts"])), int(match["line"] or 0) or None)
        for match in _FINDS.finditer(text)
    ]


def examined(path: Path, bed: Bed) -> Examination:
    said = header(path)
    default = "dataset" if "\ndataset = " in path.read_text(encoding="utf-8") else "make_loader"
    target = f"{path}:{said.get('object', default)}"
    asked = parser().parse_args(["doctor", target, *shlex.split(USUAL), *shlex.split(said.get("options", ""))])
    bed.limit = asked.time_limit
    wishes = Wishes(target, asked.workers, asked.start_methods, asked.samples, seconds=0.3)
    return examine(wishes, bed, lambda _doing, _event: None, lambda _so_far, _rung: None)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("path", SICK, ids=lambda path: path.stem)
def test_sick(path: Path, bed: Bed) -> None:
    examination = examined(path, bed)
    wanted, _, code = header(path)["finds"].partition("; ")
    problems = examination.ranked
    wishes = expected(wanted)
    assert [problem.kind for problem in problems] == [one.kind for one in wishes], problems
    for wish, problem in zip(wishes, problems, strict=True):
        agrees(wish, problem, path)
    assert examination.exit_code == 1
    for problem in problems:
        assert (problem.kind in ("hangs", "does-not-end")) == bool(problem.stacks)
        if " under " in problem.title:
            assert {"parent", "worker"} <= {stack.role for stack in problem.stacks} or problem.kind != "hangs"
    if code:
        finding = Explainer(examination.wishes.target).explained(problems[0]).finding
        assert finding is not None
        assert finding.code == code


def agrees(wish: Expected, problem: Problem, path: Path) -> None:
    said = "\n".join([problem.title, *problem.details])
    for text in wish.texts:
        assert re.search(text, said)
    if wish.line:
        assert (str(path), wish.line) in [(place.path, place.line) for place in problem.places]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_healthy(path: Path, bed: Bed) -> None:
    examination = examined(path, bed)
    assert examination.cannot is None
    assert examination.problems == []
    assert {rung.verdict for rung in examination.rungs} == {"works"}
    assert len(examination.rungs) >= 2
