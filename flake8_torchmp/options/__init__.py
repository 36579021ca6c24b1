"""Every option, once: flake8's options, `[tool.torchmp]`, the command line and the docs are made from this table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from flake8_torchmp.settings import PLATFORMS, PYTHONS, START_METHODS, Settings

Value = str | tuple[str, ...] | dict[str, tuple[str, ...]] | None
"""A text, a list, or the codes by path pattern; None for what is not set and has no default."""

EXCLUDED = (".svn", "CVS", ".bzr", ".hg", ".git", "__pycache__", ".tox", ".nox", ".eggs", "*.egg")
"""What flake8 leaves out."""

_SEPARATORS = re.compile(r"[,\s]")
_CODE = re.compile(r"T|TM|TMP[0-9]{0,3}")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DOTTED_GLOB = re.compile(r"[\w*?\[\]!]+(\.[\w*?\[\]!]+)*")
_TORCH = re.compile(r"\d+(\.\d+)*")


class Option(NamedTuple):
    name: str
    """As in pyproject.toml; flake8 puts `torchmp-` before the names of settings."""
    metavar: str
    help: str
    default: Value
    check: Callable[[Value], Value]
    """Gives the value in its final form; raises ValueError with what is wrong."""
    many: bool = True
    patterns: bool = False
    """Whether its values are paths that are relative to where they are written."""

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    def read(self, raw: object, folder: str) -> Value:
        """The value of what a user wrote: a text, or what TOML holds. ValueError says what is wrong with it."""
        read: Callable[[object], Value] = (
            _by_file if isinstance(self.default, dict) else _listed if self.many else _text
        )
        value = self.check(read(raw))
        return _anchored(value, folder) if self.patterns else value


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError(f"expected a text in quotes, found {raw!r}")
    return raw.strip()


def _listed(raw: object) -> tuple[str, ...]:
    if isinstance(raw, str):
        return tuple(filter(None, _SEPARATORS.split(raw)))
    if isinstance(raw, Sequence) and all(isinstance(item, str) for item in raw):
        return tuple(item.strip() for item in raw)
    raise ValueError(f"expected a list of texts in quotes, found {raw!r}")


def _by_file(raw: object) -> dict[str, tuple[str, ...]]:
    if isinstance(raw, Mapping):
        return {str(pattern): _listed(codes) for pattern, codes in raw.items()}
    return _pairs(_text(raw))


_CODE_IN_PAIRS = re.compile(r"[A-Z]+[0-9]*")


def _pairs(text: str) -> dict[str, tuple[str, ...]]:
    """Reads `tests/*:TMP301,TMP302 scripts/a.py:TMP2` as flake8 does: a word that is no code begins the next files."""
    found: list[tuple[list[str], list[str]]] = []
    files: list[str] = []
    for word in filter(None, _SEPARATORS.split(re.sub(r"\s*:\s*", ": ", text))):
        if word.endswith(":"):
            files.append(word[:-1])
            found.append((list(filter(None, files)), []))
            files = []
        elif found and not files and _CODE_IN_PAIRS.fullmatch(word):
            found[-1][1].append(word)
        else:
            files.append(word)
    if files or not all(names and codes for names, codes in found):
        raise ValueError(f"expected pairs such as `tests/*:TMP301,TMP302`, found {text!r}")
    by_file: dict[str, tuple[str, ...]] = {}
    for names, codes in found:
        for name in names:
            by_file.setdefault(name, tuple(codes))
    return by_file


def _anchored(value: Value, folder: str) -> Value:
    if isinstance(value, dict):
        return {anchor(pattern, folder): codes for pattern, codes in value.items()}
    return tuple(anchor(pattern, folder) for pattern in value) if isinstance(value, tuple) else value


def anchor(pattern: str, folder: str) -> str:
    """A pattern with a slash means one place; one without, any file or folder of that name (as in flake8)."""
    separators = os.sep + (os.altsep or "")
    if pattern == "." or any(separator in pattern for separator in separators):
        pattern = os.path.abspath(os.path.join(folder, pattern))
    return pattern.rstrip(separators)


def _one_of(choices: Sequence[str]) -> Callable[[Value], Value]:
    def check(value: Value) -> Value:
        unknown = [item for item in ((value,) if isinstance(value, str) else value or ()) if item not in choices]
        if unknown or not value:
            raise ValueError(f"{unknown[0]!r} is not one of {', '.join(choices)}" if unknown else "names nothing")
        return tuple(choice for choice in choices if choice in value) if isinstance(value, tuple) else value

    return check


def _each(pattern: re.Pattern[str], expected: str) -> Callable[[Value], Value]:
    def check(value: Value) -> Value:
        for item in (value,) if isinstance(value, str) else value or ():
            if not pattern.fullmatch(item):
                raise ValueError(f"{item!r} is not {expected}")
        return value

    return check


def _pythons(value: Value) -> Value:
    if value and not any(item[:1].isdigit() for item in value):
        from flake8_torchmp.options.versions import pythons_allowed

        allowed = pythons_allowed(",".join(value))
        if allowed:
            return allowed
    return _one_of(PYTHONS)(value)


def _codes_by_file(value: Value) -> Value:
    assert isinstance(value, dict)
    for codes in value.values():
        _codes(codes)
    return value


def _anything(value: Value) -> Value:
    return value


_codes = _each(_CODE, "a code of torchmp or the beginning of one (TMP301, TMP3)")
_names = _each(_DOTTED, "a dotted name such as package.module.Class")
_globs = _each(_DOTTED_GLOB, "a dotted name such as package.module.function, nor a pattern for some")
_torch = _each(_TORCH, "a version such as 2.4")
_defaults = Settings()

SETTINGS = (
    Option(
        "target-python",
        "VERSIONS",
        "the Python versions that the program runs on: a list, or a specifier such as >=3.11; "
        "by default what the project's requires-python allows",
        _defaults.target_python,
        _pythons,
    ),
    Option(
        "target-platforms",
        "NAMES",
        f"the platforms that it runs on: {', '.join(PLATFORMS)}",
        _defaults.target_platforms,
        _one_of(PLATFORMS),
    ),
    Option(
        "target-torch",
        "VERSION",
        "the oldest torch that it runs with",
        _defaults.target_torch,
        _torch,
        many=False,
    ),
    Option(
        "dataset-bases",
        "NAMES",
        "further classes whose subclasses are datasets, by their dotted names",
        _defaults.dataset_bases,
        _names,
    ),
    Option(
        "worker-functions",
        "NAMES",
        "further functions that run in worker processes, by their dotted names; * and ? match",
        _defaults.worker_functions,
        _globs,
    ),
    Option(
        "loaders",
        "NAMES",
        "further callables that work like torch.utils.data.DataLoader, by their dotted names",
        _defaults.loaders,
        _names,
    ),
    Option(
        "resource-openers",
        "NAMES",
        "further callables that open a file, a connection or the like, by their dotted names",
        _defaults.resource_openers,
        _names,
    ),
    Option(
        "unpicklable-types",
        "NAMES",
        "further callables whose results cannot be pickled, by their dotted names",
        _defaults.unpicklable_types,
        _names,
    ),
    Option(
        "source-roots",
        "FOLDERS",
        "folders, relative to the project's root, from which its modules are imported; by default they are found",
        _defaults.source_roots,
        _anything,
    ),
    Option(
        "start-method",
        "METHOD",
        "the start method that messages and fixes recommend: spawn or forkserver",
        _defaults.start_method,
        _one_of(START_METHODS[1:]),
        many=False,
    ),
)
"""What every door knows: the fields of Settings."""

COMMAND = (
    Option("select", "CODES", "report only codes that begin like one of these", None, _codes),
    Option("ignore", "CODES", "do not report codes that begin like one of these", None, _codes),
    Option("extend-select", "CODES", "report these codes too, such as TMP9, which is off by default", (), _codes),
    Option("extend-ignore", "CODES", "do not report these codes either", (), _codes),
    Option(
        "per-file-ignores",
        "PAIRS",
        "codes to ignore in some files, such as tests/*:TMP301,TMP302; the longest pattern that fits a file counts",
        {},
        _codes_by_file,
        patterns=True,
    ),
    Option(
        "exclude",
        "PATTERNS",
        f"files and folders to leave out; by default {', '.join(EXCLUDED)}",
        EXCLUDED,
        _anything,
        patterns=True,
    ),
    Option("extend-exclude", "PATTERNS", "files and folders to leave out as well", (), _anything, patterns=True),
    Option(
        "format",
        "FORMAT",
        "how findings are written: concise, full, json, github, gitlab, junit or sarif",
        "concise",
        _anything,
        many=False,
    ),
)
"""What the torchmp command knows besides; flake8 has its own options for these."""

OPTIONS = SETTINGS + COMMAND
