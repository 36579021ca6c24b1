"""Which files can have to do with a definition: those that use its name, or the name of what uses it, and so on.

All goes by bytes, so that no file has to be parsed for it. Too many files are named rather than too few.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from flake8_torchmp import source

from .scopes import Scope

if TYPE_CHECKING:
    from .codebase import Codebase

MOST_NAMES = 200
"""A definition that more names depend on is used everywhere."""

_TOP = re.compile(
    rb"^(?:async[ \t]+def|def|class)[ \t]+(\w+)|^(\w+)(?:[ \t]*,[ \t]*(\w+))?[ \t]*(?::[^=\n]*)?=(?!=)|^([^\s#)\]}])",
    re.MULTILINE,
)
"""What begins a statement of the module: a definition, an assignment, or anything else."""
_INSIDE = re.compile(rb"^[ \t]+(?:async[ \t]+def|def|class)[ \t]+(\w+)|^[ \t]+(\w+)[ \t]*=(?!=)", re.MULTILINE)
_NO_USE = frozenset(("__all__",))
"""What names things without using them."""
_RENAMED = re.compile(rb"[ \t]+as[ \t]+(\w+)")


class Mentions:
    def __init__(self, codebase: Codebase) -> None:
        self._codebase = codebase
        self._files: dict[tuple[str, str], tuple[str, ...]] = {}
        self._dependent: dict[tuple[str, str], tuple[str, ...]] = {}
        self._statements: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        self._definitions: dict[str, dict[bytes, list[int]]] = {}

    def of(self, scope: Scope) -> tuple[str, ...]:
        """The files that can have to do with a function or class, its own first."""
        outermost = scope.outermost()
        path = scope.module.path
        names = (outermost.name,) if outermost.name.isidentifier() else self._names_at(path, _offset(outermost))
        return self._of_names(names, path)

    def of_file(self, path: str) -> tuple[str, ...]:
        """The files that can have to do with what a file defines, it first."""
        return self._of_names([name for _, names in self._statements_of(path) for name in names], path)

    def definitions(self, path: str) -> dict[bytes, list[int]]:
        """What the module-level statements of a file define, each name with the numbers of its statements."""
        if path not in self._definitions:
            found = self._definitions[path] = {}
            for index in range(len(self._statements_of(path))):
                for name in self._defined_by(index, path):
                    found.setdefault(name.encode(), []).append(index)
        return self._definitions[path]

    def _of_names(self, names: Iterable[str], path: str) -> tuple[str, ...]:
        names = sorted({name for name in names if name not in _NO_USE})
        key = (" ".join(names), path)
        if key not in self._files:
            self._files[key] = self._search(names, path)
        return self._files[key]

    def _search(self, names: list[str], path: str) -> tuple[str, ...]:
        files = {path: None}
        pending = [(name, path) for name in names]
        seen = set(pending)
        for name, home in pending:
            for file in self._codebase.mentioning(name, home):
                files[file] = None
                for dependent in self._dependents(name, file):
                    if (dependent, file) not in seen and dependent not in _NO_USE:
                        seen.add((dependent, file))
                        pending.append((dependent, file))
            if len(seen) > MOST_NAMES + len(names):
                return tuple(self._codebase.users([path]))
        return tuple(files)

    def _dependents(self, name: str, path: str) -> tuple[str, ...]:
        """The module-level names of a file whose definitions use a name."""
        key = (name, path)
        if key not in self._dependent:
            self._dependent[key] = tuple(dict.fromkeys(self._find_dependents(name, path)))
        return self._dependent[key]

    def _find_dependents(self, name: str, path: str) -> Iterator[str]:
        data, word = self._codebase.data(path), name.encode()
        for place in source.places(word, data):
            renamed = _RENAMED.match(data, place + len(word))
            if renamed is not None:
                yield _text(renamed[1])
            yield from self._names_at(path, place)

    def _names_at(self, path: str, place: int) -> tuple[str, ...]:
        """What the module-level statement at a place defines."""
        index = bisect_right(self._statements_of(path), place, key=_start) - 1
        return self._defined_by(index, path) if index >= 0 else ()

    def _defined_by(self, index: int, path: str) -> tuple[str, ...]:
        """What a statement of a module defines, by its number."""
        statements = self._statements_of(path)
        names = statements[index][1]
        if not names:
            # a block, with what it defines; or a line of a text inside the definition before it
            text = self.text_of(index, path)
            names = tuple(_text(one or other) for one, other in _INSIDE.findall(text))
            names += next((before for _, before in reversed(statements[:index]) if before), ())
        return names

    def text_of(self, index: int, path: str) -> bytes:
        """A statement of a module, by its number."""
        data, statements = self._codebase.data(path), self._statements_of(path)
        end = statements[index + 1][0] if index + 1 < len(statements) else len(data)
        return data[statements[index][0] : end]

    def _statements_of(self, path: str) -> list[tuple[int, tuple[str, ...]]]:
        """The statements of a module: where each begins, and the names that it defines."""
        if path not in self._statements:
            self._statements[path] = [
                (match.start(), tuple(_text(name) for name in match.groups()[:3] if name))
                for match in _TOP.finditer(self._codebase.data(path))
            ]
        return self._statements[path]


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _start(statement: tuple[int, tuple[str, ...]]) -> int:
    return statement[0]


def _offset(scope: Scope) -> int:
    """Where a scope's line begins in its file's bytes."""
    line: int = getattr(scope.node, "lineno", 1)
    place = 0
    for _ in range(line - 1):
        place = scope.module.data.find(b"\n", place) + 1
    return place
