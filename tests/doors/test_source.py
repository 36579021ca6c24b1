from __future__ import annotations

import ast
import io
import os
import stat
import tokenize
import warnings
from typing import TYPE_CHECKING

import pytest

from flake8_torchmp import source
from flake8_torchmp.semantics.codebase import Codebase
from flake8_torchmp.semantics.files import Extent

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x = 1\n",
        b"x = 'caf\xc3\xa9'\n",
        b"\xef\xbb\xbfx = 'caf\xc3\xa9'\n",
        b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
        b"# -*- coding: latin-1 -*-\nx = 'caf\xe9'\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = 'caf\xe9'\n",
        b"\x0c# coding: latin-1\nx = 'caf\xe9'\n",
        b"x = 1\n# coding: latin-1\n",
        b"\n\n# coding: latin-1\n",
        b"x = 1\r\ny = 2\r\n",
        b"x = 1\ry = 2\r",
        b"# coding: shift_jis\nx = '\x83\x65'\n",
    ],
)
def test_text_is_decoded_as_python_decodes_it(data: bytes) -> None:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    expected = io.TextIOWrapper(io.BytesIO(data), encoding).read()
    assert source.decode(data) == expected
    source.parse(data, "a.py")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x = 'caf\xe9'\n", "codec can't decode"),
        (b"# coding: no-such-codec\n", "unknown encoding: no-such-codec"),
        (b"# coding: rot13\nx = 1\n", "no"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "encoding"),
        (b"x = 1\0\n", "null bytes"),
        (b"def f(:\n", "line 1"),
        (b"print 'x'\n", "line 1"),
        (b"(" * 5000, "cannot be parsed"),
        (b"x = " + b"-" * 300_000 + b"1", "cannot be parsed"),
        ("x = 1".encode("utf-16"), "cannot be parsed"),
    ],
)
def test_what_python_refuses_is_one_clear_line(data: bytes, problem: str) -> None:
    with pytest.raises(source.Unreadable) as refused:
        source.parse(data, "a.py")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "data", [b"x = 'caf\xe9'\n", b"# coding: no-such-codec\n", b"# coding: hex\nx", b"\xef\xbb\xbf# coding: latin-1\n"]
)
def test_what_cannot_be_decoded_is_one_clear_line(data: bytes) -> None:
    with pytest.raises(source.Unreadable):
        source.decode(data)


def test_warnings_of_the_parsed_program_are_not_shown() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source.parse(b"x = '\\d'\nassert (1, 'x')\n1 is 1\n", "a.py")


def test_text_decoded_elsewhere_comes_back_in_its_declared_encoding() -> None:
    text = "# coding: latin-1\nx = 'café'\n"
    assert source.encode(text) == text.encode("latin-1")
    assert source.decode(source.encode(text)) == text
    assert source.encode("x = 'café'\n") == "x = 'café'\n".encode()
    assert (
        source.decode(source.encode("# coding: nonsense\n").replace(b"nonsense", b"utf-8   ")) == "# coding: utf-8   \n"
    )


def test_columns_count_characters() -> None:
    line = "x = 'é漢🎉', bad"
    name = ast.parse(line).body[0]
    assert isinstance(name, ast.Assign) and isinstance(name.value, ast.Tuple)
    assert source.character_column(line, name.value.elts[1].col_offset) == line.index("bad")
    assert source.character_column("plain", 3) == 3


def test_a_form_feed_ends_no_line() -> None:
    text = "x = 1\n\x0cy = '\u2028'\nz = 3\n"
    tree = ast.parse(text)
    assert source.lines_of(text)[tree.body[2].lineno - 1] == "z = 3"


@pytest.mark.parametrize("repository", [True, False])
def test_a_project_begins_at_its_repository_even_below_other_configuration(repository: bool, tmp_path: Path) -> None:
    inner = tmp_path / "packages" / "a"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").touch()
    if repository:
        (tmp_path / ".git").mkdir()
    assert source.project_root(str(inner / "src" / "x.py")) == (tmp_path if repository else inner)


def test_a_project_without_marks_is_the_current_folder_or_what_is_above_its_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "work" / "top" / "sub"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert source.project_root(str(package / "x.py")) == tmp_path / "work"
    monkeypatch.chdir(tmp_path)
    assert source.project_root(str(package / "x.py")) == tmp_path


@pytest.mark.parametrize("mark", sorted(source.PROJECT_MARKS))
def test_the_projects_in_a_folder_that_is_none_itself_are_no_part_of_it(mark: str, tmp_path: Path) -> None:
    for name in ("script.py", "helpers/paths.py", "cloned/train.py", f"cloned/{mark}"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    own = [str(tmp_path / "helpers" / "paths.py"), str(tmp_path / "script.py")]
    assert Codebase(Extent(str(tmp_path))).files == own
    (tmp_path / "setup.cfg").touch()
    assert len(Codebase(Extent(str(tmp_path))).files) == 3, "a part of a project may look like one"


def test_writing_keeps_the_mode_and_writes_through_a_link(tmp_path: Path) -> None:
    file = tmp_path / "tool.py"
    file.write_text("old")
    file.chmod(0o755)
    link = tmp_path / "link.py"
    link.symlink_to(file)
    source.write_atomically(str(link), b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert sorted(os.listdir(tmp_path)) == ["link.py", "tool.py"]


def test_a_file_that_is_written_anew_gets_the_usual_mode(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    source.write_atomically(str(tmp_path / "new"), b"x")
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", refuse)
    (tmp_path / "a").write_text("old")
    with pytest.raises(OSError, match="no"):
        source.write_atomically(str(tmp_path / "a"), b"new")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_device_is_written_to_and_not_replaced() -> None:
    source.write_atomically(os.devnull, b"x")
    assert not os.path.isfile(os.devnull)


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.py", tmp_path):
        with pytest.raises(source.Unreadable) as refused:
            source.read(str(path))
        assert str(refused.value)
    with pytest.raises(source.Unreadable):
        source.read("a\0b")
