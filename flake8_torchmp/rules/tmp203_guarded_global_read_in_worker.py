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
            if (
                model.state.is_bound_by_guard_alone(variable)
                and not _is_set_by_workers(variable, model)
                and not _is_tested(variable, worker)
                and not is_guarded(model.evaluator, node, worker.scope.module)
            ):
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


def _is_set_by_workers(variable: Global, model: Model) -> bool:
    functions = [variable.module.scope_of(binding.node).enclosing_function() for binding in variable.bindings]
    return any(function is not None and model.workers.runs(function) for function in functions)


def _is_tested(variable: Global, worker: WorkerFunction) -> bool:
    """`"args" in globals()`: the author knows that it may be missing."""
    return bool(worker.scope.module.calls.get("globals")) and variable.name in worker.scope.module.strings
