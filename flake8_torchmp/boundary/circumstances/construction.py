"""Methods that run while an object is made, and never again: no worker has a copy of it by then."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.calls import receiver_name
from flake8_torchmp.semantics.codebase import Codebase
from flake8_torchmp.semantics.nodes import dotted, is_called, last_name
from flake8_torchmp.semantics.scopes import Scope

CONSTRUCTION = ("__new__", "__init__", "__post_init__")
DEEPEST = 3


def is_part_of_construction(method: Scope, codebase: Codebase, depth: int = DEEPEST) -> bool:
    """Whether only what makes an object of its class calls a method, itself or by other such methods."""
    owner = method.parent
    if owner is None or not owner.is_class or method.name.startswith("__"):
        return owner is not None and owner.is_class and method.name in CONSTRUCTION
    callers = []
    for path in codebase.mentioning(method.name, owner.module.path):
        module = codebase.module(path) if codebase.reads(path, method.name) else None
        for load in module.loads(method.name) if module is not None else ():
            assert module is not None
            around = module.scope_of(load).enclosing_function()
            if around is not None and _is_of_another_class(load, around, owner):
                continue
            if not is_called(load) or around is None or around.parent is not owner:
                return False
            callers.append(around)
    return (
        bool(callers) and depth > 0 and all(is_part_of_construction(caller, codebase, depth - 1) for caller in callers)
    )


def _is_of_another_class(load: ast.expr, around: Scope, owner: Scope) -> bool:
    """`self.load` in a class that has a `load` of its own."""
    other = around.parent
    return (
        isinstance(load, ast.Attribute)
        and other is not None
        and other is not owner
        and bool(receiver_name(around))
        and dotted(load.value) == receiver_name(around)
        and last_name(load) in other.bindings
    )
