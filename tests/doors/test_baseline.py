"""Known findings of legacy code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doors.calling import Command, Project

ENTRIES = """\
["a.py", "TMP301", "bad_TMP301"]
["a.py", "TMP301", "bad_TMP301"]
["sub/b.py", "TMP302", "x = bad_TMP302"]
"""


def test_only_what_is_new_is_reported(project: Project, torchmp: Command) -> None:
    folder = project(a_py="bad_TMP301\nbad_TMP301\n", sub__b_py="x =  bad_TMP302\n")
    written = torchmp("check", "--baseline", "known.txt", "--write-baseline")
    assert (written.code, written.out) == (0, "")
    assert (folder / "known.txt").read_text() == ENTRIES
    assert torchmp("check", "--baseline", "known.txt").code == 0
    project(a_py="y = 1\n\n  \nbad_TMP301\nif y:\n    bad_TMP301\n", sub__b_py="x = bad_TMP302\nx = bad_TMP301\n")
    result = torchmp("check", "--baseline", "known.txt")
    assert (result.code, result.lines) == (1, ["./sub/b.py:2:5: TMP301 bad_TMP301 reaches a worker"])
    project(a_py="bad_TMP301\n" * 3, sub__b_py="x = bad_TMP302\n")
    assert torchmp("check", "--baseline", "known.txt").lines == ["./a.py:3:1: TMP301 bad_TMP301 reaches a worker"]


def test_it_shrinks(project: Project, torchmp: Command) -> None:
    folder = project(a_py="bad_TMP301\nbad_TMP301\n", sub__b_py="x = bad_TMP302\n", c_py="bad_TMP301\n")
    torchmp("check", "--write-baseline", "known.txt")
    project(a_py="bad_TMP301\n", sub__b_py="y = 1\n")
    (folder / "c.py").unlink()
    result = torchmp("check", "--baseline", "known.txt", "a.py")
    assert (result.code, result.err) == (
        0,
        "torchmp: 2 findings of the baseline cannot be found any longer; --write-baseline drops them\n",
    )
    torchmp("check", "--baseline", "known.txt", "--write-baseline", "a.py")
    assert (folder / "known.txt").read_text().splitlines() == ENTRIES.splitlines()[1:], "sub was not checked"
    torchmp("check", "--baseline", "known.txt", "--write-baseline", ".")
    assert (folder / "known.txt").read_text() == '["a.py", "TMP301", "bad_TMP301"]\n'


def test_it_means_the_same_from_every_folder(project: Project, torchmp: Command) -> None:
    folder = project(sub__b_py="x = bad_TMP302\n", known="", sub__a_py="bad_TMP301\n")
    torchmp("check", "--write-baseline", "sub/known.txt", str(folder))
    assert (folder / "sub/known.txt").read_text().startswith('["a.py", "TMP301"')
    assert torchmp("check", "--baseline", str(folder / "sub/known.txt"), "sub/a.py").code == 0


def test_what_cannot_be_read(project: Project, torchmp: Command) -> None:
    folder = project(a_py="bad_TMP301\n", known_py="no entry\n")
    (folder / "latin").write_bytes(b"\xe4\n")
    for file, problem in (
        ("missing", "missing: No such file or directory"),
        ("known.py", "known.py:1: no entry of a baseline"),
        ("latin", "latin: it is not UTF-8"),
    ):
        result = torchmp("check", "a.py", "--baseline", file)
        assert (result.code, result.err) == (2, f"torchmp: error: --baseline: {problem}\n")
    assert torchmp("check", "a.py", "--write-baseline").code == 2
    assert torchmp("check", "a.py", "--write-baseline", "missing/known").code == 2
