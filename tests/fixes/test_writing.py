from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flake8_torchmp import source
from flake8_torchmp.fixes import writing

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

OLD, NEW = b"old\n", b"new\n"


def files(folder: Path, *names: str) -> dict[str, tuple[bytes, bytes]]:
    for name in names:
        (folder / name).write_bytes(OLD)
    return {str(folder / name): (OLD, NEW) for name in names}


def test_writes_and_keeps_the_mode(tmp_path: Path) -> None:
    changes = files(tmp_path, "a.py")
    (tmp_path / "a.py").chmod(0o754)
    assert not writing.write(changes, [frozenset(changes)])
    assert (tmp_path / "a.py").read_bytes() == NEW
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o754
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_link_goes_on_pointing(tmp_path: Path) -> None:
    files(tmp_path, "real.py")
    link = tmp_path / "link.py"
    link.symlink_to("real.py")
    assert not writing.write({str(link): (OLD, NEW)}, [frozenset([str(link)])])
    assert link.is_symlink() and (tmp_path / "real.py").read_bytes() == NEW


def test_what_changed_or_vanished_meanwhile_is_left_with_its_companions(tmp_path: Path) -> None:
    changes = files(tmp_path, "a.py", "b.py", "c.py", "d.py")
    a, b, c, d = changes
    (tmp_path / "b.py").write_bytes(b"mine\n")
    (tmp_path / "d.py").unlink()
    refused = writing.write(changes, [frozenset([a, b]), frozenset([c]), frozenset([d])])
    assert refused == {
        a: "b.py changed since it was checked",
        b: "b.py changed since it was checked",
        d: "d.py: No such file or directory",
    }
    assert [(tmp_path / name).read_bytes() for name in ("a.py", "b.py", "c.py")] == [OLD, b"mine\n", NEW]


def test_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = files(tmp_path, "a.py")
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert list(writing.write(changes, [frozenset(changes)]).values()) == ["a.py is read-only"]


def test_all_or_none_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = files(tmp_path, "a.py", "b.py")
    write = source.write_atomically

    def fails_for_b(path: str, data: bytes) -> None:
        if path.endswith("b.py"):
            raise OSError(28, "No space left on device")
        write(path, data)

    monkeypatch.setattr(source, "write_atomically", fails_for_b)
    refused = writing.write(changes, [frozenset(changes)])
    assert set(refused.values()) == {"b.py cannot be written: No space left on device"}
    assert [(tmp_path / name).read_bytes() for name in ("a.py", "b.py")] == [OLD, OLD]
