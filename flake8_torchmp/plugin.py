"""The flake8 plugin. Whatever happens in it, flake8 goes on and reports what its other plugins find."""

from __future__ import annotations

import os
import traceback
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from flake8_torchmp import __version__, source
from flake8_torchmp.findings import CRASH, Answer
from flake8_torchmp.options import SETTINGS, Option
from flake8_torchmp.options.configuration import Chosen, ConfigurationError, Configurations, choose

if TYPE_CHECKING:
    import ast
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from flake8_torchmp.cache import Cache, Known
    from flake8_torchmp.engine import Project
    from flake8_torchmp.findings import Finding
    from flake8_torchmp.settings import Settings

OFF_BY_DEFAULT = "TMP9"

Reported = tuple[int, int, str, type["Plugin"]]


class Plugin:
    name = "flake8-torchmp"
    version = __version__

    _configurations: ClassVar[Configurations] = Configurations()
    _checks: ClassVar[dict[tuple[str, Settings], Check]] = {}
    _by_folder: ClassVar[dict[str, Check]] = {}

    def __init__(self, tree: ast.Module, lines: Sequence[str], filename: str, options: Namespace | None = None) -> None:
        self._tree, self._lines, self._filename, self._options = tree, lines, filename, options

    @staticmethod
    def add_options(manager: Any) -> None:
        manager.extend_default_ignore([OFF_BY_DEFAULT])
        for option in SETTINGS:
            manager.add_option(
                f"--torchmp-{option.name}",
                metavar=option.metavar,
                default=None,  # so that pyproject.toml shows through where flake8 is told nothing
                parse_from_config=True,
                comma_separated_list=option.many,
                help=option.help.replace("%", "%%"),
            )
        manager.add_option(
            "--torchmp-no-cache",
            action="store_true",
            parse_from_config=True,
            help="check anew what was checked before",
        )
        manager.add_option(
            "--torchmp-cache-dir",
            metavar="DIR",
            default="",
            parse_from_config=True,
            normalize_paths=True,
            help="where answers are kept; by default in .torchmp_cache in the project",
        )

    @classmethod
    def parse_options(cls, _manager: object, options: Namespace, _files: Sequence[str] = ()) -> None:
        """Runs in the process that the user started, and again in each that is spawned."""
        try:
            cls._checks, cls._by_folder = {}, {}
            cls._configurations = Configurations(_given(options))
            for place in _places(options):
                cls._configurations.for_folder(place)
        except ConfigurationError as error:
            from flake8.exceptions import ExecutionError  # type: ignore[import-untyped]

            raise ExecutionError(f"flake8-torchmp: {error}") from None
        except Exception:
            traceback.print_exc()

    def run(self) -> Iterator[Reported]:
        yield from self._found()

    def _found(self) -> list[Reported]:
        try:
            return self._findings()
        except ConfigurationError as error:  # of a folder that parse_options could not know
            return [self._crash(str(error))]
        except Exception as error:
            traceback.print_exc()
            return [self._crash(f"the check of this file failed with {type(error).__name__}; see standard error")]

    def _crash(self, problem: str) -> Reported:
        return (1, 0, f"{CRASH} {problem}", type(self))

    def _findings(self) -> list[Reported]:
        path = os.path.abspath(self._filename)
        data = source.encode("".join(self._lines))
        found = self._check(path, data).findings(path, data, self._tree)
        reported = {
            (finding.line, finding.column, finding.code): f"{finding.code} {finding.message}"
            for finding in reversed(found)
            if self._wants(finding.code)
        }
        return [(line, column, text, type(self)) for (line, column, _), text in sorted(reported.items())]

    def _check(self, path: str, data: bytes) -> Check:
        folder = os.path.dirname(path)
        if folder not in self._by_folder:
            self._by_folder[folder] = self._check_of(folder, {path: data} if self._is_buffer() else {})
        return self._by_folder[folder]

    def _check_of(self, folder: str, buffers: dict[str, bytes]) -> Check:
        root = source.root_of_folder(folder, os.getcwd())
        settings = self._configurations.for_folder(folder).settings
        if (root, settings) not in self._checks:
            self._checks[root, settings] = Check(root, settings, buffers, self._cache())
        return self._checks[root, settings]

    def _cache(self) -> Cache | None:
        from flake8_torchmp.cache import Cache

        if self._options is None or self._options.torchmp_no_cache:
            return None
        return Cache(self._options.torchmp_cache_dir)

    def _is_buffer(self) -> bool:
        """Whether the lines are those of an editor, and not those on the disk."""
        return "-" in (getattr(self._options, "filenames", None) or ())

    def _wants(self, code: str) -> bool:
        """Whether a code that is off by default was asked for by a prefix of its own.

        flake8's default ignore list is not enough: it falls away with `--select=TMP` and with any `ignore = ...`.
        """
        if not code.startswith(OFF_BY_DEFAULT):
            return True
        asked = [prefix for name in ("select", "extend_select") for prefix in getattr(self._options, name, None) or ()]
        return any(len(prefix) >= len(OFF_BY_DEFAULT) and code.startswith(prefix) for prefix in asked)


class Check:
    """The check of one project. Where all is known that is asked, the engine is never loaded."""

    def __init__(self, root: str, settings: Settings, buffers: Mapping[str, bytes], cache: Cache | None) -> None:
        self._root, self._settings, self._buffers, self._cache = root, settings, buffers, cache

    @cached_property
    def _known(self) -> Known | None:
        return self._cache.of(self._root, self._settings, self._buffers) if self._cache is not None else None

    @cached_property
    def _project(self) -> Project:
        from flake8_torchmp.engine import Project

        return Project(Path(self._root), self._settings, self._buffers)

    def findings(self, path: str, data: bytes, tree: ast.Module) -> list[Finding]:
        answer = self._known.answer(path) if self._known is not None else None
        if answer is not None and not answer.problem:
            return answer.findings
        found = self._project.findings(path, data, tree)
        if self._known is not None:
            self._known.keep([Answer(path, found, None)])
        return found


def _given(options: Namespace) -> dict[str, Chosen]:
    return {option.name: _chosen(option, raw) for option in SETTINGS if (raw := _raw(options, option)) is not None}


def _raw(options: Namespace, option: Option) -> object:
    return getattr(options, f"torchmp_{option.attribute}", None)


def _chosen(option: Option, raw: object) -> Chosen:
    return choose(option, raw, f"torchmp-{option.name}", os.getcwd())


def _places(options: Namespace) -> list[str]:
    """The folders whose configuration can be checked before the first file is."""
    places = [os.getcwd()]
    for name in getattr(options, "filenames", None) or ():
        path = os.path.abspath(options.stdin_display_name if name == "-" else name)
        places.append(path if os.path.isdir(path) else os.path.dirname(path))
    return places
