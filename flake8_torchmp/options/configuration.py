"""What is in force for a file, and where each value comes from.

The command line (or flake8's options) goes before the nearest pyproject.toml with a `[tool.torchmp]`, and that before
the Python versions that the project states and the defaults. "Nearest" goes from the file's folder up to the
project's root, so a file is checked alike from every folder and through every door.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, cast

from flake8_torchmp.options import OPTIONS, SETTINGS, Option, Value
from flake8_torchmp.settings import Settings
from flake8_torchmp.source import folders_up_to_root

if TYPE_CHECKING:
    from collections.abc import Mapping

PYPROJECT = "pyproject.toml"
_TABLE = re.compile(rb"""^[ \t]*\[?[ \t]*["']?tool["']?[ \t]*(?:\.[ \t]*["']?torchmp|\])""", re.MULTILINE)


class ConfigurationError(Exception):
    """A wrong key or value; its text is one line that names the file and the key."""


class Chosen(NamedTuple):
    value: Value
    origin: str


class Configuration(NamedTuple):
    settings: Settings
    chosen: Mapping[str, Chosen]
    """For every option, by name."""
    file: str
    """The pyproject.toml whose `[tool.torchmp]` counts, or an empty text."""

    def value(self, name: str) -> Value:
        return self.chosen[name].value

    def texts(self, name: str) -> tuple[str, ...] | None:
        return cast("tuple[str, ...] | None", self.chosen[name].value)


class Configurations:
    """The configuration of every folder, each read once; folders that are configured alike share one object."""

    def __init__(self, overrides: Mapping[str, Chosen] | None = None, file: str = "") -> None:
        self._overrides = dict(overrides or {})
        self._file = os.path.abspath(file) if file else ""
        self._by_folder: dict[str, Configuration] = {}
        self._tables: dict[str, str] = {}
        self._pythons: dict[str, Chosen | None] = {}
        self._by_sources: dict[tuple[str, Chosen | None], Configuration] = {}

    def for_file(self, path: str) -> Configuration:
        return self.for_folder(os.path.dirname(os.path.abspath(path)))

    def for_folder(self, folder: str) -> Configuration:
        known = self._by_folder.get(folder)
        if known is None:
            known = self._by_folder[folder] = self._find(folder)
        return known

    def _find(self, folder: str) -> Configuration:
        folders = folders_up_to_root(folder)
        file = self._file or self._nearest_table(folders)
        pythons = None if "target-python" in self._overrides else self._nearest_pythons(folders)
        sources = (file, pythons)
        if sources not in self._by_sources:
            self._by_sources[sources] = self._combine(file, pythons)
        return self._by_sources[sources]

    def _nearest_table(self, folders: list[str]) -> str:
        if not folders:
            return ""
        if folders[0] not in self._tables:
            own = os.path.join(folders[0], PYPROJECT)
            has_one = os.path.isfile(own) and _has_table(own)
            self._tables[folders[0]] = own if has_one else self._nearest_table(folders[1:])
        return self._tables[folders[0]]

    def _nearest_pythons(self, folders: list[str]) -> Chosen | None:
        if not folders:
            return None
        if folders[0] not in self._pythons:
            self._pythons[folders[0]] = _pythons_stated(folders[0]) or self._nearest_pythons(folders[1:])
        return self._pythons[folders[0]]

    def _combine(self, file: str, pythons: Chosen | None) -> Configuration:
        chosen = {option.name: Chosen(option.default, "default") for option in OPTIONS}
        if pythons:
            chosen["target-python"] = pythons
        if file:
            chosen.update(_read_table(file))
        chosen.update(self._overrides)
        fields = {option.attribute: chosen[option.name].value for option in SETTINGS}
        return Configuration(Settings(**fields), chosen, file)  # type: ignore[arg-type]


def choose(option: Option, raw: object, origin: str, folder: str) -> Chosen:
    """A value that a user wrote; a wrong one is an error that begins with its origin."""
    try:
        return Chosen(option.read(raw, folder), origin)
    except ValueError as problem:
        raise ConfigurationError(f"{origin}: {problem}") from None


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ConfigurationError(f"{shown(path)}: {error.strerror}") from None


def _has_table(path: str) -> bool:
    data = _bytes(path)
    return b"torchmp" in data and _TABLE.search(data) is not None and _table(path, data) is not None


def _table(path: str, data: bytes) -> object:
    tool = parsed_toml(path, data).get("tool")
    return tool.get("torchmp") if isinstance(tool, dict) else None


def parsed_toml(path: str, data: bytes) -> dict[str, object]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{shown(path)}: no valid TOML: {' '.join(str(error).split())}") from None


def _read_table(path: str) -> dict[str, Chosen]:
    table = _table(path, _bytes(path))
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise ConfigurationError(f"{shown(path)}: tool.torchmp: expected a table, found {table!r}")
    by_name = {option.name: option for option in OPTIONS}
    chosen: dict[str, Chosen] = {}
    for key, raw in table.items():
        origin = f"{shown(path)}: tool.torchmp.{key}"
        option = by_name.get(key.replace("_", "-"))
        if option is None:
            raise ConfigurationError(f"{origin}: unknown key{_suggestion(key, list(by_name))}")
        if option.name in chosen:
            raise ConfigurationError(f"{origin}: given twice, with - and with _")
        chosen[option.name] = choose(option, raw, origin, os.path.dirname(path))
    return chosen


def _suggestion(key: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key.replace("_", "-"), names, 1)
    return f"; did you mean {close[0]}?" if close else f" (known: {', '.join(names)})"


def _pythons_stated(folder: str) -> Chosen | None:
    for name, key, stated in (
        (PYPROJECT, "project.requires-python", _requires_python),
        ("setup.cfg", "options.python_requires", _python_requires),
    ):
        path = os.path.join(folder, name)
        specifier = stated(path) if os.path.isfile(path) else ""
        if specifier:
            from flake8_torchmp.options.versions import pythons_allowed

            allowed = pythons_allowed(specifier)
            return Chosen(allowed, f"{shown(path)}: {key} = {specifier!r}") if allowed else None
    return None


def _requires_python(path: str) -> str:
    data = _bytes(path)
    if b"requires-python" not in data:
        return ""
    try:
        project = parsed_toml(path, data).get("project")
    except ConfigurationError:
        return ""  # a broken file that does not configure torchmp is other tools' business
    specifier = project.get("requires-python") if isinstance(project, dict) else None
    return specifier if isinstance(specifier, str) else ""


def _python_requires(path: str) -> str:
    data = _bytes(path)
    if b"python_requires" not in data:
        return ""
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(data.decode("utf-8"))
    except (configparser.Error, UnicodeDecodeError):
        return ""
    return parser.get("options", "python_requires", fallback="").strip()


def shown(path: str) -> str:
    """A path as people name it: relative to the current folder where it is below it."""
    inside = os.path.join(os.getcwd(), "")
    return path.removeprefix(inside)
