"""`torchmp noqa`: silences what is found by comments, where flake8 honours them."""

from __future__ import annotations

import ast
import os
import re
import sys
from typing import TYPE_CHECKING

from flake8_torchmp import source
from flake8_torchmp.cli import COULD_NOT_RUN
from flake8_torchmp.cli.arguments import given_options
from flake8_torchmp.cli.check import Run, excluded
from flake8_torchmp.cli.discovery import files_below
from flake8_torchmp.cli.noqa import INLINE, Comments, ranges
from flake8_torchmp.cli.output import counted
from flake8_torchmp.cli.selection import longest
from flake8_torchmp.options.configuration import ConfigurationError, Configurations, parsed_toml, shown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Mapping

_LINE_END = re.compile(r"\r\n|\r|\n")
_DELETING = ("RUF100", "RUF102")
"""ruff's rules that take the codes of others for mistakes, and their comments away."""


def silence(arguments: Namespace) -> int:
    configurations = Configurations(given_options(arguments), arguments.config)
    paths = arguments.paths or ["."]
    known = [path for path in paths if os.path.exists(path)]
    problems = [(path, "No such file or directory") for path in paths if path not in known]
    run = Run(configurations, {}, False)
    by_file: dict[str, dict[int, set[str]]] = {}
    for finding in run.findings(files_below(known, lambda path: excluded(configurations, path)), arguments.jobs):
        by_file.setdefault(finding.path, {}).setdefault(finding.line, set()).add(finding.code)
    problems += run.problems
    count = changed = 0
    warned: dict[str, None] = {}
    for path, codes in sorted(by_file.items()):
        try:
            source.write_atomically(path, commented(source.read(path), codes))
        except (source.Unreadable, OSError) as problem:
            problems.append((path, getattr(problem, "strerror", None) or str(problem)))
            continue
        count += sum(map(len, codes.values()))
        changed += 1
        warned.update(dict.fromkeys(_ruff_files_that_delete(path)))
    for path, text in problems:
        print(f"{path}: {text}", file=sys.stderr)
    for file in warned:
        print(
            f'{shown(file)}: ruff would delete these comments; add external = ["TMP"] to its lint settings',
            file=sys.stderr,
        )
    print(f"{counted(count, 'finding')} silenced in {counted(changed, 'file')}")
    return COULD_NOT_RUN if problems else 0


def commented(data: bytes, codes: Mapping[int, Iterable[str]]) -> bytes:
    """The file with a comment for the codes of each of these lines; Unreadable where that would change the program."""
    name = source.encoding(data)
    text = data.decode(name)
    ends = _LINE_END.findall(text)
    lines = _LINE_END.split(text)
    of_lines = ranges([f"{line}\n" for line in lines])
    wanted: dict[tuple[int, int], set[str]] = {}
    for line, those in codes.items():
        wanted.setdefault(of_lines.get(line, (line, line)), set()).update(those)
    for (first, last), those in wanted.items():
        _add(lines, first - 1, last - 1, sorted(those))
    new = "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True)).encode(name)
    comments = Comments(source.decode(new))
    if _dumped(new) != _dumped(data) or not all(
        comments.silence(line, code) for line, those in codes.items() for code in those
    ):
        raise source.Unreadable("there is no place for a comment that flake8 would honour")
    return new


def _add(lines: list[str], first: int, last: int, codes: list[str]) -> None:
    for index in range(first, last + 1):
        found = INLINE.search(lines[index])
        if found is not None and found["codes"]:  # flake8 looks at no second comment
            end = found.start("codes") + len(found["codes"].rstrip(", \t"))
            lines[index] = f"{lines[index][:end]}, {', '.join(codes)}{lines[index][end:]}"
            return
    lines[last] = f"{lines[last].rstrip()}  # noqa: {', '.join(codes)}"


def _dumped(data: bytes) -> str:
    return ast.dump(source.parse(data, "file"))


def _ruff_files_that_delete(path: str) -> list[str]:
    """The ruff configuration that counts for a file, if it would take the comments away."""
    for folder in _upwards(os.path.dirname(os.path.abspath(path))):
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            file = os.path.join(folder, name)
            table = _ruff_table(file)
            if table is not None:
                return [file] if _deletes(table) else []
    return []


def _upwards(folder: str) -> Iterable[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _ruff_table(file: str, depth: int = 0) -> dict[str, object] | None:
    """The lint settings, those of the files that it extends included; None where there are none."""
    if not os.path.isfile(file) or depth > 5:
        return None
    try:
        with open(file, "rb") as stream:
            table: object = parsed_toml(file, stream.read())
    except (OSError, ConfigurationError):
        return None
    if os.path.basename(file) == "pyproject.toml":
        for key in ("tool", "ruff"):
            table = table.get(key) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        return None
    settings: dict[str, object] = {}
    if isinstance(table.get("extend"), str):
        settings = _ruff_table(os.path.join(os.path.dirname(file), str(table["extend"])), depth + 1) or {}
    lint = table.get("lint")
    return {**settings, **table, **(lint if isinstance(lint, dict) else {})}


def _deletes(settings: dict[str, object]) -> bool:
    def texts(*names: str) -> tuple[str, ...]:
        return tuple(
            item for name in names if isinstance(listed := settings.get(name), list) for item in map(str, listed)
        )

    if any("TMP".startswith(prefix) for prefix in texts("external")):
        return False
    selected, ignored = texts("select", "extend-select"), texts("ignore", "extend-ignore")
    return any("ALL" in selected or longest(selected, code) for code in _DELETING if not longest(ignored, code))
