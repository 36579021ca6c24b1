"""Reads fixtures: how a program runs, how it ends, and what a checker has to say of each of its lines.

A fixture is `fixtures/<code>/<name>.py`, or a folder `fixtures/<code>/<name>/` whose `main.py` is run. The program
begins with

    # start: spawn, forkserver              the default start methods that it is run under
    # ends: fails with `Can't pickle`       or `# ends: well`, or `# ends: hangs`
    # patience: 20                          for one that hangs: it still has to run then; 10 seconds by default

or with `# start: nothing, torchvision is not installed`. A finding is expected on the line that says so,

    DataLoader(ds, 4, collate_fn=lambda b: b)  # TMP301: `lambda b: b`

where the text is what the finding underlines (the first line of it, followed by ` ...`, if it has several), or may be
left out. Two findings are `# TMP301: `a` TMP302: `b``. Every other line is expected to stay silent.
"""

from __future__ import annotations

import io
import re
import shutil
import tokenize
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
START_METHODS = ("fork", "spawn", "forkserver")

_START = re.compile(r"^# start: (?:(?P<methods>\w+(?:, \w+)*)|nothing, (?P<reason>\S.*))$")
_ENDS = re.compile(r"^# ends: (?:(?P<how>well|hangs)|fails with `(?P<shows>.+)`)$")
_PATIENCE = re.compile(r"^# patience: (?P<seconds>\d+)$")
_EXPECTATIONS = re.compile(r"# (?P<all>TMP\d{3}(?:: `[^`]*`)?(?: TMP\d{3}(?:: `[^`]*`)?)*)\s*(?:#.*)?$")
_EXPECTATION = re.compile(r"(?P<code>TMP\d{3})(?:: `(?P<text>[^`]*)`)?")
_MENTION = re.compile(r"#\s*TMP\d{3}")


class Expected(NamedTuple):
    file: str
    line: int
    code: str
    text: str | None
    """What the finding underlines, if the fixture tells."""


class Head(NamedTuple):
    """What the first lines say."""

    starts: tuple[str, ...]
    not_run: str
    """Why it is not run here, if there are no starts."""
    ends: str
    """`well`, `fails` or `hangs`."""
    shows: str
    """For one that fails: a regular expression that its output matches."""
    patience: int


class Fixture(NamedTuple):
    name: str
    """For example `tmp301/collate_lambda`."""
    path: Path
    """The program, or the folder that it lies in."""
    main: str
    """The file that is run, relative to the folder that the fixture is copied to."""
    files: tuple[str, ...]
    """All Python files, likewise."""
    head: Head
    expected: tuple[Expected, ...]

    @property
    def code(self) -> str:
        return self.name.partition("/")[0].upper()

    def copy(self, folder: Path) -> None:
        if self.path.is_dir():
            shutil.copytree(self.path, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.path, folder)

    def listing(self) -> str:
        """The whole program with line numbers, for the report of a failure."""
        folder = self.path if self.path.is_dir() else self.path.parent
        return "\n".join(
            f"--- {self.name}: {file}\n"
            + "\n".join(f"{n:4} {line}" for n, line in enumerate(read(folder / file).splitlines(), 1))
            for file in self.files
        )


class BadFixtureError(Exception):
    """A fixture that is not written as the text above says."""


def read(path: Path) -> str:
    with tokenize.open(path) as file:
        return file.read()


def fixtures(folder: Path = FOLDER) -> list[Fixture]:
    """All of them, sorted by name."""
    programs = [
        path
        for code in folder.glob("tmp[0-9][0-9][0-9]")
        for path in code.iterdir()
        if path.suffix == ".py" or any(path.glob("*.py"))
    ]
    return [fixture(path) for path in sorted(programs)]


def fixture(path: Path) -> Fixture:
    if path.is_dir():
        main = "main.py"
        files = sorted(str(file.relative_to(path)) for file in path.rglob("*.py"))
        folder = path
    else:
        main = path.name
        files = [main]
        folder = path.parent
    return Fixture(
        name=f"{path.parent.name}/{path.stem}",
        path=path,
        main=main,
        files=tuple(files),
        head=_head(folder / main),
        expected=tuple(item for file in files for item in expectations(read(folder / file), file)),
    )


def _head(path: Path) -> Head:
    if not path.is_file():
        raise BadFixtureError(f"{path.parent}: a program of several files begins with its main.py")
    comments = []
    for line in read(path).splitlines():
        if not line.startswith("#"):
            break
        comments.append(line.rstrip())
    start = next((m for line in comments if (m := _START.match(line))), None)
    ends = next((m for line in comments if (m := _ENDS.match(line))), None)
    patience = next((m for line in comments if (m := _PATIENCE.match(line))), None)
    if start is None or ends is None:
        raise BadFixtureError(f"{path}: its first lines do not say `# start: ...` and `# ends: ...`")
    starts = tuple(start["methods"].split(", ")) if start["methods"] else ()
    if not set(starts) <= set(START_METHODS):
        raise BadFixtureError(f"{path}: no such start method: {start['methods']}")
    if ends["shows"]:
        re.compile(ends["shows"])
    return Head(
        starts=starts,
        not_run=start["reason"] or "",
        ends=ends["how"] or "fails",
        shows=ends["shows"] or "",
        patience=int(patience["seconds"]) if patience else 10,
    )


def expectations(source: str, file: str) -> list[Expected]:
    """What the comments of a file ask for."""
    found: list[Expected] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or not _MENTION.search(token.string):
            continue
        marker = _EXPECTATIONS.search(token.string)
        if marker is None:
            raise BadFixtureError(f"{file}:{token.start[0]}: cannot be read: {token.string}")
        found += [
            Expected(file, token.start[0], one["code"], one["text"]) for one in _EXPECTATION.finditer(marker["all"])
        ]
    return found
