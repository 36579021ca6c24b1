from __future__ import annotations

import pytest
from fixes.mending import mended, mended_text

HEAD = """\
from pathlib import Path
import torchvision
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, root):
        self.root = root

    def __getitem__(self, index):
        return open(f"{self.root}/{index}.txt").read()


"""

SAFE = {
    'texts = Texts("data/train")\n': 'texts = Texts(os.path.abspath("data/train"))\n',
    'texts = Texts(root="data" "/train")  # é\n': 'texts = Texts(root=os.path.abspath("data" "/train"))  # é\n',
    'texts = Texts("data/")\n': 'texts = Texts(os.path.abspath("data/") + "/")\n',
    'digits = torchvision.datasets.MNIST("data/")\n': 'digits = torchvision.datasets.MNIST(os.path.abspath("data/"))\n',
    'texts = Texts(Path("data"))\n': 'texts = Texts(Path("data").resolve())\n',
    'texts = Texts(Path("data") / "train")\n': 'texts = Texts((Path("data") / "train").resolve())\n',
    'texts = Texts((Path("data") / "train"))\n': 'texts = Texts(((Path("data") / "train").resolve()))\n',
    'texts = Texts(str(Path("data")))\n': 'texts = Texts(str(Path("data").resolve()))\n',
    'ROOT = "data/train"\ntexts = Texts(ROOT)\n': 'ROOT = os.path.abspath("data/train")\ntexts = Texts(ROOT)\n',
    'ROOT: str = "data/train"\ntexts = Texts(root=ROOT)\n': (
        'ROOT: str = os.path.abspath("data/train")\ntexts = Texts(root=ROOT)\n'
    ),
}


@pytest.mark.parametrize("before", SAFE)
def test_safe(before: str) -> None:
    after = mended_text(HEAD + before)
    added = "import os\n" if "os." in SAFE[before] else ""
    assert after == added + HEAD + SAFE[before]
    assert mended_text(after) == after


UNSAFE = {
    "joined elsewhere": 'import os\nROOT = "data/train"\ntexts = Texts(ROOT)\nlog = os.path.join("logs", ROOT)\n',
    "in a text": 'ROOT = "data/train"\ntexts = Texts(ROOT)\nprint(f"logs/{ROOT}")\n',
    "a default": 'def make(root="data/train"):\n    return Texts(root)\nmake()\n',
    "in a table": 'ROOTS = {"train": "data/train"}\ntexts = Texts(ROOTS["train"])\n',
}


@pytest.mark.parametrize("case", UNSAFE)
def test_unsafe(case: str) -> None:
    text = HEAD + UNSAFE[case]
    assert mended_text(text) == text
    assert 'os.path.abspath("data/train")' in mended_text(text, unsafe=True)


def test_a_slash_at_the_end_of_a_part() -> None:
    text = f'{HEAD}texts = Texts("data/" if HERE else ROOT)\n'
    assert mended_text(text, unsafe=True).endswith('Texts((os.path.abspath("data/") + "/") if HERE else ROOT)\n')


def test_a_constant_that_other_modules_import() -> None:
    files = {"main.py": f'{HEAD}ROOT = "data/train"\ntexts = Texts(ROOT)\n', "other.py": "from main import ROOT\n"}
    assert mended(files).files == files
    assert "abspath" in mended(files, unsafe=True).files["main.py"]


def test_the_function_that_is_imported_already() -> None:
    text = f'from os.path import abspath\n{HEAD}texts = Texts("data/train")\n'
    assert mended_text(text) == text.replace('"data/train"', 'abspath("data/train")')
