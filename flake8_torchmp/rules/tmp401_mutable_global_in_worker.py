"""TMP401 mutable-global-in-worker: worker code reads a module-level global that the parent changes
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..boundary.model import Model
from ..boundary.state import Global, Mutation
from ..boundary.workers import WorkerFunction
from ..findings import Finding, Step
from ..semantics.module import Module, position
from . import rule


@rule("TMP401", "mutable-global-in-worker")
def mutable_global_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if not worker.methods - {"fork"} and not model.keeps_workers(module):
            continue
        for node, variable in model.state.read_by(worker.scope):
            if not _is_state(variable, model) or model.state.is_changed_by_read(node, worker.scope.module):
                continue
            mutation = _changed_in_parent(variable, model)
            if mutation is not None:
                yield _stale(node, variable, mutation, worker, model)
            elif worker.methods - {"fork"} and model.state.is_random(variable):
                yield _made_again(node, variable, worker, model)


def _is_state(variable: Global, model: Model) -> bool:
    state = model.state
    if not state.is_variable(variable) or not state.is_made_at_import(variable):
        return False
    return not state.is_constant_by_type(variable) and not state.is_primitive(variable)


def _changed_in_parent(variable: Global, model: Model) -> Mutation | None:
    """The first change that only the parent sees; None where workers set it for themselves."""
    found = None
    mutations = model.state.mutations(variable)
    phases = [model.state.phase(mutation.node, mutation.module) for mutation in mutations]
    for mutation, phase in zip(mutations, phases) if "parent" in phases else ():
        function = mutation.module.scope_of(mutation.node).enclosing_function()
        if function is not None and model.workers.runs(function):
            if mutation.kind == "rebound" or model.workers.sets_up(function):
                return None
            if not model.state.is_called_by_parent(function, model.workers):
                continue
        if found is None and phase == "parent":
            found = mutation
    return found


def _stale(node: ast.expr, variable: Global, mutation: Mutation, worker: WorkerFunction, model: Model) -> Finding:
    verb = "binds it again" if mutation.kind == "rebound" else "changes it"
    place = f"line {mutation.node.lineno}"  # type: ignore[attr-defined]
    if mutation.module is not worker.scope.module:
        place = f"{mutation.module.name}:{mutation.node.lineno}"  # type: ignore[attr-defined]
    message = (
        f"worker code ({worker.reached_from}) reads the global {variable.name}, but each worker has its own copy and "
        f"never sees that the parent {verb} ({place}): hand it over as an attribute or argument"
    )
    way = [
        Step(variable.module.path, position(variable.bindings[0].node)[0], f"{variable.name} is made"),
        Step(mutation.module.path, position(mutation.node)[0], f"the parent {verb}"),
        Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() reads it in a worker"),
    ]
    return model.finding("TMP401", message, node, worker.scope.module, way, cause=variable.text)


def _made_again(node: ast.expr, variable: Global, worker: WorkerFunction, model: Model) -> Finding:
    message = (
        f"worker code ({worker.reached_from}) reads the global {variable.name}, which is drawn at random when the "
        "module is imported, by each spawned worker anew: hand it over as an attribute or argument"
    )
    way = [
        Step(variable.module.path, position(variable.bindings[0].node)[0], f"{variable.name} is drawn at random"),
        Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() reads it in a worker"),
    ]
    return model.finding("TMP401", message, node, worker.scope.module, way, cause=variable.text)
