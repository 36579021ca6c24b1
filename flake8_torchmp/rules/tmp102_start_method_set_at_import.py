"""TMP102 start-method-set-at-import: the start method is set when the module is imported
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..boundary.guards import is_guarded
from ..boundary.methods import mp_name
from ..boundary.model import Model
from ..findings import Finding
from ..semantics.flow import caught_around, conditions
from ..semantics.module import Module
from ..semantics.values import Constant
from . import rule

CATCHING = {"", "RuntimeError", "Exception", "BaseException"}


@rule("TMP102", "start-method-set-at-import", fix="safe")
def start_method_set_at_import(module: Module, model: Model) -> Iterator[Finding]:
    for call in module.calls_of("set_start_method"):
        frame = model.evaluator.frame_at(call, module)
        if any(mp_name(value) == "set_start_method" for value in model.evaluator.values(call.func, frame)):
            if not _may_repeat(call, module, model) and _runs_at_import(call, module, model):
                message = (
                    "set_start_method() runs whenever this module is imported, in spawned children too, which die with "
                    '"context has already been set": move it under the main guard'
                )
                yield model.finding("TMP102", message, call, module)


def _may_repeat(call: ast.Call, module: Module, model: Model) -> bool:
    """Whether a second call in the child does no harm, or does not happen."""
    frame = model.evaluator.frame_at(call, module)
    arguments = model.evaluator.arguments(call, frame)
    force = arguments.get(1, "force")
    if arguments.is_open:
        return True
    if force is not None and not all(
        isinstance(value, Constant) and not value.value for value in model.evaluator.of(force)
    ):
        return True
    method = arguments.get(0, "method")
    if method is not None and all(
        isinstance(value, Constant) and value.value == "fork" for value in model.evaluator.of(method)
    ):
        return True  # a forked child imports nothing
    if not CATCHING.isdisjoint(caught_around(call)) or is_guarded(model.evaluator, call, module):
        return True
    return any("get_start_method" in ast.dump(condition.test) for condition in conditions(call))


def _runs_at_import(call: ast.Call, module: Module, model: Model) -> bool:
    scope = module.scope_of(call).enclosing_function()
    if model.is_program_file(module):
        return False
    if scope is None:
        return True
    seen = {id(scope)}
    pending = [scope]
    while pending:
        current = pending.pop()
        if model.starts.is_run_by_decorator(current):
            return True
        for node, place in model.state.references(current):
            if is_guarded(model.evaluator, node, place) or not CATCHING.isdisjoint(caught_around(node)):
                continue
            if not isinstance(node, ast.Name | ast.Attribute) or not model.is_called(node):
                continue
            caller = place.scope_of(node).enclosing_function()
            if caller is None:
                if not model.is_program_file(place):
                    return True
            elif id(caller) not in seen:
                seen.add(id(caller))
                pending.append(caller)
    return False
