"""Listings of folders whose order becomes a dataset's index."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp import source
from flake8_torchmp.boundary.loading.datasets import Datasets
from flake8_torchmp.boundary.loading.sampling_methods import SamplingMethods
from flake8_torchmp.semantics.answers import keep_empty
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.values import External, Hop, qualified

from .listing_flow import ListingFlow, ListingPlace
from .names_of_results import names_results

WORDS = source.Words(
    rb"\b(?:listdir|scandir|glob|iglob|rglob|iterdir|walk)\b", b"listdir scandir glob iterdir walk".split()
)
LISTINGS = frozenset(
    "os.listdir os.scandir os.walk os.fwalk glob.glob glob.iglob pathlib.Path.glob pathlib.Path.rglob "
    "pathlib.Path.iterdir pathlib.Path.walk".split()
)
PATH_METHODS = frozenset(("glob", "rglob", "iterdir"))


class Listing(NamedTuple):
    """A call that lists files in no order, and what takes its index from it."""

    node: ast.Call
    module: Module
    text: str
    dataset: str
    way: tuple[Hop, ...]


class Listings:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, datasets: Datasets) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.datasets = datasets
        self._of: dict[str, list[Listing]] = {}
        self.sampling = SamplingMethods(evaluator, outline, datasets)

    def forget(self) -> None:
        keep_empty(self._of)

    def near(self, module: Module) -> Iterator[Listing]:
        """The unsorted listings of a module and of those that it imports."""
        codebase = self.evaluator.codebase
        direct = self._imports(module.path)
        further = [path for imported in direct for path in self._imports(imported)]
        for path in dict.fromkeys((module.path, *direct, *further)):
            if codebase.matches(path, WORDS):
                yield from self._in_file(path)

    def _imports(self, path: str) -> list[str]:
        """What a file imports; of a package also what its `__init__` only hands on."""
        codebase = self.evaluator.codebase
        direct = codebase.imports(path)
        packages = [imported for imported in direct if imported.endswith("__init__.py")]
        return [*direct, *(path for package in packages for path in codebase.imports(package))]

    def _in_file(self, path: str) -> list[Listing]:
        if path not in self._of:
            module = self.evaluator.codebase.module(path)
            self._of[path] = []
            if module is not None:
                self._of[path] = self.evaluator.alone(lambda: list(self._find(module)))
        return self._of[path]

    def _find(self, module: Module) -> Iterator[Listing]:
        for name in ("listdir", "scandir", "walk", "fwalk", "glob", "iglob", "rglob", "iterdir"):
            for call in module.calls_of(name):
                text = self._listing(call, module)
                if text:
                    self.evaluator.steps = 0
                    found = ListingFlow(self.datasets, self.sampling).run(ListingPlace(call, module, ()))
                    if found is not None and not names_results(self.evaluator, call, module):
                        yield Listing(call, module, text, *found)

    def _listing(self, call: ast.Call, module: Module) -> str:
        """How a call is named in words if it lists files, or nothing."""
        name = last_name(call.func)
        for value in self.outline.values(call.func, self.outline.frame_at(call, module)):
            if isinstance(value, External):
                return f"{value.name}()" if value.name in LISTINGS else ""
        is_method = isinstance(call.func, ast.Attribute) and name in PATH_METHODS
        return f".{name}()" if is_method and (name != "glob" or self._is_of_path(call.func, module)) else ""

    def _is_of_path(self, method: ast.expr, module: Module) -> bool:
        """Whether `root.glob` is a path's: what else has such a method may be a library's."""
        if b"Path" in module.data or not isinstance(method, ast.Attribute):
            return b"Path" in module.data
        holders = self.evaluator.values(method.value, self.evaluator.frame_at(method, module))
        return any(qualified(holder).startswith("pathlib.") for holder in holders)
