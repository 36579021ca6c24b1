"""Objects that a class is made with and goes through: what it hands out may be divided by them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics import classes, stores
from flake8_torchmp.semantics.calls import parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import FUNCTIONS, dotted, last_name, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class

_GOING_THROUGH = frozenset("iter next enumerate zip map filter reversed tqdm islice chain cycle".split())


def goes_through_what_it_is_given(evaluator: Evaluator, cls: Class) -> bool:
    """Whether a class iterates an object that its `__init__` gets: `for row in self.source:`."""
    methods = [
        item.scope.module.scopes[node]
        for item in classes.project_classes(evaluator, cls)
        for node in item.scope.node.body  # type: ignore[union-attr]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    kept = {name for item in classes.project_classes(evaluator, cls) for name in _kept_from_parameters(item)}
    return any(_is_gone_through(read) for method in methods for read in _reads(kept, method))


def _kept_from_parameters(cls: Class) -> Iterator[str]:
    """`source` of `self.source = source`."""
    for name, stored in stores.by_attribute(cls).items():
        for change, method in stored:
            given = parameters(method.node) if isinstance(method.node, FUNCTIONS) else {}
            if method.name == "__init__" and isinstance(change.value, ast.Name) and change.value.id in given:
                yield name


def _reads(kept: set[str], method: Scope) -> Iterator[ast.Attribute]:
    for name in sorted(kept):
        for read in method.module.loads(name):
            is_inside = method.module.scope_of(read).enclosing_function() is method
            if is_inside and isinstance(read, ast.Attribute) and dotted(read.value) == receiver_name(method):
                yield read


def _is_gone_through(read: ast.Attribute) -> bool:
    """Whether something is handed out for each of its elements."""
    user = up(read)
    is_opened = isinstance(user, ast.Call) and last_name(user.func) in _GOING_THROUGH
    if is_opened and user is not None:
        user = up(user)
    if isinstance(user, ast.For | ast.AsyncFor):
        return any(isinstance(part, ast.Yield | ast.YieldFrom) for item in user.body for part in ast.walk(item))
    return isinstance(user, ast.YieldFrom) or (is_opened and isinstance(user, ast.Return))
