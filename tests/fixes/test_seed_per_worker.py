from __future__ import annotations

import pytest
from fixes.mending import mended_text

LOADER = """\
import random
from functools import partial

import numpy as np
import torch
from torch.utils.data import DataLoader

SEED = 3


{function}


loader = DataLoader(range(4), num_workers=2, worker_init_fn={handed})
"""

OF_LOADER = [
    ("def seed(i):\n    random.seed(SEED)", "seed", "random.seed(SEED + i)"),
    ("def seed(i):\n    random.seed(a=0)", "seed", "random.seed(a=i)"),
    ("def seed(rank, i):\n    random.seed(rank + SEED)", "partial(seed, 1)", "random.seed(rank + SEED + 1000 * i)"),
    ("def seed(i):\n    random.seed(SEED * 2)", "seed", "random.seed((SEED * 2) + i)"),
    ("def seed(i):\n    np.random.seed(SEED % 7)", "seed", "np.random.seed((SEED + i) % 7)"),
    ("def seed(base, i):\n    random.seed(base)", "partial(seed, 5)", "random.seed(base + i)"),
    ("def seed(i, base):\n    random.seed(base)", "partial(seed, base=5)", "random.seed(base + i)"),
    ("def seed(i):\n    own = SEED\n    random.seed(own)\n    np.random.seed(own)", "seed", "own = SEED + i"),
    (
        "def seed_all(s):\n    random.seed(s)\n    torch.manual_seed(s)\n\n\ndef seed(i):\n    seed_all(SEED)",
        "seed",
        "seed_all(SEED + i)",
    ),
    ("def fix(s=42):\n    random.seed(s)\n\n\ndef seed(i):\n    fix()", "seed", "fix(s=42 + i)"),
    ("", "lambda i: random.seed(SEED)", "random.seed(SEED + i)"),
]


@pytest.mark.parametrize("function, handed, expected", OF_LOADER)
def test_a_function_that_sets_workers_up_adds_their_id(function: str, handed: str, expected: str) -> None:
    text = LOADER.format(function=function, handed=handed)
    after = mended_text(text, unsafe=True, only="TMP405")
    assert expected in after
    assert mended_text(after, unsafe=True, only="TMP405") == after
    assert mended_text(text, only="TMP405") == text


DATASET = """\
import random

import torch
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset):
    def __init__(self, seed{default}):
        self.seed = seed

    def __len__(self):
        return 4

    def noise(self):
{noise}
        return torch.rand(1)

    def __getitem__(self, index):
{sample}
        return self.noise()


loader = DataLoader(Noise(3), num_workers=2)
"""


def dataset(noise: str = "        # the noise", sample: str = "        # the sample", default: str = "") -> str:
    return DATASET.format(noise=noise, sample=sample, default=default)


def test_a_sample_adds_its_index() -> None:
    text = dataset(sample="        torch.manual_seed(self.seed)")
    after = mended_text(text, unsafe=True)
    assert after == dataset(sample="        torch.manual_seed(self.seed + index)")


def test_what_runs_for_each_sample_leaves_it_to_the_loader() -> None:
    after = mended_text(dataset(noise="        torch.manual_seed(0)  # é"), unsafe=True)
    assert after == dataset(noise="-").replace("-\n", "", 1)


LEFT = {
    "no number": dataset(sample='        random.seed("a")'),
    "perhaps none": dataset(sample="        random.seed(self.seed)", default="=None"),
    "seeded twice": dataset(noise="        torch.manual_seed(1)\n        torch.rand(1)\n        torch.manual_seed(1)"),
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str) -> None:
    assert mended_text(LEFT[case], unsafe=True) == LEFT[case]


def test_the_initializer_of_a_pool_adds_its_process() -> None:
    text = """\
import multiprocessing as mp
import os
import random


def start(seed):
    random.seed(seed)


if __name__ == "__main__":
    with mp.Pool(2, initializer=start, initargs=(3,)) as pool:
        print(pool.map(str, [1]))
"""
    assert "random.seed(seed + os.getpid())" in mended_text(text, unsafe=True)


def test_what_is_spawned_adds_its_rank() -> None:
    text = """\
import random

import torch.multiprocessing as mp


def play(rank, rounds):
    random.seed(11)


if __name__ == "__main__":
    mp.spawn(play, args=(5,), nprocs=2)
"""
    assert "random.seed(11 + rank)" in mended_text(text, unsafe=True)


SEEDED = """\
import random

import numpy as np
import torch
from torch.utils.data import DataLoader


def everything(seed=1234):
    random.seed(seed)


class Seeds:
    def __init__(self, seed):
        self.seed = seed

    def __call__(self, number):
        random.seed(self.seed)


def start(_):
    everything()


def loaders():
    yield DataLoader(range(4), num_workers=2, worker_init_fn=Seeds(3))
    yield DataLoader(range(4), num_workers=2, worker_init_fn=start)
"""


def test_the_id_of_the_worker_gets_a_name_and_goes_to_objects() -> None:
    after = mended_text(SEEDED, unsafe=True)
    assert "random.seed(self.seed + number)" in after
    assert "def start(worker_id):\n    everything(seed=1234 + worker_id)\n" in after
    assert mended_text(after, unsafe=True) == after


BY_LIBRARY = """\
import random
from concurrent.futures import ProcessPoolExecutor

import torch


def draw(number):
    return random.random() + torch.rand(1).item()


if __name__ == "__main__":
    with ProcessPoolExecutor(2, {given}) as executor:
        print(list(executor.map(draw, range(9))))
"""


def test_an_initializer_of_the_library_takes_fresh_entropy() -> None:
    for before, after in {
        "initializer=random.seed, initargs=(0,)": "initializer=random.seed",
        "initargs=(0,), initializer=torch.manual_seed": "initializer=torch.seed",
    }.items():
        mended = mended_text(BY_LIBRARY.format(given=before), unsafe=True)
        assert mended == BY_LIBRARY.format(given=after)
        assert mended_text(mended, unsafe=True) == mended
