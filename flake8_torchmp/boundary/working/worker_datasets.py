"""The worker's copy of its dataset, as what prepares the worker gets it: `get_worker_info().dataset`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flake8_torchmp.boundary.crossing.crossings import Crossing
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import bound_to
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, dotted, last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Function, Instance

from .called_functions import Called

MOST_NAMES = 3
"""Names for parts of the dataset, one made of the other, that are followed."""


def methods_called(
    scope: Scope, loader: ast.AST | None, crossings: Iterable[Crossing], evaluator: Evaluator
) -> Iterator[Called]:
    """What a function that a loader's workers begin with calls on their dataset, or on what hangs on that.

    `get_worker_info().dataset.transform.reseed(worker_id)`
    """
    names = _methods_named(scope, evaluator)
    if not names:
        return
    for crossing in crossings:
        if crossing.call is not loader or crossing.parameter.role != "dataset":
            continue
        for hanging in crossing.hanging:
            for name in names if isinstance(hanging.value, Instance) else ():
                assert isinstance(hanging.value, Instance)
                method = classes.find_method(evaluator, hanging.value.cls, name)
                if method is not None:
                    yield Called(method, hanging.value)


def _methods_named(scope: Scope, evaluator: Evaluator) -> list[str]:
    """The methods that a function calls on the dataset of its worker, or on what hangs on that."""
    assert isinstance(scope.node, FUNCTIONS)
    if b"get_worker_info" not in scope.module.data:
        return []
    calls = [node for node in body_nodes(scope.node) if isinstance(node, ast.Call)]
    named = [
        call.func.attr
        for call in calls
        if isinstance(call.func, ast.Attribute) and _is_of_own_dataset(call.func.value, scope.module)
    ]
    given = (call for call in calls if any(_is_of_own_dataset(item, scope.module) for item in call.args))
    return [*named, *(name for call in given for name in _called_on_given(call, scope.module, evaluator))]


def _called_on_given(call: ast.Call, module: Module, evaluator: Evaluator) -> Iterator[str]:
    """What a function calls on the dataset that it is given: `seed_all(get_worker_info().dataset)`."""
    frame = evaluator.frame_at(call, module)
    for function in evaluator.values(call.func, frame):
        if not isinstance(function, Function):
            continue
        bound = bound_to(function.scope, evaluator.arguments(call, frame))
        parameters = {
            name
            for name, source in bound
            if isinstance(source.node, ast.expr) and _is_of_own_dataset(source.node, module)
        }
        for node in body_nodes(function.node):
            method = node.func if isinstance(node, ast.Call) else None
            if isinstance(method, ast.Attribute) and dotted(method.value) in parameters:
                yield method.attr


def _is_of_own_dataset(node: ast.expr, module: Module, depth: int = MOST_NAMES) -> bool:
    """Whether an expression is the worker's dataset, or an attribute of it, under whatever name."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if is_own_dataset(node, module):
            return True
        node = node.value
    if not isinstance(node, ast.Name) or not depth:
        return False
    values = [binding.value for binding in module.scope_of(node).bindings.get(node.id, ())]
    return is_own_dataset(node, module) or any(
        isinstance(value, ast.Attribute | ast.Subscript) and _is_of_own_dataset(value, module, depth - 1)
        for value in values
    )


def is_own_dataset(node: ast.expr, module: Module) -> bool:
    """`get_worker_info().dataset`, or a variable that is nothing else: each worker's copy of the one of the parent."""
    if isinstance(node, ast.Name):
        bound = module.scope_of(node).bindings.get(node.id, ())
        value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" else None
        return value is not None and not isinstance(value, ast.Name) and is_own_dataset(value, module)
    if not isinstance(node, ast.Attribute) or node.attr != "dataset":
        return False
    info: ast.expr | None = node.value
    if isinstance(info, ast.Name):
        bound = module.scope_of(node).bindings.get(info.id, ())
        info = bound[0].value if len(bound) == 1 else None
    return isinstance(info, ast.Call) and asks_for_info(info, module)


def asks_for_info(call: ast.Call, module: Module) -> bool:
    return last_name(call.func) in module.names_of("get_worker_info")
