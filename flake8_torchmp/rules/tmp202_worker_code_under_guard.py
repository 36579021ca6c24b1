"""TMP202 worker-code-under-guard: a function or class that exists only under the main guard goes to workers
"""

from __future__ import annotations

from collections.abc import Iterator

from ..boundary.guards import is_guarded
from ..boundary.model import HandedOver, Model
from ..findings import Finding
from ..semantics.module import DEFINITIONS, Module
from ..semantics.values import Class, Function, Instance, Method, Value
from . import rule


@rule("TMP202", "worker-code-under-guard", fix="safe")
def worker_code_under_guard(module: Module, model: Model) -> Iterator[Finding]:
    for handed in model.handed_over(module):
        definition = _definition(handed.value)
        if definition is None or not handed.is_imported_again:
            continue
        scope = definition.scope
        if scope.parent is None or not scope.parent.is_module or not isinstance(scope.node, DEFINITIONS):
            continue
        bindings = scope.module.scope.bindings[scope.name]
        if all(is_guarded(model.evaluator, binding.node, scope.module) for binding in bindings):
            yield _finding(handed, definition, model)


def _definition(value: Value) -> Function | Class | None:
    if isinstance(value, Function | Class):
        return value
    if isinstance(value, Instance):
        return value.cls
    return value.function if isinstance(value, Method) and isinstance(value.receiver, Class) else None


def _finding(handed: HandedOver, definition: Function | Class, model: Model) -> Finding:
    node, module = model.reference(handed, definition)
    kind = "class" if isinstance(definition, Class) else "function"
    message = (
        f"{kind} {definition.scope.name} is defined under the main guard, so workers cannot find it when "
        f"{handed.place[2]} hands it over (spawn, forkserver): define it at module level"
    )
    cause = f"{definition.scope.module.path}:{definition.node.lineno}"
    return model.finding("TMP202", message, node, module, model.steps(handed.way, handed.place), cause)
