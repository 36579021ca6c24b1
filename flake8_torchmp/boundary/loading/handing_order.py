"""What a function does with an object before and after it hands it to workers."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.crossing.crossings import Crossings
from flake8_torchmp.boundary.tables.ecosystem import has_no_workers
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import LOOPS, following
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, dotted, last_name, position, up
from flake8_torchmp.semantics.scopes import Scope

from .datasets import LOOKING


class HandingOrder:
    def __init__(self, evaluator: Evaluator, crossings: Crossings) -> None:
        self.evaluator = evaluator
        self.crossings = crossings

    def comes_after(self, node: ast.AST, module: Module, around: Scope | None, name: str) -> bool:
        """Whether the workers that get an object have started by then: it stands behind the loader of its function."""
        calls = _loaders_in(module, around)
        own = [call for call in calls if _names(call, name)]
        tasks = self._tasks_with(name, module, around) if name and not calls else []
        if any(isinstance(outer, LOOPS) for outer in ancestors(node) if tasks):
            return False  # by the next round
        return bool(calls or tasks) and all(position(call) < position(node) for call in own or calls or tasks)

    def _tasks_with(self, name: str, module: Module, around: Scope | None) -> list[ast.Call]:
        """The calls in a function that hand a variable over as it is then: `pool.map(work, [(shared, 1)])`."""
        return [
            crossing.call
            for crossing in self.crossings.of(module)
            if crossing.api.kind == "task"
            and module.scope_of(crossing.call).enclosing_function() is around
            and _names(crossing.call, name)
        ]

    def stays_in_parent(self, name: str, module: Module, around: Scope | None) -> bool:
        """Whether all that an object is given to in its function is loaders without workers."""
        own = [call for call in _loaders_in(module, around) if _names(call, name)]
        for read in module.read.get(name, ()):
            holder = up(read)
            if isinstance(holder, ast.keyword):
                holder = up(holder)
            if (
                isinstance(holder, ast.Call)
                and module.scope_of(read).enclosing_function() is around
                and last_name(holder.func) not in LOOKING
                and not any(holder is part for call in own for part in ast.walk(call))
            ):
                return False
        frames = [(call, self.evaluator.frame_at(call, module)) for call in own]
        return bool(own) and all(
            has_no_workers(self.evaluator, self.evaluator.arguments(call, frame)) for call, frame in frames
        )


def is_dropped_behind(node: ast.AST, name: str) -> bool:
    """`rows = [reader[i] for i in range(len(reader))]; del reader`: what it has opened goes with it."""
    return bool(name) and any(
        isinstance(statement, ast.Delete) and any(dotted(target) == name for target in statement.targets)
        for statement in following(node)
    )


def _loaders_in(module: Module, around: Scope | None) -> list[ast.Call]:
    return [
        call
        for called in module.names_of("DataLoader")
        for call in module.calls.get(called, ())
        if module.scope_of(call).enclosing_function() is around
    ]


def _names(call: ast.Call, name: str) -> bool:
    return any(dotted(part) == name for part in ast.walk(call))
