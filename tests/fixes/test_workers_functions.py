"""Fixes of what workers are given to do, and of what they raise."""

from __future__ import annotations

import pytest
from fixes.mending import mended, mended_text

HEAD = """\
import multiprocessing as mp


def work(name, *more, end=None):
    print(name, *more, end=end)


if __name__ == "__main__":
    """

SAFE = {
    'mp.Process(target=work, args=("train")).start()\n': 'mp.Process(target=work, args=("train",)).start()\n',
    'mp.Process(target=work, args="train").start()\n': 'mp.Process(target=work, args=("train",)).start()\n',
    "mp.Process(target=work, args=( 1  # é\n    ))\n": "mp.Process(target=work, args=( 1,  # é\n    ))\n",
}
UNSAFE = {
    'mp.Process(target=work("train")).start()\n': 'mp.Process(target=work, args=("train",)).start()\n',
    'mp.Process(target=work("train", (1, 2))).start()\n': ('mp.Process(target=work, args=("train", (1, 2))).start()\n'),
    'mp.Process(target=work("a", end=""), name="w").start()\n': (
        'mp.Process(target=work, args=("a",), kwargs={"end": ""}, name="w").start()\n'
    ),
    "mp.Process(target=work, args=(mp.Queue())).start()\n": "mp.Process(target=work, args=(mp.Queue(),)).start()\n",
}


@pytest.mark.parametrize("before", SAFE)
def test_a_comma_after_a_literal(before: str) -> None:
    assert mended_text(HEAD + before) == HEAD + SAFE[before]


@pytest.mark.parametrize("before", UNSAFE)
def test_what_may_be_meant_otherwise(before: str) -> None:
    assert mended_text(HEAD + before) == HEAD + before
    assert mended_text(HEAD + before, unsafe=True) == HEAD + UNSAFE[before]


@pytest.mark.parametrize("argument", ['work("a"), args=("b",)', "work(*[1])"])
def test_a_call_that_is_left(argument: str) -> None:
    text = f"{HEAD}mp.Process(target={argument}).start()\n"
    assert mended_text(text, unsafe=True) == text


SPAWNED = """\
import torch.multiprocessing as mp


def train({}):
    model.train(rank=1)


if __name__ == "__main__":
    mp.spawn(train, args=({}), nprocs=2)
"""
RANKED = {
    ("a: int, /", "'x',"): "rank: int, a: int, /",
    ("\n    a,\n    b,\n", "'x', 'y'"): "\n    rank, a,\n    b,\n",
    ("", ""): "rank",
}


@pytest.mark.parametrize(("taken", "given"), RANKED)
def test_rank(taken: str, given: str) -> None:
    text = SPAWNED.format(taken, given)
    assert mended_text(text) == text
    assert mended_text(text, unsafe=True) == SPAWNED.format(RANKED[taken, given], given)


@pytest.mark.parametrize(
    ("taken", "given", "more"),
    [
        ("gpu, a", "0, 'x'", ""),
        ("a", "'x',", "train('y')\n"),
        ("*, a=1", "", ""),
        ("a, rank", "'x', 'y'", ""),
    ],
)
def test_rank_that_is_left(taken: str, given: str, more: str) -> None:
    text = more + SPAWNED.format(taken, given)
    assert mended_text(text, unsafe=True) == text


def test_rank_of_a_function_that_others_import() -> None:
    files = {"main.py": SPAWNED.format("a", "'x',"), "other.py": "from main import train\n"}
    assert mended(files, unsafe=True).files == files


def test_arguments_that_are_missing() -> None:
    text = HEAD.replace("*more", "queue") + 'mp.Process(target=work, args=("train",)).start()\n'
    assert [left.reason for left in mended({"main.py": text}, unsafe=True).left] == [
        "only its author knows which arguments are meant"
    ]


PRIVATE = """\
import multiprocessing as mp


class Extractor:
    def __norm(self, index):  # é
        return index

    def run(self):
        with mp.Pool(2) as pool:
            return pool.map(self.__norm, range(self.__norm(3)))
"""


def test_one_underscore() -> None:
    assert mended_text(PRIVATE) == PRIVATE.replace("__norm", "_norm")


def test_a_name_beside_one_that_is_taken() -> None:
    rest = "    def _norm(self):\n        pass\n"
    assert mended_text(PRIVATE + rest) == PRIVATE.replace("__norm", "_norm_in_worker") + rest


@pytest.mark.parametrize(
    "rest",
    [
        "    def _norm(self):\n        self._norm_in_worker()\n",
        '\nprint(getattr(Extractor, "_Extractor__norm"))\n',
    ],
)
def test_a_name_that_is_left(rest: str) -> None:
    assert mended_text(PRIVATE + rest, unsafe=True) == PRIVATE + rest


ERROR = """\
import multiprocessing as mp


class Corrupt(Exception):
    def __init__(self, path, offset{options}):
        super().__init__(f"{{path}} {{offset}}")
        self.path = path
{reduce}

def decode(path):
    raise Corrupt(path, 7{given})


if __name__ == "__main__":
    with mp.Pool(1) as pool:
        pool.map(decode, "ab")
"""


def test_an_exception_that_says_how_it_is_made() -> None:
    before = ERROR.format(options="", given="", reduce="")
    assert mended_text(before) == before
    reduce = (
        "        self._offset = offset\n\n"
        "    def __reduce__(self):\n"
        "        return type(self), (self.path, self._offset), self.__dict__\n"
    )
    assert mended_text(before, unsafe=True) == ERROR.format(options="", given="", reduce=reduce)


def test_an_exception_with_options() -> None:
    before = ERROR.format(options=", *, why", given=", why=1", reduce="")
    after = mended_text(before, unsafe=True)
    assert "return partial(type(self), why=self._why), (self.path, self._offset), self.__dict__\n" in after
    assert "from functools import partial\n" in after


def test_an_exception_that_takes_anything_is_left() -> None:
    before = ERROR.format(options=", *more", given="", reduce="")
    assert mended_text(before, unsafe=True) == before


LOADED = """\
from torch.utils.data import DataLoader, Dataset


class BadScan(Exception):
    def __init__(self, patient, number: {number}, *, why{why}):
        super().__init__(patient)


class Scans(Dataset):
    def __getitem__(self, index):
        raise BadScan("p", index, why="")

    def __len__(self):
        return 1


if __name__ == "__main__":
    list(DataLoader(Scans(), num_workers=1))
"""


def test_an_exception_that_a_loader_makes_from_a_text() -> None:
    before = LOADED.format(number="int", why="")
    after = LOADED.format(number="Optional[int] = None", why="=None")
    assert mended_text(before, unsafe=True) == f"from typing import Optional\n\n{after}"
    future = "from __future__ import annotations\n\n"
    after = LOADED.format(number="int | None = None", why="=None")
    assert mended_text(future + before, unsafe=True) == future + after
    for number in ("Any", "int | None", '"int"'):
        before = LOADED.format(number=number, why="")
        assert mended_text(before, unsafe=True) == LOADED.format(number=f"{number} = None", why="=None")
