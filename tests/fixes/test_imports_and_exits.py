"""What the codemods for submodules that nothing imports and for exits in workers make of programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchmp.engine import Project
from flake8_torchmp.fixes import import_submodule, raise_instead_of_exit
from flake8_torchmp.fixes.change import Change, NotFixable, combined
from flake8_torchmp.fixes.document import Documents
from flake8_torchmp.settings import Settings

CODEMODS = {"import_submodule": import_submodule.change, "raise_instead_of_exit": raise_instead_of_exit.change}


def changes(folder: Path, text: str) -> tuple[list[Change], Documents]:
    path = folder / "program.py"
    path.write_text(text)
    documents = Documents(lambda name: Path(name).read_bytes())
    repairs = [f.repair for f in Project(folder, Settings()).findings(str(path)) if f.repair is not None]
    return [CODEMODS[repair.codemod](repair, documents) for repair in repairs if repair.codemod in CODEMODS], documents


def fixed(folder: Path, text: str) -> str:
    found, documents = changes(folder, text)
    document = documents[str(folder / "program.py")]
    return document.after(tuple(combined(found))).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "import multiprocessing\n\nblock = multiprocessing.shared_memory.SharedMemory\n",
            (
                "import multiprocessing\nimport multiprocessing.shared_memory\n\n"
                "block = multiprocessing.shared_memory.SharedMemory\n"
            ),
        ),
        (
            (
                "import torch\nimport torch.multiprocessing as mp\n\n\ndef two():\n"
                "    return mp.pool.ThreadPool(2), mp.pool.Pool(2)  # both\n"
            ),
            (
                "import multiprocessing.pool\n\nimport torch\nimport torch.multiprocessing as mp\n\n\ndef two():\n"
                "    return multiprocessing.pool.ThreadPool(2), multiprocessing.pool.Pool(2)  # both\n"
            ),
        ),
        (
            "from torch import multiprocessing\n\n\nclass Board(multiprocessing.managers.BaseManager):\n    pass\n",
            (
                "import multiprocessing.managers as multiprocessing_2\n\nfrom torch import multiprocessing\n\n\n"
                "class Board(multiprocessing_2.BaseManager):\n    pass\n"
            ),
        ),
    ],
)
def test_submodule_is_imported(before: str, after: str, tmp_path: Path) -> None:
    found, _ = changes(tmp_path, before)
    assert found and all(change.is_safe for change in found)
    assert fixed(tmp_path, before) == after
    assert fixed(tmp_path, after) == after


WORKER = """\
import os
import sys
from multiprocessing import Pool


def half(number):
    if number < 0:
        {exit}  # bad
    return number / 2


def main():
    with Pool(2) as pool:
        print(pool.map(half, [1, -1]))
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sys.exit()", 'raise RuntimeError("half: the worker stopped")'),
        ('sys.exit("no half")', 'raise RuntimeError("no half")'),
        ("os._exit(3)", 'raise RuntimeError("half: exit code 3")'),
        ("raise SystemExit(f'{number}')", "raise RuntimeError(f'{number}')"),
        (
            "sys.exit(  # bad\n            -1  # status\n        )",
            '# bad\n        # status\n        raise RuntimeError("half: exit code -1")',
        ),
        ("quit()", 'raise RuntimeError("half: the worker stopped")'),
        ("raise SystemExit", 'raise RuntimeError("half: the worker stopped")'),
        (
            "print(f'{number} has no half', file=sys.stderr)\n        sys.exit(1)",
            "print(f'{number} has no half', file=sys.stderr)\n        raise RuntimeError(f'{number} has no half')",
        ),
        (
            'print("bad:", number)\n        sys.exit(1)',
            'print("bad:", number)\n        raise RuntimeError(f"bad: {number}")',
        ),
        ("print(number)\n        sys.exit(1)", 'print(number)\n        raise RuntimeError(f"half: {number}")'),
        (
            'print("bad:", number / 2)\n        sys.exit(1)',
            'print("bad:", number / 2)\n        raise RuntimeError("half: exit code 1")',
        ),
        (
            'print("{} has no half".format(number))\n        sys.exit(1)',
            'print("{} has no half".format(number))\n        raise RuntimeError("{} has no half".format(number))',
        ),
        (
            'print("%s has no half" % number)\n        sys.exit(1)',
            'print("%s has no half" % number)\n        raise RuntimeError("%s has no half" % number)',
        ),
    ],
)
def test_exit_becomes_exception(before: str, after: str, tmp_path: Path) -> None:
    text = WORKER.format(exit=before)
    found, _ = changes(tmp_path, text)
    assert [change.is_safe for change in found] == [False]
    assert fixed(tmp_path, text) == WORKER.format(exit=after)
    assert fixed(tmp_path, WORKER.format(exit=after)) == WORKER.format(exit=after)


@pytest.mark.parametrize(
    ("exit", "why"),
    [
        ("number or sys.exit()", "part of an expression"),
        ("os.abort()", "an abort"),
        ("os.kill(os.getpid(), 9)", "a signal"),
        ("try:\n            sys.exit(1)\n        except Exception:\n            raise", "would catch"),
    ],
)
def test_exit_stays(exit: str, why: str, tmp_path: Path) -> None:  # noqa: A002
    with pytest.raises(NotFixable, match=why):
        changes(tmp_path, WORKER.format(exit=exit))


def test_an_exit_on_the_line_of_its_condition(tmp_path: Path) -> None:
    text = WORKER.replace("if number < 0:\n        {exit}", "if number < 0: {exit}")
    after = text.format(exit='raise RuntimeError("half: exit code 1")')
    assert fixed(tmp_path, text.format(exit="sys.exit(1)")) == after
