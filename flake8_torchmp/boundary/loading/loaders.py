"""The loaders of the project, by the classes of the datasets that they are given."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.crossings import Crossing, Crossings
from flake8_torchmp.boundary.crossing.worker_counts import WorkerCounts
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import classes, keywords
from flake8_torchmp.semantics.choices import is_callers_choice
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.narrowing import survives
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import Class, Constant, Instance, Value


class Loaders:
    def __init__(self, crossings: Crossings) -> None:
        self.crossings = crossings
        self._made: dict[str, list[tuple[frozenset[Place], bool]]] = {}
        self._bases: dict[Place, bool] = {}

    def is_loader(self, name: str) -> bool:
        """Whether a library's class is a loader, going by its qualified name."""
        return name in self.crossings.loaders

    def of(self, cls: Scope) -> Iterator[Crossing]:
        """The crossings by which loaders are given objects of a class, perhaps inside something else."""
        for path in self._files(cls):
            module = self.crossings.outline.codebase.module(path)
            if module is not None and any(cls.place in given for given, _ in self._made_in(path)):
                yield from (c for c in self._given_datasets(module) if cls.place in self._classes(c))

    def have_workers(self, cls: Scope) -> list[bool]:
        """For each loader that is given objects of a class: whether it may have workers."""
        return [
            has_workers for path in self._files(cls) for given, has_workers in self._made_in(path) if cls.place in given
        ]

    def are_given(self, cls: Class) -> bool:
        """Whether the project shows a loader that is given an object of a class itself, not as a part of another."""
        place = cls.scope.place
        return any(place in self._classes_of(value) for crossing in self.of(cls.scope) for value in crossing.values)

    def take_any_like(self, cls: Class) -> bool:
        """Whether a loader with workers is given an object of a class that is found by its base: `issubclass(x, Base)`.

        `for name, found in vars(module).items(): if issubclass(found, Base): dataset = found(options)`
        """
        return any(self._takes_any(base.scope) for base in classes.project_classes(self.crossings.outline, cls)[1:])

    def _takes_any(self, base: Scope) -> bool:
        if base.place not in self._bases:
            modules = map(self.crossings.outline.codebase.module, self._files(base))
            asking = [module for module in modules if module is not None and _asks_for_subclasses(base, module)]
            self._bases[base.place] = any(
                crossing.has_workers and not any(isinstance(value, Instance) for value in crossing.values)
                for module in asking
                for crossing in self._given_datasets(module)
            )
        return self._bases[base.place]

    def have_one_worker(self, cls: Class) -> bool:
        """Whether the project shows loaders of a dataset class, and none has more than one worker."""
        loaders = [crossing for crossing in self.of(cls.scope) if not _is_tried_by_test(crossing)]
        return bool(loaders) and all(self._has_one_worker(crossing, cls) for crossing in loaders)

    def _files(self, cls: Scope) -> Iterator[str]:
        mentions = self.crossings.outline.codebase.mentions
        return (path for path in mentions.of(cls) if self.crossings.may_make_loaders(path))

    def _made_in(self, path: str) -> list[tuple[frozenset[Place], bool]]:
        """For each loader that a file makes: the classes of the objects it is given, and whether it has workers."""
        known = self._made.get(path)
        if known is None:
            self._made[path] = []
            module = self.crossings.outline.codebase.module(path)
            given = self._given_datasets(module) if module is not None else ()
            crossings = [crossing for crossing in given if not _is_tried_by_test(crossing)]
            known = self._made[path] = [(self._classes(crossing), crossing.has_workers) for crossing in crossings]
        return known

    def _given_datasets(self, module: Module) -> Iterator[Crossing]:
        return (crossing for crossing in self.crossings.of(module) if crossing.parameter.role == "dataset")

    def _classes(self, crossing: Crossing) -> frozenset[Place]:
        return frozenset(place for hanging in crossing.hanging for place in self._classes_of(hanging.value))

    def _classes_of(self, value: Value) -> list[Place]:
        if not isinstance(value, Instance):
            return []
        return [cls.scope.place for cls in classes.project_classes(self.crossings.outline, value.cls)]

    def _has_one_worker(self, crossing: Crossing, cls: Class) -> bool:
        evaluator = self.crossings.evaluator
        arguments = evaluator.arguments(crossing.call, crossing.frame)
        given = keywords.sources(evaluator, arguments, apis.LOADER_POSITIONS["num_workers"], "num_workers")
        if not given:
            return not crossing.has_workers
        if not any(survives(2, [source.node]) for source in given):
            return True
        counts = WorkerCounts(evaluator, arguments, given, crossing.source)
        own = [value for value in crossing.values if cls.scope.place in self._classes_of(value)]
        left = [count for dataset in own or crossing.values for count in counts.of(dataset) or ()]
        return all(
            isinstance(count, Constant) and count.value in (0, 1, None) and not is_callers_choice(count)
            for count in left
        )


def _asks_for_subclasses(base: Scope, module: Module) -> bool:
    calls = module.calls.get("issubclass", ())
    return any(len(call.args) == 2 and last_name(call.args[1]) == base.name for call in calls)


def _is_tried_by_test(crossing: Crossing) -> bool:
    """Whether a test alone has the project make a loader without workers: its users may ask for some."""
    if crossing.has_workers or is_called_test(crossing.module.path):
        return False
    frame, made = crossing.frame, crossing.frame.arguments
    while True:
        receiver = frame.receiver
        if made is None and isinstance(receiver, Instance):
            made = receiver.arguments
        if made is None:
            return False
        frame = made.frame
        if is_called_test(frame.module.path):
            return True
        made = frame.arguments
