"""Globals that nothing but the function which starts the workers binds: `global data` before `pool.map(work, rows)`."""

from __future__ import annotations

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Instance, Value

from .state import State

MOST_FUNCTIONS = 30


def starter_that_binds(variable: Global, module: Module, state: State, workers: Workers) -> Scope | None:
    """The function that alone binds a global, where no import runs it and it hands over what a module does itself."""
    found = None
    if state.names.may_be_starred(variable):
        return None
    for binding in variable.bindings:
        if binding.kind == "augmented" or state.is_bound_by_guard(binding, variable.module):
            continue
        function = variable.module.scope_of(binding.node).enclosing_function()
        if function is None or state.phase_of(function) != "unknown" or not _hands_over(function, module, workers):
            return None
        found = function
    return found


def _hands_over(function: Scope, module: Module, workers: Workers) -> bool:
    """Whether a function, or one that it calls, hands something to workers in a module."""
    places = (crossing.module.scope_of(crossing.call) for crossing in workers.crossings.of(module))
    handing = {place.enclosing_function() for place in places}
    pending: list[tuple[Scope, Value | None]] = [(function, _owner(function, workers))]
    seen: set[Scope] = set()
    while pending and len(seen) < MOST_FUNCTIONS:
        scope, receiver = pending.pop(0)
        if scope in handing:
            return True
        if scope not in seen:
            seen.add(scope)
            pending += [(called.function.scope, called.receiver) for called in workers.called.of(scope, receiver)]
    return False


def _owner(method: Scope, workers: Workers) -> Instance | None:
    owner = method.parent
    if owner is None or not owner.is_class or owner.parent is None:
        return None
    return Instance(Class(owner, workers.outline.frame_of(owner.parent)), None)
