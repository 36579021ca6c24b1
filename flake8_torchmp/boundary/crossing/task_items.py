"""The tasks of a pool's `map`: the function runs once for each element, in the frame that the element gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Collection, Function, Source

from .crossings import Crossing, Crossings

TASKS = 2
"""So many tasks are looked at: what the first two have in common, all have."""


def frames_of_tasks(crossings: Crossings, scope: Scope, module: Module) -> Iterator[list[Frame]]:
    """For each `pool.map(function, items)` the frames of two tasks, which are the same for `[item for _ in …]`."""
    evaluator = crossings.evaluator
    for crossing in crossings.of(module):
        name = crossing.api.name.rpartition(".")[2]
        if crossing.api.kind != "task" or crossing.parameter.role != "function" or "map" not in name:
            continue
        if not any(isinstance(h.value, Function) and h.value.scope is scope for h in crossing.hanging):
            continue
        closure = evaluator.frame_of(scope).closure
        tasks = [evaluator.frame(scope, made, closure, None) for made in _tasks(evaluator, crossing, name)]
        if len(tasks) == TASKS:
            yield tasks


def _tasks(evaluator: Evaluator, crossing: Crossing, name: str) -> Iterator[Arguments]:
    given = evaluator.arguments(crossing.call, crossing.frame)
    if crossing.api.name.startswith("Pool."):
        items = given.get(1, "iterable")
        columns = [_elements(evaluator, items)] if items is not None else []
    else:
        columns = [_elements(evaluator, items) for items in given.positional[1:]]
    for row in zip(*columns, strict=False):
        made = Arguments(crossing.call, crossing.frame)
        made.positional = list(row)
        if "starmap" in name:
            made.positional = []
            for value in evaluator.of(row[0]):
                if isinstance(value, Collection) and value.complete:
                    made.positional = [item for _, item in evaluator.items(value)]
        yield made


def _elements(evaluator: Evaluator, items: Source) -> list[Source]:
    """The first elements of what a call goes through, as often as they come."""
    for value in evaluator.of(items):
        if isinstance(value, Collection) and value.kind != "dict":
            found = [source for _, source in islice(evaluator.items(value), TASKS)]
            return found * TASKS if isinstance(value.node, ast.ListComp | ast.GeneratorExp) else found
    return []
