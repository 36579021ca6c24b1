"""What is asked of a file's bytes, so that it is not parsed for nothing."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flake8_torchmp import source
from flake8_torchmp.semantics.codebase import Codebase
from flake8_torchmp.semantics.files import Extent
from flake8_torchmp.semantics.reach import Reach

THREADS = source.Words(rb"\bThread\b", [b"Thread"])


def codebase_of(folder: Path, **files: str) -> Codebase:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return Codebase(Extent(str(folder)))


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("from helpers import load\n", set()),
        ("from helpers import (\n    load,\n    other,\n)\n", set()),
        ("def load(path):\n    return path\n", set()),
        ('__all__ = ["load"]\n', set()),
        ("from helpers import load\n\nload(1)\n", {"called"}),
        ("from helpers import load\n\npool.map(load, paths)\n", {"given"}),
        ("from helpers import load\n\nThread(target=load).start()\n", {"renamed", "given"}),
        ("class Cached(load):\n    pass\n", {"derived", "given"}),
        ("@load\ndef other():\n    pass\n", {"called"}),
    ],
)
def test_what_a_file_does_with_a_name(tmp_path: Path, text: str, uses: set[str]) -> None:
    codebase = codebase_of(tmp_path, user=text)
    path = str(tmp_path / "user.py")
    found = codebase.uses(path, "load")
    assert uses <= found
    assert bool(found) == bool(uses)
    assert codebase.reads(path, "load") is bool(uses)


@pytest.mark.parametrize(
    ("text", "comes_to_one"),
    [
        ("import log\n\nlog.get(__name__)\n", False),
        ('import helpers\n\nEXAMPLE = """\nhelpers.begin()\n"""\n', False),
        ("from helpers import Starter\n\n\nclass Own(Starter):\n    name = len('own')\n", False),
        ("import helpers\n\n\ndef main():\n    helpers.begin()\n", False),
        ("import helpers\n\nhelpers.begin()\n", True),
        ("from helpers import begin\n\n\nclass Writer:\n    kept = begin()\n", True),
        ("from helpers import begin\n\n\n@begin\ndef main():\n    pass\n", True),
    ],
)
def test_what_an_import_comes_to(tmp_path: Path, text: str, comes_to_one: bool) -> None:
    codebase = codebase_of(
        tmp_path,
        user=text,
        log="import threading\n\n_lock = threading.Lock()\n\n\ndef get(name):\n    with _lock:\n        return name\n",
        helpers="from threading import Thread\n\n\ndef begin(work=None):\n    Thread(target=work).start()\n"
        "\n\nclass Starter:\n    def run(self):\n        begin()\n",
    )
    assert Reach(codebase, THREADS).comes_by_import(str(tmp_path / "user.py")) is comes_to_one


@given(st.text(st.sampled_from("ab_1 .\n\té(")), st.text(st.sampled_from("ab_1"), min_size=1))
def test_the_words_of_a_file_are_those_that_a_search_finds(text: str, word: str) -> None:
    data, wanted = text.encode(), word.encode()
    assert (wanted in source.words(data)) == (next(source.places(wanted, data), None) is not None)
