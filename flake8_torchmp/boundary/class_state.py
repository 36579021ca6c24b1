"""Data that a class keeps for all its objects, as methods read it: `self.size` after `Images.size = 16`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics import attributes, classes
from flake8_torchmp.semantics.calls import receiver_name
from flake8_torchmp.semantics.nodes import dotted
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class

from .global_names import Global
from .state import State


def read_through_objects(scope: Scope, state: State) -> Iterator[tuple[ast.expr, Global]]:
    """The objects in a method through which it reads what its class keeps and its objects don't, with the class."""
    owner, receiver = scope.enclosing_class(), receiver_name(scope)
    if owner is None or owner.parent is None or not receiver:
        return
    cls = Class(owner, state.evaluator.frame_of(owner.parent))
    nearer: set[str] = set()
    for item in classes.project_classes(state.evaluator, cls):
        keeper, hidden = item.scope, frozenset(nearer)
        nearer.update(keeper.bindings)
        if keeper.parent is None or not keeper.parent.is_module:
            continue
        variable = Global(keeper.module, keeper.name)
        for name, bindings in keeper.bindings.items():
            if name in hidden or not all(
                binding.kind == "assign" and binding.value is not None for binding in bindings
            ):
                continue
            for read in scope.module.loads(name):
                if not isinstance(read, ast.Attribute) or dotted(read.value) != receiver:
                    continue
                if scope.module.scope_of(read).enclosing_function() is not scope or _has_own(cls, name, state):
                    continue
                if state.is_in_class(read.value, variable):
                    yield read.value, variable


def _has_own(cls: Class, name: str, state: State) -> bool:
    """Whether objects get an attribute of their own of that name, or a field of a record."""
    owners = classes.project_classes(state.evaluator, cls)
    return any(name in attributes.stores(owner) for owner in owners) or name in classes.fields(state.evaluator, cls)
