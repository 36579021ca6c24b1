"""Daemonic workers: processes that may not have children of their own.

A DataLoader's and a Pool's workers are daemonic always; a Process, and what `start_processes` starts, where it is told
to be; an executor's workers never (since Python 3.9).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.crossings import Crossing
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import attributes, classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.values import Class, Constant, External, Instance, Member, Result, Source, Value

SPAWN_DAEMON = 4
"""Where `start_processes` takes `daemon=`; spawn does so as well."""


class Daemons:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def of_crossing(self, crossing: Crossing) -> bool:
        """Whether the worker that a crossing leads to is daemonic."""
        kind = crossing.api.kind
        if kind == "loader":
            return True
        if kind == "pool":
            return not self._are_pools_changed(crossing.module)
        if kind == "task":
            owner = crossing.callee.owner if isinstance(crossing.callee, Member) else None
            if crossing.api not in apis.POOL_TASKS.values() or isinstance(owner, Instance):
                return False  # a class of its own is there to have other workers
            return not self._are_pools_changed(crossing.module)
        if kind == "executor":
            return False
        if kind == "process" and crossing.parameter.role == "object":
            return any(self.of_object(value) for value in self.evaluator.of(crossing.source))
        arguments = self.evaluator.arguments(crossing.call, crossing.frame)
        if self._is_true(arguments.get(SPAWN_DAEMON if kind == "spawn" else None, "daemon")):
            return True
        return kind == "process" and self._is_set_later(crossing.call, crossing.module)

    def of_class(self, cls: Class) -> bool:
        """Whether some object of a subclass of Process is daemonic."""
        if self.of_object(Instance(cls, None)):
            return True
        return any(
            self.of_object(Instance(made, arguments))
            for made, arguments in self.evaluator.callers.constructions(cls.scope)
        )

    def of_object(self, value: Value) -> bool:
        if not isinstance(value, Instance):
            return False
        if any(_is_true_value(stored) for stored in attributes.stored(self.evaluator, value, "daemon")):
            return True
        if any(self._is_true(a.get(None, "daemon")) for _, a in classes.library_init(self.evaluator, value)):
            return True
        made = value.arguments
        return made is not None and self._is_set_later(made.call, made.frame.module)

    def _is_set_later(self, made: ast.AST, module: Module) -> bool:
        """`process.daemon = True`, for an object that a call makes."""
        return any(
            isinstance(value, Result | Instance) and value.arguments is not None and value.arguments.call is made
            for target in _set_to_daemon(module)
            for value in self.evaluator.values(target, self.evaluator.frame_at(target, module))
        )

    def _are_pools_changed(self, module: Module) -> bool:
        """Whether a module sets attributes of the class Pool itself: how its workers are made is unknown then."""
        key = ("pools are changed",)
        if key not in module.memo:
            module.memo[key] = self.evaluator.alone(lambda: self._changes_pools(module))
        return bool(module.memo[key])

    def _changes_pools(self, module: Module) -> bool:
        return any(
            isinstance(value, External) and value.name == "multiprocessing.pool.Pool"
            for changes in module.changes.values()
            for change in changes
            if change.kind == "attribute" and last_name(change.target) in module.names_of("Pool")
            for value in self.evaluator.values(change.target, self.evaluator.frame_at(change.target, module))
        )

    def _is_true(self, source: Source | None) -> bool:
        return source is not None and all(_is_true_value(value) for value in self.evaluator.of(source))


def _is_true_value(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is True


def _set_to_daemon(module: Module) -> Iterator[ast.expr]:
    for changes in module.changes.values():
        for change in changes:
            set_to = change.value if change.kind == "attribute" and change.name == "daemon" else None
            if isinstance(set_to, ast.Constant) and set_to.value:
                yield change.target
