"""Globals that nothing but the function which starts the workers binds: `global data` before `pool.map(work, rows)`."""

from __future__ import annotations

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import received
from flake8_torchmp.semantics.calls import has_receiver
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.scopes import Scope

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
    owner = received.receiver(workers.outline.frame_of(function)) if has_receiver(function) else None
    reached = workers.called.reached_from([(function, owner)], MOST_FUNCTIONS)
    return any(scope in handing for scope, _ in reached)
