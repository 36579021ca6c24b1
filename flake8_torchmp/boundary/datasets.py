"""Dataset classes, and the loaders of the project that are given their objects."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module, Place
from flake8_torchmp.semantics.values import Class, Instance

from . import apis
from .crossings import Crossings

UNSEEN_LOADER = apis.Api("a DataLoader", "loader", apis.LOADER)


class Datasets:
    def __init__(self, outline: Evaluator, crossings: Crossings, bases: tuple[str, ...]) -> None:
        self.outline = outline
        self.crossings = crossings
        self.bases = frozenset(bases)
        self.names = frozenset(name.rpartition(".")[2] for name in bases)
        self._loaders: dict[str, list[tuple[frozenset[Place], bool]]] = {}

    def of(self, module: Module) -> Iterator[Class]:
        for node in module.classes:
            scope = module.scopes[node]
            assert scope.parent is not None
            cls = Class(scope, self.outline.frame_of(scope.parent))
            if self.is_dataset(cls):
                yield cls

    def is_dataset(self, cls: Class) -> bool:
        for base in self.outline.mro(cls)[1:]:
            if isinstance(base, Class):
                name = f"{base.scope.module.name}.{base.scope.name}"
                if name in self.bases:
                    return True
        return any(
            apis.is_dataset_name(name) or name in self.bases for name in classes.library_bases(self.outline, cls)
        )

    def are_used_in_parent_alone(self, cls: Class) -> bool:
        """Whether the project shows loaders of a dataset class, and none of them has workers."""
        loaders = list(self.loaders_of(cls))
        return bool(loaders) and not any(loaders)

    def loaders_of(self, cls: Class) -> Iterator[bool]:
        """For each loader of the project that is given objects of a class: whether it may have workers."""
        codebase = self.outline.codebase
        for path in codebase.users([cls.scope.module.path]):
            for scopes, has_workers in self._loaders_in(path) if codebase.matches(path, apis.WORDS) else ():
                if cls.scope.place in scopes:
                    yield has_workers

    def _loaders_in(self, path: str) -> list[tuple[frozenset[Place], bool]]:
        """For each loader that a file makes: the classes of the objects it is given, and whether it has workers."""
        known = self._loaders.get(path)
        if known is None:
            self._loaders[path] = []
            module = self.outline.codebase.module(path)
            known = self._loaders[path] = list(self._find(module)) if module is not None else []
        return known

    def _find(self, module: Module) -> Iterator[tuple[frozenset[Place], bool]]:
        for crossing in self.crossings.of(module):
            if crossing.parameter.role == "dataset":
                scopes = [
                    item.scope.place
                    for hanging in crossing.hanging
                    if isinstance(hanging.value, Instance)
                    for item in classes.project_classes(self.outline, hanging.value.cls)
                ]
                yield frozenset(scopes), crossing.has_workers
