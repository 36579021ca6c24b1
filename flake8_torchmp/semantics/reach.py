"""What calling something may come to, going by the names in its text, so that no file has to be parsed for it.

Whatever code makes or calls it names, or the code that it calls names it: a class stands for all its methods.
Too much is named rather than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchmp import source

if TYPE_CHECKING:
    from .codebase import Codebase

_FUNCTION = re.compile(rb"^([ \t]*)(?:async[ \t]+)?def\b[^\n]*(?:\n(?:\1[ \t)#][^\n]*|[ \t]*(?=\n)))*", re.MULTILINE)
_HEADER = re.compile(rb"^(?:import|from|[ \t]*class)\b[^\n]*", re.MULTILINE)
"""Statements that call nothing, though they may look so."""
_CALLED = re.compile(rb"\b\w[\w.]*[ \t]*\(|^[ \t]*@[ \t]*[\w.]+", re.MULTILINE)
_NAMED = re.compile(rb"(\w+)((?:\.\w+)*)")

Name = tuple[str, bytes]
"""A name as it is known in a file."""


class Reach:
    def __init__(self, codebase: Codebase, pattern: re.Pattern[bytes] | source.Words) -> None:
        self._codebase = codebase
        self._pattern = pattern
        self._known: dict[Name, bool] = {}
        self._run_by: dict[str, bool] = {}
        self._imported: dict[str, bool] = {}

    def comes_to(self, text: bytes, path: str) -> bool:
        """Whether what some text of a file names, or leads to, matches the pattern."""
        led_here: dict[Name, Name | None] = dict.fromkeys(self._named_in(text, path))
        pending = list(led_here)
        for place in pending:
            known = self._known.get(place)
            if known or (known is None and any(self._pattern.search(text) for text, _ in self._texts(place))):
                current: Name | None = place
                while current is not None:
                    self._known[current] = True
                    current = led_here[current]
                return True
            for name in self._led_to(place) if known is None else ():
                if name not in led_here:
                    led_here[name] = place
                    pending.append(name)
        self._known.update(dict.fromkeys(pending, False))
        return False

    def comes_by_import(self, path: str) -> bool:
        """Whether importing a file, and with it all that it imports, comes to what matches the pattern."""
        if path not in self._imported:
            self._imported[path] = any(map(self.is_run_by, self._codebase.reachable([path])))
        return self._imported[path]

    def is_run_by(self, path: str) -> bool:
        """Whether what a file calls outside of functions comes to what matches."""
        if path not in self._run_by:
            called = set(_CALLED.findall(_HEADER.sub(b"", run_at_import(self._codebase.data(path)))))
            self._run_by[path] = bool(called) and self.comes_to(b" ".join(called), path)
        return self._run_by[path]

    def _led_to(self, place: Name) -> Iterator[Name]:
        for text, file in self._texts(place):
            yield from self._named_in(text, file)
        path, name = place
        imported = self._codebase.imported_names(path)
        if b"*" in imported and name not in imported and name not in self._codebase.mentions.definitions(path):
            yield from self._elsewhere(path, {name})  # a package that hands on what its files define

    def _texts(self, place: Name) -> Iterator[tuple[bytes, str]]:
        """The statements that define a name, or what is imported under it."""
        path, name = place
        mentions = self._codebase.mentions
        for index in mentions.definitions(path).get(name, ()):
            yield mentions.text_of(index, path), path
        for origin, original in self._codebase.imported_names(path).get(name, ()):
            yield b"%b %b" % (origin, original), ""

    def _named_in(self, text: bytes, path: str) -> Iterator[Name]:
        codebase = self._codebase
        if not path:
            return
        defined, imported = codebase.mentions.definitions(path), codebase.imported_names(path)
        has_stars = b"*" in imported
        for name, attributes in set(_NAMED.findall(text)):
            if name in defined:
                yield path, name
            if name in imported:
                yield path, name
                names = {original for _, original in imported[name] if original}
                yield from self._elsewhere(path, names.union(attributes.split(b".")))
            elif has_stars and name not in defined:
                yield from self._elsewhere(path, {name})

    def _elsewhere(self, path: str, names: set[bytes]) -> Iterator[Name]:
        """Names in the files that a file imports."""
        for other in self._codebase.imports(path):
            known = (self._codebase.mentions.definitions(other), self._codebase.imported_names(other))
            for name in names:
                if name in known[0] or name in known[1] or (name and b"*" in known[1]):
                    yield other, name


def run_at_import(data: bytes) -> bytes:
    """What of a file runs when it is imported: no functions, and no texts, which may look like code."""
    for quotes in (b'"""', b"'''"):
        if quotes in data:
            data = b"0".join(data.split(quotes)[::2])
    return _FUNCTION.sub(b"", data)
