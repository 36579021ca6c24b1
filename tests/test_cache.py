"""Answers that are kept: the same as new ones, only as long as nothing changed, and never in the way."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from flake8_torchmp import engine
from flake8_torchmp.cache import FEW, MOST_KEPT, Cache
from flake8_torchmp.findings import Finding
from flake8_torchmp.settings import Settings

TRAIN = """from torch.utils.data import DataLoader

from data import Squares

if __name__ == "__main__":
    list(DataLoader(Squares(), num_workers=2, collate_fn=lambda batch: batch))
"""
DATA = """from torch.utils.data import Dataset

SEEN = []


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        SEEN.append(index)
        return index * index


print(len(SEEN))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "train.py").write_text(TRAIN)
    (folder / "data.py").write_text(DATA)
    (folder / "broken.py").write_text("from torch.utils.data import DataLoader\ndef (:\n")
    for number in range(FEW):
        (folder / f"part_{number}.py").write_text(f"NUMBER = {number}\n")
    return folder


Said = list[tuple[str, list[Finding], str]]


def said(folder: Path, cache: Cache | None, settings: Settings | None = None) -> Said:
    paths = sorted(str(path) for path in folder.glob("*.py"))
    return list(engine.check(paths, settings or Settings(), cache=cache))


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often a project has been looked at since the last time that this was asked."""
    count = 0
    real = engine.Project.seeds

    def counting(project: engine.Project, paths: Sequence[str]) -> list[str]:
        nonlocal count
        count += 1
        return real(project, paths)

    def asked() -> int:
        nonlocal count
        before, count = count, 0
        return before

    monkeypatch.setattr(engine.Project, "seeds", counting)
    return asked


def test_a_second_run_says_the_same_and_looks_at_nothing(project: Path, looked: Callable[[], int]) -> None:
    plain = said(project, None)
    assert {finding.code for _, found, _ in plain for finding in found} >= {"TMP301"}
    assert any(finding.way for _, found, _ in plain for finding in found)
    assert any(finding.repair for _, found, _ in plain for finding in found)
    assert any(problem for _, _, problem in plain)
    assert said(project, Cache()) == plain and looked() == 2
    assert said(project, Cache()) == plain and looked() == 0


def test_a_changed_file_is_seen(project: Path, looked: Callable[[], int]) -> None:
    said(project, Cache())
    (project / "data.py").write_text(DATA.replace("SEEN.append(index)", "pass"))
    assert said(project, Cache()) == said(project, None)
    (project / "data.py").write_text(DATA)
    looked()
    said(project, Cache())
    assert looked() == 0


@pytest.mark.parametrize("change", ["a new file", "another name", "other settings", "a file less"])
def test_whatever_matters_is_looked_at_anew(project: Path, looked: Callable[[], int], change: str) -> None:
    said(project, Cache())
    looked()
    settings = Settings(target_platforms=("linux",)) if change == "other settings" else Settings()
    if change == "a new file":
        (project / "notes.py").write_text("")
    elif change == "another name":
        (project / "part_0.py").rename(project / "part_zero.py")
    elif change == "a file less":
        shutil.move(project / "part_0.py", project.parent)
    said(project, Cache(), settings)
    assert looked() == 1


def test_a_copy_of_the_project_shares_the_answer(project: Path, tmp_path: Path, looked: Callable[[], int]) -> None:
    cache = Cache(str(tmp_path / "shared"))
    said(project, cache)
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(project, copy)
    looked()
    found = said(copy, cache)
    assert looked() == 0
    assert found == said(copy, None)


def test_some_of_the_files_are_known_when_all_are(project: Path, looked: Callable[[], int]) -> None:
    every = {path: found for path, found, _ in said(project, Cache())}
    looked()
    train = str(project / "train.py")
    ((_, found, _),) = engine.check([train], Settings(), cache=Cache())
    assert looked() == 0
    assert found and found == every[train]


def test_a_file_outside_of_the_project_is_known_with_what_it_holds(project: Path, looked: Callable[[], int]) -> None:
    outside = project / "a.folder" / "script.py"
    outside.parent.mkdir()
    for text, is_found in ((TRAIN, True), ("print(1)\n", False), (TRAIN, True)):
        outside.write_text(text)
        ((_, found, _),) = engine.check([str(outside)], Settings(), cache=Cache())
        assert ("TMP301" in [finding.code for finding in found]) == is_found
    assert looked() == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"path": "train.py", "findings": [{}]}', b"\xff\x00", b"\n\n"])
def test_a_damaged_answer_is_found_anew(project: Path, damage: bytes, looked: Callable[[], int]) -> None:
    plain = said(project, Cache())
    (answers,) = (project / ".torchmp_cache").glob("*.jsonl")
    lines = answers.read_bytes().split(b"\n")
    (place,) = (number for number, line in enumerate(lines) if b'"path":"train.py"' in line)
    answers.write_bytes(b"\n".join([*lines[:place], damage, *lines[place + 1 :]]))
    looked()
    assert said(project, Cache()) == plain and looked() == 1
    assert said(project, Cache()) == plain and looked() == 0


def test_a_folder_that_cannot_be_made_is_as_good_as_none(project: Path) -> None:
    (project / "file").write_text("")
    assert said(project, Cache(str(project / "file"))) == said(project, None)


def test_few_files_leave_no_folder_behind(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(TRAIN)
    said(tmp_path, Cache())
    assert not (tmp_path / ".torchmp_cache").exists()


def test_a_folder_that_is_no_project_is_left_as_it_is(project: Path, tmp_path: Path) -> None:
    (project / "pyproject.toml").unlink()
    said(project, Cache())
    by_flake8(project)
    assert not list(tmp_path.rglob(".torchmp_cache"))


def test_the_folder_says_what_it_is_and_does_not_grow(project: Path) -> None:
    for number in range(MOST_KEPT + 3):
        (project / "part_0.py").write_text(f"NUMBER = {-number}\n")
        said(project, Cache())
    folder = project / ".torchmp_cache"
    assert len(list(folder.glob("*.jsonl"))) == MOST_KEPT
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_rule_that_failed_is_asked_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Finding(str(project / "data.py"), 1, 0, "TMP000", "rule failed", 1, 0, "internal-error")
    monkeypatch.setattr(engine.Project, "findings_from", lambda *_: [failed])
    said(project, Cache())
    assert not (project / ".torchmp_cache").exists()


def by_flake8(folder: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "flake8", "--isolated", "-j2", "--select=TMP", "--exit-zero", *arguments, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert not done.stderr
    return sorted(line for line in done.stdout.splitlines() if "E902" not in line)


def known(folder: Path) -> dict[str, str]:
    """The lines that are kept, by the file that they are of."""
    (answers,) = folder.glob("*.jsonl")
    lines = answers.read_text().split("\n")
    return {line.partition(",")[0].partition('"path":')[2].strip('"'): line for line in lines if line}


def test_flake8_keeps_what_each_of_its_processes_finds(project: Path) -> None:
    first = by_flake8(project)
    assert any("TMP301" in line for line in first)
    kept = known(project / ".torchmp_cache")
    assert kept.keys() == {path.name for path in project.glob("*.py")} - {"broken.py"}
    assert by_flake8(project) == first
    assert by_flake8(project, "--torchmp-no-cache") == first


def test_flake8_gives_what_torchmp_has_found(project: Path) -> None:
    said(project, Cache())
    (answers,) = (project / ".torchmp_cache").glob("*.jsonl")
    answers.write_text(answers.read_text().replace("collate_fn", "as it is known"))
    assert any("as it is known" in line for line in by_flake8(project))
    assert not any("as it is known" in line for line in by_flake8(project, "--torchmp-no-cache"))


def test_flake8_keeps_nothing_or_elsewhere_when_told(project: Path, tmp_path: Path) -> None:
    by_flake8(project, "--torchmp-no-cache")
    by_flake8(project, f"--torchmp-cache-dir={tmp_path / 'kept'}")
    assert not (project / ".torchmp_cache").exists()
    assert "train.py" in known(tmp_path / "kept")


def test_torchmp_looks_itself_at_what_only_flake8_has_seen(project: Path, looked: Callable[[], int]) -> None:
    """flake8 hands over what it could parse by its own ways, so it does not say whether a file is sound."""
    by_flake8(project)
    assert said(project, Cache()) == said(project, None)
    assert looked() == 2
