"""The select and ignore lists are compared with flake8's own decisions."""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING

import pytest
from flake8.style_guide import Decision, DecisionEngine  # type: ignore[import-untyped]

from flake8_torchmp.cli.selection import Selection, fits
from flake8_torchmp.options import OPTIONS
from flake8_torchmp.options.configuration import Configurations, choose

if TYPE_CHECKING:
    from pathlib import Path

    from doors.calling import Command, Project

CODES = ("TMP000", "TMP101", "TMP301", "TMP302", "TMP901", "TMP903")
LISTS = (None, "", "TMP", "TMP3", "TMP301", "TMP9", "TMP901", "TMP1,TMP30")


def _selection(folder: Path, **given: str | None) -> Selection:
    by_name = {option.attribute: option for option in OPTIONS}
    overrides = {
        by_name[name].name: choose(by_name[name], text, "a test", str(folder))
        for name, text in given.items()
        if text is not None
    }
    return Selection(Configurations(overrides).for_folder(str(folder)))


def _codes(text: str | None) -> list[str] | None:
    return None if text is None else [code for code in text.split(",") if code]


@pytest.mark.parametrize("select", LISTS)
@pytest.mark.parametrize("ignore", LISTS)
def test_select_and_ignore_mean_what_they_mean_in_flake8(
    select: str | None, ignore: str | None, tmp_path: Path
) -> None:
    for extend_select, extend_ignore in product((None, "TMP301", "TMP9"), (None, "TMP30", "TMP901")):
        engine = DecisionEngine(
            argparse.Namespace(
                select=_codes(select),
                ignore=_codes(ignore),
                extend_select=_codes(extend_select),
                extend_ignore=_codes(extend_ignore),
                extended_default_select=["TMP"],
                extended_default_ignore=["TMP9"],
            )
        )
        selection = _selection(
            tmp_path, select=select, ignore=ignore, extend_select=extend_select, extend_ignore=extend_ignore
        )
        asked = [*(_codes(select) or []), *(_codes(extend_select) or [])]
        for code in CODES:
            wanted = engine.decision_for(code) is Decision.Selected
            if code.startswith("TMP9"):
                wanted = wanted and any(len(prefix) > 3 and code.startswith(prefix) for prefix in asked)
            assert selection.reports("a.py", code) == wanted, (extend_select, extend_ignore, code)


def test_the_longest_pattern_of_per_file_ignores_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    selection = _selection(tmp_path, per_file_ignores="tests/*:TMP3 *.py:TMP1,TMP2 tests/a.py:TMP301")
    assert not selection.reports("tests/b.py", "TMP302")
    assert selection.reports("tests/a.py", "TMP302")
    assert not selection.reports("tests/a.py", "TMP301")
    assert selection.reports("src/a.py", "TMP301")
    assert not selection.reports("./src/a.py", "TMP101")


def test_patterns_fit_names_or_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fits("a/build", ["build"])
    assert fits("./a/x.egg", ["*.egg"])
    assert fits("a/b.py", [f"{tmp_path}/a/*"])
    assert not fits(".", [".*"])
    assert not fits("a/build/x.py", ["build"])


def test_a_rule_that_is_off_by_default_needs_a_prefix_of_its_own(project: Project, torchmp: Command) -> None:
    project(a_py="bad_TMP902\nbad_TMP301\n")
    assert len(torchmp("check").lines) == 1
    assert len(torchmp("check", "--select=TMP").lines) == 1
    assert len(torchmp("check", "--ignore=TMP1").lines) == 1
    assert len(torchmp("check", "--extend-select=TMP9").lines) == 2
    assert torchmp("check", "--select=TMP902").lines == ["./a.py:1:1: TMP902 bad_TMP902 reaches a worker"]
