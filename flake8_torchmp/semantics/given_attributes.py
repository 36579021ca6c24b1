"""Whether somebody may set an attribute of a function, which has none by itself."""

from __future__ import annotations

import ast

from .nodes import up
from .values import Function


def has_been_given(function: Function, name: str) -> bool:
    """`work.mode = 1`, a decorator, `set_mode(work, 1)` for what it does alone."""
    own, module = function.scope.name, function.scope.module
    if getattr(function.node, "decorator_list", ()) or function.added_attributes(name):
        return True
    if any(change.kind == "attribute" and change.name == name for change in module.changes.get(own, ())):
        return True
    calls = [(up(load), load) for load in module.loads(own)]
    return any(isinstance(c, ast.Call) and c.func is not load and isinstance(up(c), ast.Expr) for c, load in calls)
