"""Which programs of a project come to a place: what one script sets up, the workers of another never had to see."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.phases import Phases
from flake8_torchmp.boundary.crossing.crossings import Crossing, Crossings
from flake8_torchmp.boundary.loading.loaders import Loaders
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import Instance

ANY = frozenset(("",))
"""What any program may come to: a library's function, what runs when a module is imported."""
MOST_FUNCTIONS = 200
IN_OTHER_WAYS = ("dataset", "collate")
"""Worker code that is found by its class as well, whoever makes the loader."""


class Programs:
    def __init__(self, phases: Phases, crossings: Crossings, loaders: Loaders) -> None:
        self.phases = phases
        self.crossings = crossings
        self.loaders = loaders
        self._known: dict[Place, frozenset[str]] = {}

    def may_meet(self, node: ast.AST, module: Module, seed: Module, worker: WorkerFunction) -> bool:
        """Whether a program that comes to a place may be one that starts the workers in which a function runs."""
        if worker.kind in IN_OTHER_WAYS:
            return self._may_load(self.at(node, module), worker)
        starting = self._starting(seed)
        if starting == ANY:
            return True
        here = self.at(node, module)
        return here == ANY or not here.isdisjoint(starting)

    def _starting(self, module: Module) -> frozenset[str]:
        if any(True for _ in self.crossings.process_classes(module)):
            return ANY
        found = [self.at(crossing.call, crossing.module) for crossing in self.crossings.of(module)]
        return ANY if ANY in found or not found else frozenset().union(*found)

    def _may_load(self, programs: frozenset[str], worker: WorkerFunction) -> bool:
        """Whether one of some programs may come to a loader of the dataset whose sample method a function is."""
        if programs == ANY or worker.kind != "dataset" or not isinstance(worker.receiver, Instance):
            return True
        if any(map(self.crossings.names_loaders, programs)):
            return True
        loaders = list(self.loaders.of(worker.receiver.cls.scope))
        return not loaders or any(self._may_come_to(loader, programs) for loader in loaders)

    def _may_come_to(self, crossing: Crossing, programs: frozenset[str]) -> bool:
        coming = self.at(crossing.call, crossing.module)
        if coming == ANY:
            return crossing.module.path in self.phases.evaluator.codebase.reachable(sorted(programs))
        return not programs.isdisjoint(coming)

    def at(self, node: ast.AST, module: Module) -> frozenset[str]:
        """The files with which the programs begin that come to a place, or `ANY`."""
        phase, function = self.phases.here(node, module)
        if function is not None:
            return self.of(function)
        is_script = phase == "parent" or not self.phases.evaluator.codebase.importers(module.path)
        return frozenset((module.path,)) if is_script else ANY

    def of(self, scope: Scope) -> frozenset[str]:
        known = self._known.get(scope.place)
        if known is None:
            known = self._known[scope.place] = self._search(scope)
        return known

    def _search(self, scope: Scope) -> frozenset[str]:
        seen = {scope.place}
        pending = [scope]
        found: set[str] = set()
        while pending:
            current = pending.pop(0)
            outer = current.parent.enclosing_function() if current.parent is not None else None
            places = self.phases.references(current)
            if not places and outer is None:
                path = current.module.path
                if not (current.name == "main" or is_called_test(path)):
                    return ANY
                found.add(path)
            functions = [outer] if outer is not None else []
            for node, module in places:
                function = self.phases.here(node, module)[1]
                if function is not None:
                    functions.append(function)
                    continue
                here = self.at(node, module)
                if here == ANY:
                    return ANY
                found |= here
            for function in functions:
                if function.place not in seen:
                    seen.add(function.place)
                    pending.append(function)
            if len(seen) > MOST_FUNCTIONS:
                return ANY
        return frozenset(found) or ANY
