"""TMP203 guarded-global-read-in-worker: worker code reads a global that only the main guard binds
"""

from __future__ import annotations

from collections.abc import Iterator

from ..boundary.guards import is_guarded
from ..boundary.model import Model
from ..boundary.state import Global
from ..boundary.workers import WorkerFunction
from ..findings import Finding, Step
from ..semantics.module import Module, position
from . import rule


@rule("TMP203", "guarded-global-read-in-worker")
def guarded_global_read_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if not worker.methods - {"fork"}:
            continue
        for node, variable in model.state.names_in(worker.scope):
            if is_guarded(model.evaluator, node, worker.scope.module):
                continue
            if _is_bound_by_guard_alone(variable, worker, model):
                message = (
                    f"{variable.name} is bound only under the main guard, so {worker.scope.name}() finds no such name "
                    f"in a spawned worker ({worker.reached_from}): pass it as an argument"
                )
                binding = variable.bindings[0].node
                way = [
                    Step(variable.module.path, position(binding)[0], f"{variable.name} bound under the guard"),
                    Step(worker.scope.module.path, position(node)[0], f"read in {worker.scope.name}()"),
                ]
                yield model.finding("TMP203", message, node, worker.scope.module, way, cause=variable.text)


def _is_bound_by_guard_alone(variable: Global, worker: WorkerFunction, model: Model) -> bool:
    if variable.module.scope.star_imports:
        return False
    guarded = False
    for binding in variable.bindings:
        function = variable.module.scope_of(binding.node).enclosing_function()
        if function is not None:
            if model.workers.runs(function) or model.state.phase_of(function) != "parent":
                return False
            guarded = True
        elif is_guarded(model.evaluator, binding.node, variable.module):
            guarded = True
        else:
            return False
    return guarded and not _is_tested(variable, worker)


def _is_tested(variable: Global, worker: WorkerFunction) -> bool:
    """`"args" in globals()`: the author knows that it may be missing."""
    return bool(worker.scope.module.calls.get("globals")) and variable.name in worker.scope.module.strings
