"""Imports go with their last use."""

from __future__ import annotations

import pytest
from fixes.mending import mended_text

from flake8_torchmp.fixes.change import Edit
from flake8_torchmp.fixes.change import applied as with_edits
from flake8_torchmp.fixes.document import Document
from flake8_torchmp.fixes.unused_imports import unused_after

AFTER = {
    "import os\n\nimport torch\n\nos.quit()\n": "import torch\n\npass\n",
    "import torch\nimport os\n\n\nos.quit()\n": "import torch\n\n\npass\n",
    '"""Doc."""\n\nimport os\n\nos.quit()\n': '"""Doc."""\n\npass\n',
    "import sys, os, io\nos.quit()\n": "import sys, io\npass\n",
    "from os import abort, path\nabort()\npath.join()\n": "from os import path\npass\npath.join()\n",
    "import os\n\nfrom sys import quit\n\nos.quit()\nsys.os\n": "from sys import quit\n\npass\nsys.os\n",
    "import torch\r\nimport torch.multiprocessing as mp\r\nmp.quit()\r\n": "import torch\r\npass\r\n",
}


def edited(text: str) -> str:
    """With the first call made a `pass`, and the imports that this leaves unused taken out."""
    document = Document("main.py", text.encode())
    call = next(part for part in ("os.quit()", "mp.quit()", "abort()") if part in text)
    edit = Edit("main.py", text.index(call), text.index(call) + len(call), "pass")
    return with_edits(text, [edit, *unused_after(document, [edit])])


@pytest.mark.parametrize("before", AFTER)
def test_the_last_use_is_gone(before: str) -> None:
    assert edited(before) == AFTER[before]


@pytest.mark.parametrize(
    "before",
    [
        "import os\nos.quit()\nos.getpid()\n",
        "import os  # noqa: F401\nos.quit()\n",
        "import os\n__all__ = ['os']\nos.quit()\n",
        "import torch.multiprocessing as mp\nmp.quit()\n",
        "import helpers as os\nos.quit()\n",
        "from . import os\nos.quit()\n",
        "from __future__ import annotations\nimport os.path\nos.quit()\n",
        "try:\n    import os\nexcept ImportError:\n    os = None\nos.quit()\n",
        "import os; import sys\nos.quit()\n",
    ],
)
def test_other_imports_stay(before: str) -> None:
    assert edited(before) == before.replace("os.quit()", "pass").replace("mp.quit()", "pass")


def test_two_fixes_take_the_last_uses() -> None:
    text = """import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index > 8:
            sys.exit(1)
        if index < 0:
            sys.exit(2)
        return torch.tensor(index)


def main():
    return list(DataLoader(Rows(), num_workers=2))
"""
    after = mended_text(text, unsafe=True)
    assert after.startswith("import torch\n")
    assert "sys" not in after
    assert mended_text(text) == text
