from __future__ import annotations

import pytest
from fixes.mending import mended, mended_text

from flake8_torchmp.settings import Settings

HEAD = """\
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import Queue

import torch.multiprocessing


def work(rank, queue=None):
    return rank


"""

SAFE = {
    'def run(ctx=mp.get_context("spawn")):\n    return mp.Pool(2, mp_context=ctx)\n': (
        'def run(ctx=mp.get_context("spawn")):\n    return ctx.Pool(2)\n'
    ),
    'lock = mp.Lock(ctx="spawn")\n': 'lock = mp.get_context("spawn").Lock()\n',
    'process = mp.Process(mp_context=mp.get_context("spawn"), target=work)\n': (
        'process = mp.get_context("spawn").Process(target=work)\n'
    ),
    "def run():\n    mp.Lock(\n        # by spawn\n        ctx=mp.get_context('spawn'),\n    )\n": (
        "def run():\n    mp.get_context('spawn').Lock(\n        # by spawn\n    )\n"
    ),
    'executor = ProcessPoolExecutor(2, mp_context="spawn")  # é\n': (
        'executor = ProcessPoolExecutor(2, mp_context=mp.get_context("spawn"))  # é\n'
    ),
    "ctx = mp.get_context('spwan')\n": "ctx = mp.get_context('spawn')\n",
    "def run():\n    queue = mp.Queue()\n    torch.multiprocessing.spawn(work, args=(queue,))\n": (
        'def run():\n    queue = mp.get_context("spawn").Queue()\n'
        "    torch.multiprocessing.spawn(work, args=(queue,))\n"
    ),
    "def run():\n    ctx = mp.get_context('spawn')\n    ctx.Process(target=work, args=(0, mp.Queue()))\n": (
        "def run():\n    ctx = mp.get_context('spawn')\n    ctx.Process(target=work, args=(0, ctx.Queue()))\n"
    ),
    "def run(ctx=None):\n    ctx = ctx or 1\n    one = mp.get_context('spawn')\n    queue = mp.Queue()\n"
    "    one.Process(target=work, args=(0, queue))\n": (
        "def run(ctx=None):\n    ctx = ctx or 1\n    one = mp.get_context('spawn')\n    queue = one.Queue()\n"
        "    one.Process(target=work, args=(0, queue))\n"
    ),
    "def run():\n    queue = mp.Queue()\n    ctx = mp.get_context('spawn')\n"
    "    ctx.Process(target=work, args=(0, queue))\n": (
        "def run():\n    queue = mp.get_context('spawn').Queue()\n    ctx = mp.get_context('spawn')\n"
        "    ctx.Process(target=work, args=(0, queue))\n"
    ),
    "@dataclass\nclass Control:\n    stop: object = field(default_factory=mp.Event)\n\n\n"
    "def run():\n    torch.multiprocessing.spawn(work, args=(Control(),))\n": (
        '@dataclass\nclass Control:\n    stop: object = field(default_factory=mp.get_context("spawn").Event)\n\n\n'
        "def run():\n    torch.multiprocessing.spawn(work, args=(Control(),))\n"
    ),
    "def run(ctx=None):\n    queue = (ctx or mp).Queue()\n    torch.multiprocessing.spawn(work, args=(queue,))\n": (
        'def run(ctx=None):\n    queue = (ctx or mp.get_context("spawn")).Queue()\n'
        "    torch.multiprocessing.spawn(work, args=(queue,))\n"
    ),
    "def run(ctx=None):\n    queue = (mp if ctx is None else ctx).Queue()\n"
    "    torch.multiprocessing.spawn(work, args=(queue,))\n": (
        'def run(ctx=None):\n    queue = (mp.get_context("spawn") if ctx is None else ctx).Queue()\n'
        "    torch.multiprocessing.spawn(work, args=(queue,))\n"
    ),
    "from torch.utils.data import DataLoader\n\n"
    "loader = DataLoader([1], num_workers=1, multiprocessing_context=mp)\n": (
        "from torch.utils.data import DataLoader\n\n"
        'loader = DataLoader([1], num_workers=1, multiprocessing_context=mp.get_context("spawn"))\n'
    ),
    "executor = ProcessPoolExecutor(2, mp_context=mp.get_start_method())\n": (
        "executor = ProcessPoolExecutor(2, mp_context=mp.get_context(mp.get_start_method()))\n"
    ),
    "def run(kind=Queue):\n    queue = Queue(4)\n    torch.multiprocessing.spawn(work, args=(queue,))\n": (
        'def run(kind=Queue):\n    queue = mp.get_context("spawn").Queue(4)\n'
        "    torch.multiprocessing.spawn(work, args=(queue,))\n"
    ),
}


@pytest.mark.parametrize("before", SAFE)
def test_safe(before: str) -> None:
    after = mended_text(HEAD + before)
    assert after == HEAD + SAFE[before]
    assert mended_text(after) == after


REFUSED = {
    "no such name": 'ctx = mp.get_context("threads")\n',
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text = HEAD + REFUSED[case]
    assert mended_text(text, unsafe=True) == text


def test_a_function_is_imported_as_the_others_are() -> None:
    text = "from multiprocessing import {}\n\nimport torch\n\nSTART = {}\n\n\nif __name__ == '__main__':\n"
    text += "    with get_context(START).Pool(1) as pool:\n        pool.map(print, [1])\n"
    chosen = "'forkserver' if 'forkserver' in get_all_start_methods() else 'spawn'"
    assert mended_text(text.format("get_context", "'forkserver'"), only="TMP104") == text.format(
        "get_all_start_methods, get_context", chosen
    )


def test_processors() -> None:
    text = (
        "import os\n\nimport torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\n"
        "loader = DataLoader(TensorDataset(torch.arange(2)),\n                    num_workers=os.cpu_count())\n"
    )
    assert mended_text(text, only="TMP905") == text
    usable = 'len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()'
    assert mended_text(text, unsafe=True, only="TMP905") == text.replace("os.cpu_count()", usable)
    text = text.replace("cpu_count()", "cpu_count() // 2")
    assert mended_text(text, unsafe=True, only="TMP905") == text.replace("os.cpu_count()", f"({usable})")


@pytest.mark.parametrize(
    ("settings", "usable"),
    [
        (Settings(target_platforms=("linux",)), "len(os.sched_getaffinity(0))"),
        (Settings(target_python=("3.13", "3.14")), "os.process_cpu_count()"),
    ],
)
def test_processors_of_the_targets(settings: Settings, usable: str) -> None:
    text = (
        "import os\n\nimport torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\n"
        "loader = DataLoader(TensorDataset(torch.arange(2)),\n                    num_workers=os.cpu_count())\n"
    )
    after = mended({"main.py": text}, True, "TMP905", settings).files["main.py"]
    assert after == text.replace("os.cpu_count()", usable)
