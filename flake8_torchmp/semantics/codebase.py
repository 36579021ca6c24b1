"""A project: its files, what their bytes say of imports and names, and its modules, parsed when asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flake8_torchmp import source

from .files import Extent
from .mentions import Mentions
from .module import Module
from .uses import Uses


class Codebase(Uses):
    """What can be asked about the files below one root folder."""

    def __init__(self, extent: Extent) -> None:
        super().__init__(extent)
        self.mentions = Mentions(self)
        self.loaded_bytes = 0
        self._modules: dict[str, Module | None] = {}
        self._given: dict[str, tuple[bytes, ast.Module]] = {}
        self._sound: set[str] = set()
        """The files that could be parsed."""

    def give(self, path: str, data: bytes, tree: ast.Module) -> None:
        """Hands over a tree that somebody parsed already; the one before is given up, used or not."""
        self._given = {path: (data, tree)} if path not in self._modules else {}

    def module(self, path: str) -> Module | None:
        if path not in self._modules:
            self._modules[path] = self._load(path)
        return self._modules[path]

    def _load(self, path: str) -> Module | None:
        if path in self._given:
            data, tree = self._given.pop(path)
        else:
            data = self.data(path)
            parsed = self._parse(path, data) if data else None
            if parsed is None:
                return None
            tree = parsed
        self._sound.add(path)
        self.loaded_bytes += len(data)
        name, is_package = self.name_of(path)
        return Module(path, name, tree, data, is_package)

    def _parse(self, path: str, data: bytes) -> ast.Module | None:
        """A file's tree; why there is none is remembered."""
        try:
            tree = source.parse(data, path)
        except source.Unreadable as problem:
            self._problems[path] = str(problem)
            return None
        self._sound.add(path)
        return tree

    def problem(self, path: str, *, parses: bool) -> str:
        """Why a file cannot be read or, if it is to be parsed, parsed; or nothing."""
        if path not in self._problems:
            data = self.data(path)
            if parses and data and path not in self._problems and path not in self._sound:
                self._parse(path, data)  # its tree is not kept: nobody asked for it
        return self._problems.get(path, "")

    def loads(self, name: str, paths: Iterable[str]) -> Iterator[ast.expr]:
        """Where some files read a name or attribute."""
        for path in paths:
            module = self.module(path) if self.reads(path, name) else None
            yield from module.loads(name) if module is not None else ()

    def forget(self) -> None:
        """Drops the parsed modules, to bound memory; they are read again when asked for."""
        for module in self._modules.values():
            if module is not None:
                module.take_apart()
        self._modules.clear()
        self.loaded_bytes = 0
