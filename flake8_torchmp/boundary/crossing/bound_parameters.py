"""Which parameters of a function a call, a partial or a default gives something."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.values import Function, Method, Partial, Value


def left_out(function: Function) -> Iterator[str]:
    """The parameters beside the worker's id: DataLoader gives that alone, so their defaults stay in force."""
    for parameter in parameters(function.node).values():
        if parameter.index != 0 and isinstance(parameter.default, ast.Constant) and parameter.default.value is not None:
            yield parameter.name


def bound_by(value: Value) -> Iterator[tuple[Function, set[str]]]:
    """A function with the parameters that a partial has bound."""
    if isinstance(value, Function):
        yield value, set()
    elif isinstance(value, Method):
        yield value.function, set()
    elif isinstance(value, Partial):
        for function, names in bound_by(value.callee):
            own = [p for p in parameters(function.node).values() if p.index is not None]
            shift = isinstance(value.callee, Method)
            count = len(value.arguments.positional)
            bound = {p.name for p in own[shift : shift + count]}
            yield function, names | bound | set(value.arguments.keywords)


def argument_of(call: ast.Call, index: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if 0 <= index < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: index + 1]):
        return call.args[index]
    return None
