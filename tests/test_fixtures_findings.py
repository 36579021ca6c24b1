"""Checks the fixtures through every door: what is expected on a line is found there, and nothing else anywhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from checking import (
    BY_DEFAULT,
    CODES,
    COUNTED,
    Said,
    by_engine,
    by_flake8,
    by_torchmp,
    codes_of,
    lay_out,
    silence,
)
from fixture_format import Expected, Fixture, fixtures, read

from flake8_torchmp import engine, rules
from flake8_torchmp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flake8_torchmp.findings import Finding

PROGRAMS = fixtures()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    lay_out(PROGRAMS, folder)
    return folder


@pytest.fixture(scope="module")
def said(tree: Path) -> set[Said]:
    """What the engine says of all the programs, which each door has to say as well."""
    return {one for one in by_engine(PROGRAMS, tree) if one.code in COUNTED}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_says_what_is_expected(program: Fixture, tree: Path) -> None:
    folder = tree / program.name
    codes = codes_of(program)
    wanted = [one for one in program.expected if one.code in codes]
    found = []
    for file in program.files:
        path = str(folder / file)
        for _, findings, problem in engine.check([path], Settings()):
            assert not problem
            assert findings == sorted(set(findings), key=lambda one: one[:4])
            found += [(file, one, _underlined(path, one)) for one in findings if one.code in codes]
    if _unmatched(wanted, found) != ([], []):
        pytest.fail(_report(program, wanted, found), pytrace=False)


def _unmatched(
    wanted: Iterable[Expected], found: Iterable[tuple[str, Finding, str]]
) -> tuple[list[Expected], list[tuple[str, Finding, str]]]:
    """What was expected and not said, and what was said and not expected."""
    missed = []
    left = list(found)
    # Those that tell the text choose first.
    for one in sorted(wanted, key=lambda one: one.text is None):
        for hit in left:
            file, finding, text = hit
            if (file, finding.line, finding.code) == one[:3] and one.text in (None, text):
                left.remove(hit)
                break
        else:
            missed.append(one)
    return missed, left


def _underlined(path: str, finding: Finding) -> str:
    lines = read(Path(path)).splitlines()
    if finding.line == finding.end_line:
        return lines[finding.line - 1][finding.column : finding.end_column]
    return lines[finding.line - 1][finding.column :] + " ..."


def _report(program: Fixture, wanted: list[Expected], found: list[tuple[str, Finding, str]]) -> str:
    missed, alarms = _unmatched(wanted, found)
    lines = ["expected, and what was said:"]
    for one in sorted(wanted):
        text = f": `{one.text}`" if one.text is not None else ""
        lines.append(f"  {'MISSED ' if one in missed else '       '}{one.file}:{one.line} {one.code}{text}")
    lines.append("said:")
    for file, finding, text in found:
        alarm = (file, finding, text) in alarms
        lines.append(
            f"  {'ALARM  ' if alarm else '       '}{file}:{finding.line} {finding.code}: `{text}`  {finding.message}"
        )
    return "\n".join([program.listing(), *lines])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_compiles(program: Fixture) -> None:
    folder = program.path if program.path.is_dir() else program.path.parent
    for file in program.files:
        compile(read(folder / file), file, "exec", dont_inherit=True)


@pytest.mark.parametrize("code", sorted(CODES))
def test_rule_has_a_bad_and_a_quiet_program(code: str) -> None:
    own = [program for program in PROGRAMS if program.code == code]
    assert any(one.code == code for program in own for one in program.expected)
    assert any(program.head.ends == "well" and not program.expected for program in own)


def test_flake8_says_the_same(tree: Path, said: set[Said]) -> None:
    _same(by_flake8(tree, "--select=TMP", "."), said)


def test_torchmp_says_the_same(tree: Path, said: set[Said]) -> None:
    _same(by_torchmp(tree, "."), said)


@pytest.mark.parametrize("code", sorted(BY_DEFAULT))
def test_rule_alone_says_the_same(code: str, tree: Path, said: set[Said]) -> None:
    own = {one for one in said if one.code == code}
    folders = sorted({"/".join(one.path.split("/")[:2]) for one in own})
    _same(by_torchmp(tree, "--select", code, *folders), own)
    _same(by_flake8(tree, "--select", code, *folders), own)


def test_noqa_silences_its_code(tmp_path: Path, said: set[Said]) -> None:
    _lay_out_with_noqa(tmp_path, said, said)
    assert by_flake8(tmp_path, "--select=TMP", ".") == set()
    assert by_torchmp(tmp_path, ".") == set()


def test_noqa_of_another_code_silences_nothing(tmp_path: Path, said: set[Said]) -> None:
    _lay_out_with_noqa(tmp_path, said, {one._replace(code="E999") for one in said})
    _same(by_flake8(tmp_path, "--select=TMP", "."), said)
    _same(by_torchmp(tmp_path, "."), said)


def _lay_out_with_noqa(folder: Path, said: Iterable[Said], silenced: Iterable[Said]) -> None:
    """The programs with findings, with comments for some."""
    names = {"/".join(one.path.split("/")[:2]) for one in said}
    lay_out([program for program in PROGRAMS if program.name in names], folder)
    codes: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in silenced:
        codes[one.path][one.line].add(one.code)
    for path, lines in codes.items():
        silence(folder / path, lines)


def _same(door: set[Said], wanted: set[Said]) -> None:
    assert sorted(wanted - door) == [], "what the engine says and the door does not"
    assert sorted(door - wanted) == [], "what the door says and the engine does not"


def test_every_rule_is_loaded_once() -> None:
    assert [code for code, times in Counter(rule.code for rule in rules.all_rules()).items() if times > 1] == []
