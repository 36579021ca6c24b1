"""Runs the checker on copies of the fixtures, each of which is a project of its own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tokenize
from typing import TYPE_CHECKING, NamedTuple

from fixture_format import Fixture, read

from flake8_torchmp import engine, rules
from flake8_torchmp.findings import CRASH
from flake8_torchmp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

FLAKE8_FORMAT = "%(path)s\t%(row)d\t%(col)d\t%(code)s\t%(text)s"
CODES = frozenset(rule.code for rule in rules.all_rules())
"""Fixtures of later rules lie in the tree too: only what these codes say counts."""
BY_DEFAULT = frozenset(rule.code for rule in rules.all_rules() if rule.default)
COUNTED = BY_DEFAULT | {CRASH}


class Said(NamedTuple):
    """A finding as every door can tell it; lines and columns count from 1."""

    path: str
    line: int
    column: int
    code: str


def lay_out(programs: Iterable[Fixture], folder: Path) -> None:
    """Copies each program to a folder of its own that is the root of a project."""
    for program in programs:
        program.copy(folder / program.name)
        (folder / program.name / "setup.cfg").touch()


def codes_of(program: Fixture) -> frozenset[str]:
    """The codes that count for a fixture: what is off by default does in the folder of its own rule alone."""
    return COUNTED | ({program.code} & CODES)


def by_engine(programs: Iterable[Fixture], folder: Path) -> set[Said]:
    """What the engine says of a laid out tree, with paths relative to it."""
    said = set()
    for program in programs:
        codes = codes_of(program)
        paths = [str(folder / program.name / file) for file in program.files]
        for path, findings, problem in engine.check(paths, Settings()):
            assert not problem, problem
            relative = path.removeprefix(f"{folder}/")
            said |= {Said(relative, one.line, one.column + 1, one.code) for one in findings if one.code in codes}
    return said


def by_torchmp(folder: Path, *arguments: str) -> set[Said]:
    done = _run(folder, ["-m", "flake8_torchmp", "check", "--no-cache", "--format", "json", *arguments])
    return {
        Said(one["path"].removeprefix("./"), one["line"], one["column"], one["code"])
        for one in json.loads(done.stdout)["findings"]
        if one["code"] in COUNTED
    }


def by_flake8(folder: Path, *arguments: str) -> set[Said]:
    done = _run(folder, ["-m", "flake8", "--isolated", "-j1", "--format", FLAKE8_FORMAT, *arguments])
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    said = [
        Said(path.removeprefix("./"), int(row), int(column), code)
        for path, row, column, code, _ in rows
        if code in COUNTED
    ]
    assert len(said) == len(set(said)), "a finding is reported twice"
    return set(said)


def _run(folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    assert not done.stderr, done.stderr
    return done


def silence(path: Path, codes: Mapping[int, Iterable[str]]) -> None:
    """Writes `# noqa: CODES` behind each of these lines, or where their statement lets a comment stand."""
    source = read(path)
    comments: dict[int, set[str]] = {}
    first = 1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NEWLINE, tokenize.NL):
            # A line that a string or a backslash continues can hold no comment.
            for line in range(first, token.start[0] + 1):
                comments.setdefault(token.start[0], set()).update(codes.get(line, ()))
            first = token.start[0] + 1
    lines = source.splitlines()
    for line, those in comments.items():
        if those:
            lines[line - 1] += f"  # noqa: {','.join(sorted(those))}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
