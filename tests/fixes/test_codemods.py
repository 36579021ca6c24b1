"""The fixes as libcst runs them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from libcst.codemod import CodemodTest

from flake8_torchmp import codemods
from flake8_torchmp.codemods import torchmp

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = """\
    from torch.utils.data import Dataset

    class Texts(Dataset):
        def __init__(self, root):
            self.root = root

        def __getitem__(self, index):
            return open(f"{self.root}/{index}.txt").read()

    texts = Texts("data/train")
    """
AFTER = """\
    import os

    from torch.utils.data import Dataset

    class Texts(Dataset):
        def __init__(self, root):
            self.root = root

        def __getitem__(self, index):
            return open(f"{self.root}/{index}.txt").read()

    texts = Texts(os.path.abspath("data/train"))
    """


class TestFix(CodemodTest):
    TRANSFORM = codemods.FixCommand

    def test_mends_and_is_then_done(self) -> None:
        self.assertCodemod(BEFORE, AFTER)
        self.assertCodemod(AFTER, AFTER)

    def test_unsafe(self) -> None:
        before = BEFORE.replace('"data/train"', '{1: "data/train"}[1]')
        after = AFTER.replace('os.path.abspath("data/train")', '{1: os.path.abspath("data/train")}[1]')
        self.assertCodemod(before, before, expected_warnings=[
            "line 10: TMP501 left: its fix may change what the program does: --unsafe-fixes applies it"
        ])  # fmt: skip
        self.assertCodemod(before, after, unsafe_fixes=True)

    def test_silenced(self) -> None:
        before = BEFORE.replace('train")', 'train")  # noqa: TMP501')
        self.assertCodemod(before, before)


class TestAbsolutePath(CodemodTest):
    TRANSFORM = codemods.AbsolutePathCommand

    def test_mends(self) -> None:
        self.assertCodemod(BEFORE, AFTER)


def test_there_is_no_such_command() -> None:
    with pytest.raises(AttributeError):
        _ = codemods.NoCommand
    assert {"FixCommand", "AbsolutePathCommand"} <= set(dir(torchmp))


def tool(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "libcst.tool", *arguments], cwd=folder, text=True, capture_output=True, check=False
    )


def test_listed_and_run_by_libcst(tmp_path: Path) -> None:
    (tmp_path / ".libcst.codemod.yaml").write_text('modules: ["flake8_torchmp.codemods"]\n')
    listed = tool(tmp_path, "list").stdout
    assert "torchmp.FixCommand - Mends all that torchmp finds" in listed
    assert "No description" not in listed
    assert "torchmp.AbsolutePathCommand - A relative path becomes absolute" in listed
    (tmp_path / ".libcst.codemod.yaml").unlink()
    source, wanted = (text.replace("\n    ", "\n").lstrip().encode() for text in (BEFORE, AFTER))
    data = b"# coding: latin-1\r\n# \xe4\r\n" + source.replace(b"\n", b"\r\n")
    (tmp_path / "a.py").write_bytes(data)
    (tmp_path / "b.py").write_bytes(b"x = 1\n")
    done = tool(tmp_path, "codemod", "--no-format", "-x", "flake8_torchmp.codemods.FixCommand", ".")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.py").read_bytes() == b"# coding: latin-1\r\n# \xe4\r\n" + wanted.replace(b"\n", b"\r\n")
