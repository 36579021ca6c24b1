"""TMP402 global-changed-in-worker: worker code changes a module-level global, and the parent never sees it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..boundary.model import Model
from ..boundary.state import Global
from ..boundary.workers import WorkerFunction
from ..findings import Finding, Step
from ..semantics.module import Module, position
from . import rule


@rule("TMP402", "global-changed-in-worker")
def global_changed_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        changed = [item for item in model.state.changed_by(worker.scope) if model.state.is_variable(item[1])]
        read = [item for item in model.state.read_by(worker.scope) if model.state.is_primitive(item[1])]
        if not (changed or read) or model.workers.sets_up(worker.scope):
            continue
        known = [variable for _, variable in changed]
        for node, variable in (*changed, *(item for item in read if item[1] not in known)):
            if not model.state.is_primitive(variable):
                if model.state.is_read_by_parent(variable, model.workers):
                    yield _lost(node, variable, worker, model)
            elif worker.methods - {"fork"}:
                yield from _unshared(node, variable, worker, model)


def _lost(node: ast.AST, variable: Global, worker: WorkerFunction, model: Model) -> Finding:
    message = (
        f"{worker.scope.name}() changes the global {variable.name} in a worker ({worker.reached_from}), where the "
        "parent never sees it: return the result, or share it through a queue or shared memory"
    )
    way = [
        Step(variable.module.path, position(variable.bindings[0].node)[0], f"{variable.name} is made"),
        Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() changes it in a worker"),
    ]
    return model.finding("TMP402", message, node, worker.scope.module, way, cause=variable.text)


def _unshared(node: ast.AST, variable: Global, worker: WorkerFunction, model: Model) -> Iterator[Finding]:
    """A shared value or queue at module level: each spawned child makes its own."""
    if model.workers.are_set_in_worker(variable, model.state):
        return
    if model.state.is_read_by_parent(variable, model.workers):
        message = (
            f"{worker.scope.name}() uses the module-level {variable.name}, which each spawned worker makes anew, "
            f"so nothing is shared ({worker.reached_from}): pass it as an argument or through an initializer"
        )
        way = [
            Step(variable.module.path, position(variable.bindings[0].node)[0], f"{variable.name} is made"),
            Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() uses it in a worker"),
        ]
        yield model.finding("TMP402", message, node, worker.scope.module, way, cause=variable.text)
