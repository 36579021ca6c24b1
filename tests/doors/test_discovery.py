from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flake8_torchmp.cli import discovery
from flake8_torchmp.options import EXCLUDED

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(*names: str, text: str = "") -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def _found(*paths: str, exclude: tuple[str, ...] = EXCLUDED) -> list[str]:
    return discovery.files_below(paths or (".",), lambda _: exclude)


@pytest.fixture(params=["git", "no git", "a repository without git"])
def with_or_without_git(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "git":
        if shutil.which("git") is None:
            pytest.skip("git is not installed")
        _git("init", "-q")
    elif request.param == "a repository without git":
        Path(".git").mkdir()
        monkeypatch.setenv("PATH", "")


@pytest.mark.usefixtures("with_or_without_git")
class TestAFolder:
    def test_has_its_python_files_in_order(self) -> None:
        _write("b.py", "a/z.py", "a/c.py", "a.txt", "a/noext", "stub.pyi", "ä.py")
        assert _found() == ["./a/c.py", "./a/z.py", "./b.py", "./ä.py"]
        assert _found("a") == ["a/c.py", "a/z.py"]
        assert _found("a/", "b.py", "a/z.py", "./b.py") == ["a/c.py", "a/z.py", "b.py"]

    def test_is_searched_without_what_flake8_leaves_out(self) -> None:
        _write("a.py", ".tox/x.py", "sub/.nox/x.py", "x.egg/a.py", "build/b.py")
        assert _found() == ["./a.py", "./build/b.py"]

    def test_is_searched_without_virtual_environments(self) -> None:
        _write("a.py", "env/pyvenv.cfg", "env/lib/x.py")
        assert _found() == ["./a.py"]
        assert _found("env") == ["env/lib/x.py"]

    def test_is_searched_without_what_is_ignored(self) -> None:
        _write(".gitignore", text="out/\n*_pb2.py\n!kept_pb2.py\n/top.py\n")
        _write("sub/.gitignore", text="here.py\n!x_pb2.py\n")
        _write("a.py", "out/x.py", "x_pb2.py", "kept_pb2.py", "top.py", "sub/top.py", "sub/here.py", "sub/x_pb2.py")
        assert _found() == ["./a.py", "./kept_pb2.py", "./sub/top.py", "./sub/x_pb2.py"]
        assert _found("sub") == ["sub/top.py", "sub/x_pb2.py"]

    def test_that_is_ignored_but_named_is_searched(self) -> None:
        _write(".gitignore", text="out/\n")
        _write("out/x.py", "out/deep/y.py")
        assert _found("out") == ["out/deep/y.py", "out/x.py"]
        assert _found("out/deep") == ["out/deep/y.py"]
        assert _found("out/x.py") == ["out/x.py"]

    def test_may_hold_links_in_circles_and_to_nowhere(self) -> None:
        _write("a/x.py")
        Path("a/loop").symlink_to("..")
        Path("a/self.py").symlink_to("self.py")
        Path("a/.#lock.py").symlink_to("user@host:1")
        Path("a/alias.py").symlink_to("x.py")
        Path("a/folder.py").mkdir()
        assert _found() == ["./a/alias.py", "./a/x.py"]

    def test_is_searched_without_what_patterns_leave_out(self) -> None:
        _write("a.py", "sub/a.py", "sub/deep/b.py", "gen/x.py")
        assert _found(exclude=("a.py",)) == ["./gen/x.py", "./sub/deep/b.py"]
        assert _found(exclude=("gen", os.path.abspath("sub/deep"))) == ["./a.py", "./sub/a.py"]
        assert _found("sub/a.py", exclude=("a.py",)) == []
        assert _found("gen", exclude=("gen",)) == []


@needs_git
class TestARepository:
    def test_counts_tracked_files_that_are_still_there(self) -> None:
        _git("init", "-q")
        _write(".gitignore", text="forced.py\n")
        _write("forced.py", "gone.py", "a.py")
        _git("add", "-f", ".")
        Path("gone.py").unlink()
        assert _found() == ["./a.py", "./forced.py"]

    def test_counts_the_files_of_repositories_inside(self) -> None:
        _git("init", "-q")
        _write("inner/a.py", "inner/.gitignore", "inner/b.py")
        Path("inner/.gitignore").write_text("b.py\n")
        _git("-C", "inner", "init", "-q")
        assert _found() == ["./inner/a.py"]
        _git("-c", "user.name=a", "-c", "user.email=a@b", "-C", "inner", "commit", "-q", "--allow-empty", "-m", "x")
        _git("add", "inner")
        assert _found() == ["./inner/a.py"]

    def test_is_read_right_from_inside_a_hook(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _git("init", "-q")
        _write("sub/a.py")
        monkeypatch.setenv("GIT_DIR", str(Path(".git").resolve()))
        monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
        assert _found("sub") == ["sub/a.py"]


def test_a_folder_that_vanishes_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    _write("a.py", "gone/x.py")
    scan = os.scandir

    def vanishing(path: str) -> object:
        if path.endswith("gone"):
            raise FileNotFoundError(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert _found() == ["./a.py"]


def test_names_may_be_no_text() -> None:
    try:
        Path(os.fsdecode(b"caf\xe9.py")).touch()
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    assert _found() == ["./" + os.fsdecode(b"caf\xe9.py")]
