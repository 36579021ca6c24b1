from __future__ import annotations

import textwrap

import pytest
from fixes.mending import mended, mended_text

DATASET = """\
import itertools
import random

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Rows(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
{body}

loader = DataLoader(Rows([1, 2, 3]), num_workers=2)
"""
ASKS = """\
info = get_worker_info()
start, step = (info.id, info.num_workers) if info else (0, 1)
"""


def program(body: str) -> str:
    return DATASET.format(body=textwrap.indent(body, " " * 8))


SLICED = {
    "for row in self.rows:\n    yield row\n": (
        "for row in itertools.islice(self.rows, start, None, step):\n    yield row\n"
    ),
    "yield from (f for f in self.rows)\n": "yield from (f for f in itertools.islice(self.rows, start, None, step))\n",
    "return iter(self.rows)\n": "return itertools.islice(self.rows, start, None, step)\n",
    "return map(str, self.rows)\n": "return map(str, itertools.islice(self.rows, start, None, step))\n",
    "return (2 * r for r in self.rows)\n": "return (2 * r for r in itertools.islice(self.rows, start, None, step))\n",
    "while True:\n    for row in self.rows:\n        yield row\n": (
        "while True:\n    for row in itertools.islice(self.rows, start, None, step):\n        yield row\n"
    ),
    "for _ in range(3):\n    for row in self.rows:\n        yield row\n": (
        "for _ in range(3):\n    for row in itertools.islice(self.rows, start, None, step):\n        yield row\n"
    ),
    "order = list(self.rows)\nrandom.shuffle(order)\nfor row in order:\n    yield row\n": (
        "order = list(self.rows)[start::step]\nrandom.shuffle(order)\nfor row in order:\n    yield row\n"
    ),
    "for i in torch.randperm(3).tolist():\n    yield i\n": (
        "for i in (i for i in torch.randperm(3).tolist() if i % step == start):\n    yield i\n"
    ),
}


@pytest.mark.parametrize("body", SLICED)
def test_the_iterable_is_sliced(body: str) -> None:
    after = mended_text(program(body), unsafe=True)
    assert after == program(ASKS + SLICED[body])
    assert mended_text(after, unsafe=True) == after
    assert mended_text(program(body)) == program(body)


WHOLE = {
    "a limit": "count = 0\nfor row in self.rows:\n    count += 1\n    if count > 2:\n        break\n    yield row\n",
    "batches": "kept = []\nfor row in self.rows:\n    kept.append(row)\n    if kept[1:]:\n        yield kept\n"
    "        kept = []\n",
    "a loop by hand": "i = 0\nwhile i < 3:\n    yield i\n    i += 1\n",
    "a first line": "for row in self.rows:\n    if row == 1:\n        head = row\n        continue\n"
    "    yield head + row\n",
}


@pytest.mark.parametrize("case", WHOLE)
def test_the_whole_result_is_sliced(case: str) -> None:
    after = mended_text(program(WHOLE[case]), unsafe=True)
    assert (
        textwrap.indent(f"{ASKS}return itertools.islice(self._whole_stream(), start, None, step)\n", " " * 8) in after
    )
    assert f"    def _whole_stream(self):\n{textwrap.indent(WHOLE[case], ' ' * 8)}" in after


LEFT = {
    "its own iterator": "return self\n\ndef __next__(self):\n    return self.rows[0]\n",
    "an order that nobody can divide": "for row in random.sample(self.rows, 2):\n    yield row\n",
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str) -> None:
    text = program(textwrap.dedent(LEFT[case]).replace("\ndef ", "\n    \ndef "))
    assert mended_text(text, unsafe=True) == text


def test_what_a_base_class_yields_is_divided_once() -> None:
    derived = (
        "class Doubled(Rows):\n    def __iter__(self):\n        for row in super().__iter__():\n            yield row\n"
    )
    text = program("yield from self.rows\n") + f"\n\n{derived}\n\nloader = DataLoader(Doubled([1]), num_workers=2)\n"
    after = mended({"main.py": text}, unsafe=True)
    assert after.files["main.py"].count("islice(") == 1
    assert not after.left


def test_the_shuffled_attribute_is_divided_before() -> None:
    after = mended_text(program("random.shuffle(self.rows)\nyield from self.rows\n"), unsafe=True)
    assert program(f"{ASKS}rows = self.rows[start::step]\nrandom.shuffle(rows)\nyield from rows\n") == after
