"""What the engine keeps and what it undoes, with codemods that are made up here."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from fixes.mending import mended

from flake8_torchmp.fixes.change import Change, Edit, NotFixable
from flake8_torchmp.fixes.engine import MOST_ROUNDS, UNSAFE

if TYPE_CHECKING:
    from collections.abc import Callable

    from flake8_torchmp.findings import Repair
    from flake8_torchmp.fixes.document import Document, Documents

    Codemod = Callable[[Document, Repair], Change]
    Install = Callable[[Codemod], None]

HEAD = """\
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, root):
        self.root = root

    def __getitem__(self, index):
        return open(f"{self.root}/{index}.txt").read()


"""


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes a codemod the one that mends TMP501."""

    def put(codemod: Codemod) -> None:
        module = ModuleType("absolute_path")

        def change(repair: Repair, documents: Documents) -> Change:
            return codemod(documents[repair.path], repair)

        module.change = change  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "flake8_torchmp.fixes.absolute_path", module)

    return put


def literal(document: Document, repair: Repair) -> tuple[int, int]:
    return document.offset(repair.line, repair.column), document.offset(repair.end_line, repair.end_column)


def put(text: str, what: str = "put", is_safe: bool = True) -> Codemod:
    def codemod(document: Document, repair: Repair) -> Change:
        return Change((Edit(document.path, *literal(document, repair), text),), is_safe, what)

    return codemod


def test_what_is_done_is_told(install: Install) -> None:
    install(put("'/data'"))
    result = mended({"main.py": f"{HEAD}a = Texts('one/a')\nb = Texts('two/b')\n"})
    assert result.files["main.py"] == f"{HEAD}a = Texts('/data')\nb = Texts('/data')\n"
    assert [(fix.finding.line, fix.what, fix.is_safe) for fix in result.fixes] == [(12, "put", True), (13, "put", True)]
    assert not result.left


def test_a_fix_that_mends_nothing_is_undone_alone(install: Install) -> None:
    def codemod(document: Document, repair: Repair) -> Change:
        start, end = literal(document, repair)
        text = "'still/relative'" if "bad" in document.text[start:end] else "'/data'"
        return Change((Edit(document.path, start, end, text),), True, "put")

    install(codemod)
    result = mended({"main.py": f"{HEAD}a = Texts('bad/a')\nb = Texts('two/b')\nc = Texts('three/c')\n"})
    assert result.files["main.py"] == f"{HEAD}a = Texts('bad/a')\nb = Texts('/data')\nc = Texts('/data')\n"
    assert [(left.finding.line, left.reason) for left in result.left] == [(12, "its finding would stay")]


def test_a_fix_that_does_not_compile_is_undone_alone(install: Install) -> None:
    def codemod(document: Document, repair: Repair) -> Change:
        start, end = literal(document, repair)
        text = "return" if "bad" in document.text[start:end] else "'/data'"
        return Change((Edit(document.path, start, end, text),), True, "put")

    install(codemod)
    names = [*"abcdefg", "bad", *"hij"]
    result = mended({"main.py": HEAD + "".join(f"{name} = Texts('x/{name}')\n" for name in names)})
    assert result.files["main.py"] == HEAD + "".join(
        f"{name} = Texts({'/data' if name != 'bad' else 'x/bad'!r})\n" for name in names
    )
    (left,) = result.left
    assert "would not compile: SyntaxError" in left.reason


def test_a_fix_that_brings_another_finding_is_undone(install: Install) -> None:
    def codemod(document: Document, repair: Repair) -> Change:
        edits = (
            Edit(document.path, *literal(document, repair), "'/data'"),
            Edit(
                document.path,
                len(document.text),
                len(document.text),
                "DataLoader(a, num_workers=2, multiprocessing_context='spawn', collate_fn=lambda x: locals())\n",
            ),
        )
        return Change(edits, True, "put")

    install(codemod)
    text = f"{HEAD}a = Texts('one/a')\n"
    result = mended({"main.py": text})
    assert result.files["main.py"] == text
    assert "it would bring TMP301 in main.py:13" in result.left[0].reason


def test_findings_that_only_move_are_not_new(install: Install) -> None:
    def codemod(document: Document, repair: Repair) -> Change:
        edits = (
            Edit(document.path, 0, 0, "import os\nimport abc\n"),
            Edit(document.path, *literal(document, repair), "'/data'"),
        )
        return Change(edits, True, "put")

    install(codemod)
    rest = "loader = DataLoader(a, num_workers=2, collate_fn=lambda x: locals())\n"
    result = mended({"main.py": f"{HEAD}a = Texts('one/a')\n{rest}"})
    assert result.files["main.py"] == f"import os\nimport abc\n{HEAD}a = Texts('/data')\n{rest}"
    assert [fix.finding.line for fix in result.fixes if fix.finding.code == "TMP501"] == [12]
    assert all(left.finding.line == 13 for left in result.left), "as it stands in the file that people have"


def test_findings_in_moved_text_are_not_new(install: Install) -> None:
    """A statement that goes under a guard takes its other findings along."""

    def codemod(document: Document, repair: Repair) -> Change:
        start = document.line_start(literal(document, repair)[0])
        text = document.text[start:].replace("'one/a'", "'/data'").replace("\n", "\n    ").rstrip(" ")
        return Change((Edit(document.path, start, len(document.text), f"if True:\n    {text}"),), True, "put")

    install(codemod)
    result = mended({"main.py": f"{HEAD}a = Texts('one/a')\nb = Texts('x/b')\n"})
    assert "if True:\n    a = Texts('/data')\n    b = Texts(" in result.files["main.py"]
    assert [fix.finding.code for fix in result.fixes][:1] == ["TMP501"]


def test_overlapping_fixes_wait_for_the_next_round(install: Install) -> None:
    def codemod(document: Document, repair: Repair) -> Change:
        start, end = literal(document, repair)
        first, last = document.line_start(start), document.line_after(end)
        line = document.text[first:start] + "'/data'" + document.text[end:last]
        return Change((Edit(document.path, first, last, line),), True, "put")

    install(codemod)
    result = mended({"main.py": f"{HEAD}a = Texts('one/a'), Texts('two/b')\n"})
    assert result.files["main.py"] == f"{HEAD}a = Texts('/data'), Texts('/data')\n"
    assert [(fix.finding.line, fix.finding.column) for fix in result.fixes] == [(12, 10), (12, 26)]


def test_unsafe_fixes_are_for_those_who_ask(install: Install) -> None:
    install(put("'/data'", is_safe=False))
    text = f"{HEAD}a = Texts('one/a')\n"
    assert [left.reason for left in mended({"main.py": text}).left] == [UNSAFE]
    assert mended({"main.py": text}, unsafe=True).files["main.py"] == f"{HEAD}a = Texts('/data')\n"


def test_a_codemod_that_declines_or_fails(install: Install) -> None:
    text = f"{HEAD}a = Texts('one/a')\n"

    def declines(_document: Document, _repair: Repair) -> Change:
        raise NotFixable("not today")

    install(declines)
    assert [left.reason for left in mended({"main.py": text}).left] == ["not today"]

    def fails(_document: Document, _repair: Repair) -> Change:
        raise ZeroDivisionError("oops")

    install(fails)
    assert [left.reason for left in mended({"main.py": text}).left] == [
        "the codemod absolute_path failed: ZeroDivisionError: oops"
    ]

    def nothing(_document: Document, _repair: Repair) -> Change:
        return Change((), True, "nothing")

    install(nothing)
    assert [left.reason for left in mended({"main.py": text}).left] == ["there is nothing to change"]


def test_a_fix_of_several_files(install: Install) -> None:
    def codemod(document: Document, repair: Repair) -> Change:
        other = document.path.replace("main.py", "other.py")
        edits = (Edit(document.path, *literal(document, repair), "'/data'"), Edit(other, 0, 0, "X = 1\n"))
        return Change(edits, True, "put")

    install(codemod)
    files = {"main.py": f"{HEAD}a = Texts('one/a')\n", "other.py": "Y = 1\n"}
    result = mended(files)
    assert result.files == {"main.py": f"{HEAD}a = Texts('/data')\n", "other.py": "X = 1\nY = 1\n"}
    assert [len(fix.paths) for fix in result.fixes] == [2]
    broken = {**files, "other.py": "def\n"}
    result = mended(broken)
    assert result.files == broken, "all or none"
    assert "would not compile" in result.left[0].reason


def test_generated_files_are_left(install: Install) -> None:
    install(put("'/data'"))
    text = f"# @{'generated'} by a tool\n{HEAD}a = Texts('one/a')\n"
    result = mended({"main.py": text})
    assert result.files["main.py"] == text
    assert [left.reason for left in result.left] == ["main.py is generated"]


def test_rounds_end(install: Install) -> None:
    """Each round mends the finding of the one before, and shows that there was one more all along."""
    texts = [f"a{n} = Texts('x/{n}')\n" for n in range(MOST_ROUNDS + 2)]

    def codemod(document: Document, repair: Repair) -> Change:
        start, end = literal(document, repair)
        first = document.text.index("a0")
        return Change(
            (
                Edit(
                    document.path, first, len(document.text), document.text[first:start] + "'/d'" + document.text[end:]
                ),
            ),
            True,
            "put",
        )

    install(codemod)
    result = mended({"main.py": HEAD + "".join(texts)})
    assert len(result.fixes) == MOST_ROUNDS
    assert [left.reason for left in result.left] == [f"not done after {MOST_ROUNDS} rounds"] * 2


def test_what_a_fix_would_bring_is_mended_with_it() -> None:
    before = {
        "run.py": "import multiprocessing as mp\n\nfrom work import go\n\n\ndef main():\n"
        '    go(mp.get_context("fork"))\n\n\nif __name__ == "__main__":\n    main()\n',
        "work.py": "def go(context):\n    context.Process(target=lambda: print(1)).start()\n",
    }
    result = mended(before, unsafe=True)
    assert 'get_context("spawn")' in result.files["run.py"]
    assert result.files["work.py"] == (
        "def _task():\n    return print(1)\n\n\ndef go(context):\n    context.Process(target=_task).start()\n"
    )
    assert [fix.finding.code for fix in result.fixes] == ["TMP101"]
    assert not result.left
    refused = mended({**before, "work.py": before["work.py"].replace("print(1)", "locals()")}, unsafe=True)
    assert refused.files["run.py"] == before["run.py"]
    assert "it would bring TMP301" in refused.left[0].reason


def test_a_file_that_can_start_nothing_any_more_has_no_finding() -> None:
    """Before its call stood under the guard, the file was looked at for what it calls in other files."""
    files = {
        "run.py": "from study import fit\n\nfit(3)\n",
        "study.py": "import torch.multiprocessing as mp\n\n\ndef work(rank):\n    print(rank)\n\n\n"
        "def fit(n):\n    mp.spawn(work, nprocs=n)\n",
    }
    result = mended(files)
    assert result.files["run.py"] == 'from study import fit\n\nif __name__ == "__main__":\n    fit(3)\n'
    assert not result.left
