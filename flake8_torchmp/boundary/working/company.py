"""How many processes run the same code: several at once, one after the other, or one alone."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.crossing.bound_parameters import bound_by
from flake8_torchmp.boundary.crossing.crossings import Crossing
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics.choices import is_choice
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, Instance, Value

from .turns import are_several, take_turns


class Company:
    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    def several(self, module: Module, target: Scope | None = None, receiver: Value | None = None) -> bool:
        """Whether more than one process runs a target, as far as the module shows.

        A function asks for itself alone, a method of a Process subclass for the objects of that class.
        """
        is_own = isinstance(receiver, Instance) and self.workers.crossings.is_process(receiver.cls)
        return (not is_own and self._is_spawned(module)) or are_several(self._made(module, target, receiver))

    def is_alone(self, target: Scope, module: Module) -> bool:
        """Whether a function is what one process alone is given to do, such as a server beside its actors."""
        made = self._made(module, target, None)
        return bool(made) and not are_several(made)

    def take_turns(self, module: Module, receiver: Value | None = None) -> bool:
        """Whether each of those processes ends before the next one begins, like calls of a function."""
        return not self._is_spawned(module) and take_turns(self._made(module, None, receiver))

    def _is_spawned(self, module: Module) -> bool:
        return any(crossing.api.kind == "spawn" for crossing in self.workers.crossings.of(module))

    def _made(self, module: Module, target: Scope | None, receiver: Value | None) -> set[ast.AST]:
        """The calls that make processes."""
        crossings = self.workers.crossings
        if isinstance(receiver, Instance) and crossings.is_process(receiver.cls):
            made = self.workers.evaluator.callers.constructions(receiver.cls.scope)
            return {arguments.call for _, arguments in made}
        found = (c for c in crossings.of(module) if c.api.kind == "process")
        return {c.call for c in found if target is None or runs(c, target)}

    def has_one(self, worker: WorkerFunction, module: Module) -> bool:
        """Whether what an initializer prepares is known to be one process: there is no other to draw the same."""
        made = [c for c in self.workers.crossings.of(module) if c.text == worker.reached_from]
        return worker.kind == "initializer" and bool(made) and all(self.makes_one(crossing) for crossing in made)

    def makes_one(self, crossing: Crossing) -> bool:
        index, name = (apis.LOADER_POSITIONS["num_workers"], "num_workers")
        if crossing.api.kind != "loader":
            index, name = 0, "max_workers" if crossing.api is apis.EXECUTOR else "processes"
        evaluator = self.workers.evaluator
        count = evaluator.arguments(crossing.call, crossing.frame).get(index, name)
        values = evaluator.of(count) if count is not None else ()
        return bool(values) and all(isinstance(v, Constant) and v.value == 1 and not is_choice(v) for v in values)


def runs(crossing: Crossing, target: Scope) -> bool:
    """Whether what is handed over is a function itself, and not what it calls."""
    return any(function.scope is target for hanging in crossing.hanging for function, _ in bound_by(hanging.value))
