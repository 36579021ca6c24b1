"""`torchmp diagnose` from outside: an output in, the line to change out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

from pictures import build_transform
from texts import Texts


def main():
    points = TensorDataset(torch.arange(4))
    first = DataLoader(points, num_workers=2, collate_fn=lambda rows: rows)
    second = DataLoader(Texts(build_transform()), num_workers=2)
    print(len(first), len(second))


if __name__ == "__main__":
    main()
"""
PICTURES = """\
def build_transform():
    return [lambda picture: picture / 255]
"""
TEXTS = """\
from torch.utils.data import Dataset


class Texts(Dataset):
    def __init__(self, transform):
        self.transform = transform
        self.file = open("texts.txt")

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.transform[0](self.file.readline())
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "setup.cfg").touch()
    for name, text in {"train": TRAIN, "pictures": PICTURES, "texts": TEXTS}.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def diagnose(folder: Path, printed: str, *options: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "flake8_torchmp", "diagnose", *options]
    done = subprocess.run(command, cwd=folder, input=printed, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def first(said: str) -> str:
    match = re.match(r"(\S+?:\d+):\d+: (TMP\d+)", said)
    return f"{match[1]} {match[2]}" if match else said


def test_the_line_of_the_traceback_comes_first(project: Path) -> None:
    printed = """\
Traceback (most recent call last):
  File "train.py", line 10, in main
    first = DataLoader(points, num_workers=2, collate_fn=lambda rows: rows)
AttributeError: Can't pickle local object 'main.<locals>.<lambda>'
"""
    code, said, _ = diagnose(project, printed)
    assert (code, first(said)) == (0, "train.py:10 TMP301")
    assert "it explains: AttributeError: Can't pickle local object 'main.<locals>.<lambda>'" in said
    assert "torchmp rule TMP301" in said


def test_the_object_that_the_message_names_comes_first(project: Path) -> None:
    printed = "AttributeError: Can't pickle local object 'build_transform.<locals>.<lambda>'\n"
    code, said, _ = diagnose(project, printed)
    assert (code, first(said)) == (0, "pictures.py:2 TMP301")
    assert "train.py:10" in said.partition("also possible")[2]


def test_the_kind_of_thing_that_cannot_cross_decides(project: Path) -> None:
    _, said, _ = diagnose(project, "TypeError: cannot pickle '_io.TextIOWrapper' object\n")
    assert first(said) == "texts.py:7 TMP303"


def test_a_program_that_ran_elsewhere_is_found_by_its_path(project: Path) -> None:
    printed = (
        '  File "/remote/job/17/pictures.py", line 2, in build_transform\nPicklingError: lambdas cannot be pickled\n'
    )
    _, said, _ = diagnose(project.parent, printed, "--root", str(project))
    assert first(said).endswith("pictures.py:2 TMP301")


def test_too_little_shared_memory_is_explained_without_a_finding(project: Path) -> None:
    code, said, _ = diagnose(project, "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.\n")
    assert code == 0
    assert "df -h /dev/shm" in said
    assert "--shm-size" in said


def test_what_was_ruled_out_is_said_where_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    code, said, _ = diagnose(tmp_path, "RuntimeError: context has already been set\n")
    assert code == 1
    assert "found nothing: TMP102 start-method-set-at-import, TMP103 start-method-set-too-late" in said


def test_output_without_any_error_has_no_answer(project: Path) -> None:
    code, said, _ = diagnose(project, "epoch 1\nepoch 2\n")
    assert code == 1
    assert "No known message" in said


def test_json_tells_suspects_messages_and_frames(project: Path) -> None:
    printed = (
        "File \"train.py\", line 10, in main\nAttributeError: Can't pickle local object 'main.<locals>.<lambda>'\n"
    )
    code, said, _ = diagnose(project, printed, "--format", "json")
    answer = json.loads(said)
    assert code == 0
    assert (answer["suspects"][0]["path"], answer["suspects"][0]["line"]) == ("train.py", 10)
    assert answer["messages"][0]["names"] == ["main.<locals>."]
    assert answer["frames"] == [{"path": "train.py", "line": 10, "function": "main"}]


@pytest.mark.parametrize("options", [("missing.txt",), ("--root", "missing")])
def test_what_is_not_there_is_one_line_and_code_2(project: Path, options: tuple[str, ...]) -> None:
    code, _, errors = diagnose(project, "", *options)
    assert code == 2
    assert errors.startswith("torchmp: error: ")
    assert errors.count("\n") == 1
