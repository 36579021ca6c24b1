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
    'texts = Texts("data/")\n': 'texts = Texts(os.path.abspath("data/"))\n',
    'texts = Texts("data/")\nprint(texts.root + "log")\n': (
        'texts = Texts(os.path.abspath("data/") + "/")\nprint(texts.root + "log")\n'
    ),
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


BRANCHES = """\
import os
NAME = "small"
if NAME == "large":
    size = 2
    root = "data/large/"
elif NAME == "small":
    root = {small}
else:
    root = {other}
texts = Texts(root)
"""


def test_the_other_branches_of_a_choice_are_alike() -> None:
    text = HEAD + BRANCHES.format(small='"data/small"', other='"data/tiny"')
    after = HEAD + BRANCHES.format(small='os.path.abspath("data/small")', other='os.path.abspath("data/tiny")')
    assert mended_text(text, unsafe=True) == after.replace('"data/large/"', 'os.path.abspath("data/large/") + "/"')


JOINING = HEAD.replace('f"{self.root}/{index}.txt"', "{opened}")
SLASHES = {
    'os.path.join(self.root, f"{index}.txt")': "",
    'f"{self.root}/{index}.txt"': "",
    'self.root + "/0.txt"': "",
    "Path(self.root) / str(index)": "",
    'f"{self.root}{index}.txt"': ' + "/"',
    'self.root + "0.txt"': ' + "/"',
}


def test_a_slash_for_a_path_that_a_method_joins() -> None:
    text = """\
import os
from torch.utils.data import Dataset
class Speech(Dataset):
    def __init__(self, root, url=""):
        self._find(root, url)
    def _find(self, root, url):
        root = os.fspath(root)
        self.rows = open(os.path.join(root, "rows.csv")).readlines()
Speech("./")
"""
    assert mended_text(text) == text.replace('"./"', 'os.path.abspath("./")')
    text = text.replace('os.path.join(root, "rows.csv")', 'root + "rows.csv"')
    assert mended_text(text) == text.replace('"./"', 'os.path.abspath("./") + "/"')


@pytest.mark.parametrize("opened", SLASHES)
def test_a_slash_at_the_end_stays_where_it_is_needed(opened: str) -> None:
    slash, head = SLASHES[opened], "import os\n" + JOINING.replace("{opened}", opened)
    text = head + 'texts = Texts(root="data/")\n'
    assert mended_text(text) == head + f'texts = Texts(root=os.path.abspath("data/"){slash})\n'
    text = head + 'PLACE = "data/"\ntexts = Texts(PLACE)\n'
    assert mended_text(text) == head + f'PLACE = os.path.abspath("data/"){slash}\ntexts = Texts(PLACE)\n'
    joined = head + 'PLACE = "data/"\ntexts = Texts(os.path.join(PLACE, "train"))\n'
    assert mended_text(joined) == joined.replace('"data/"', 'os.path.abspath("data/")')
    text += "prepare(PLACE)\n"
    assert 'PLACE = os.path.abspath("data/") + "/"\n' in mended_text(text)


def test_a_slash_through_a_function_that_only_hands_the_path_on() -> None:
    head = "import os\n" + JOINING.replace("{opened}", 'os.path.join(self.root, f"{index}.txt")')
    text = head + "def loader(place, size):\n    texts = Texts(root=place)\n    return DataLoader(texts, size)\n"
    assert mended_text(f'{text}loader("data/", 2)\n') == f'{text}loader(os.path.abspath("data/"), 2)\n'
    text = text.replace("    texts =", "    print(place + 'log')\n    texts =")
    assert mended_text(f'{text}loader("data/", 2)\n') == f'{text}loader(os.path.abspath("data/") + "/", 2)\n'


@pytest.mark.parametrize("part", ["0", "-1"])
def test_parts_that_are_counted_from_the_beginning(part: str) -> None:
    label = f'        self.kind = root.split("/")[{part}]\n'
    text = "import os\n" + HEAD.replace("        self.root = root\n", f"        self.root = root\n{label}")
    text += 'Texts("data/train")\n'
    assert ("abspath" in mended_text(text)) == (part == "-1")
    assert "abspath" in mended_text(text, unsafe=True)


def test_a_path_in_a_test_stays() -> None:
    files = {
        "texts.py": f"{HEAD}def make(root):\n    return Texts(root)\n",
        "test_texts.py": 'from texts import make\n\n\ndef test_texts():\n    assert make("data/train")\n',
    }
    assert mended(files, unsafe=True).files == files
    files["main.py"] = files.pop("test_texts.py").replace("test_texts", "main")
    assert "abspath" in mended(files).files["main.py"]


UNSAFE = {
    "joined elsewhere": 'import os\nROOT = "data/train"\ntexts = Texts(ROOT)\nlog = os.path.join("logs", ROOT)\n',
    "in a text": 'ROOT = "data/train"\ntexts = Texts(ROOT)\nprint(f"logs/{ROOT}")\n',
    "a default": 'def make(root="data/train"):\n    return Texts(root or ROOT)\nmake()\n',
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


PARAMETERS = {
    'def make(root="data/train"):\n    """All."""\n    # first\n    return Texts(root)\nmake()\n': (
        'def make(root="data/train"):\n    """All."""\n    root = os.path.abspath(root)\n    # first\n'
        "    return Texts(root)\nmake()\n"
    ),
    "class Two(Dataset):\n    def __init__(self, root='data'):\n        super().__init__()\n"
    "        root = os.path.join(root, 'x')\n        self.names = os.listdir(root)\nTwo()\n": (
        "class Two(Dataset):\n    def __init__(self, root='data'):\n        super().__init__()\n"
        "        root = os.path.abspath(root)\n        root = os.path.join(root, 'x')\n"
        "        self.names = os.listdir(root)\nTwo()\n"
    ),
}


@pytest.mark.parametrize("before", PARAMETERS)
def test_a_parameter_is_made_absolute_where_the_function_begins(before: str) -> None:
    text = "import os\n" + HEAD + before
    assert mended_text(text, only="TMP501") == text
    assert mended_text(text, unsafe=True, only="TMP501") == "import os\n" + HEAD + PARAMETERS[before]


@pytest.mark.parametrize("use", ["root / 'x'", "root.joinpath('x')", "root if root is not None else ROOT"])
def test_a_parameter_that_may_be_no_text_keeps_its_type(use: str) -> None:
    text = HEAD + f"import os\nROOT = '/data'\ndef make(root='data/train'):\n    use({use})\n"
    text += "    return Texts(root)\nmake()\n"
    assert "root=os.path.abspath('data/train')" in mended_text(text, unsafe=True)


def test_a_slash_for_a_path_that_a_base_class_joins() -> None:
    text = """\
import os
from torch.utils.data import Dataset
class Stored(Dataset):
    def __init__(self, root=None):
        if isinstance(root, str):
            root = os.path.expanduser(root)
        self.root = root or "stored"
        self.rows = open(os.path.join(self.root, "rows.csv")).readlines()
class Molecules(Stored):
    def __init__(self, root, split):
        super().__init__(root)
Molecules(root="disk/", split="val")
"""
    assert mended_text(text) == text.replace('"disk/"', 'os.path.abspath("disk/")')
