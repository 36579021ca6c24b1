"""TMP302 local-callable-to-worker: a function or class defined inside a function reaches worker processes
"""

from __future__ import annotations

from collections.abc import Iterator

from ..boundary.model import HandedOver, Model
from ..findings import Finding
from ..semantics.module import Module
from ..semantics.values import Class, Function, Instance, Method
from . import rule


@rule("TMP302", "local-callable-to-worker", fix="safe or unsafe")
def local_callable_to_worker(module: Module, model: Model) -> Iterator[Finding]:
    for handed in model.handed_over(module):
        if handed.is_pickled:
            yield from _judge(handed, model)


def _judge(handed: HandedOver, model: Model) -> Iterator[Finding]:
    value = handed.value
    if isinstance(value, Function) and not value.is_lambda:
        if value.decorated_by is not None:
            name = f"{value.scope.name} is hidden by a decorator without functools.wraps"
            yield _finding(handed, value, name, "let the decorator use functools.wraps", model)
        elif value.is_local and not _is_method(value):
            name = f"function {value.scope.name} is local to {_owner(value)}"
            yield _finding(handed, value, name, "define it at module level", model)
    elif isinstance(value, Class) and value.is_local:
        name = f"class {value.scope.name} is local to {_owner(value)}"
        yield _finding(handed, value, name, "define it at module level", model)
    elif isinstance(value, Instance) and value.cls.is_local:
        name = f"class {value.cls.scope.name} is local to {_owner(value.cls)}"
        yield _finding(handed, value.cls, name, "define it at module level", model)
    elif isinstance(value, Method) and isinstance(value.receiver, Class) and value.receiver.is_local:
        name = f"class {value.receiver.scope.name} is local to {_owner(value.receiver)}"
        yield _finding(handed, value.receiver, name, "define it at module level", model)


def _is_method(value: Function) -> bool:
    return value.scope.parent is not None and value.scope.parent.is_class and not _owner(value)


def _owner(value: Function | Class) -> str:
    scope = value.scope.parent.enclosing_function() if value.scope.parent is not None else None
    return f"{scope.name}()" if scope is not None else ""


def _finding(handed: HandedOver, value: Function | Class, name: str, advice: str, model: Model) -> Finding:
    node, module = model.reference(handed, value)
    message = (
        f"{name}, reaches workers through {handed.place[2]} and cannot be pickled "
        f"({model.pickled_under(handed)}): {advice}"
    )
    cause = f"{value.scope.module.path}:{value.node.lineno}"
    return model.finding("TMP302", message, node, module, model.steps(handed.way, handed.place), cause)
