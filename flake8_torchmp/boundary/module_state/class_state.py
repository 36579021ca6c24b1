"""Data that a class keeps for all its objects, as methods read and change it: `self.size` after `Images.size = 16`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import classes, stores
from flake8_torchmp.semantics.calls import is_class_method, receiver_name
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import dotted
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Instance, Value

from .state import State
from .tallies import COLLECTING, is_told


def read_through_objects(
    scope: Scope, state: State, worked_on: Value | None = None
) -> Iterator[tuple[ast.expr, Global]]:
    """The objects in a method through which it reads what its class keeps and its objects don't, with the class.

    `worked_on` is the object that the method runs for, if one is known: a class below may keep its own.
    """
    receiver = receiver_name(scope)
    for name, variable, cls in _kept(scope, state, worked_on):
        for read in scope.module.loads(name):
            if not isinstance(read, ast.Attribute) or dotted(read.value) != receiver:
                continue
            if scope.module.scope_of(read).enclosing_function() is not scope or _has_own(cls, name, state):
                continue
            if isinstance(worked_on, Instance) and any(True for _ in worked_on.added_attributes(name)):
                continue
            if state.is_kept_by_definition(read.value, variable):
                yield read.value, variable


def changed_through_objects(scope: Scope, state: State) -> Iterator[tuple[ast.AST, Global]]:
    """Where a method adds to what its class keeps for all: `self.seen.append(x)`, `cls.total += 1`."""
    if not scope.enclosing_class():
        return
    kept = None
    for node, owner, attribute in _additions_in(scope):
        if scope.module.scope_of(node).enclosing_function() is not scope:
            continue
        if kept is None:
            kept = {name: (variable, cls) for name, variable, cls in _kept(scope, state)}
        if attribute in kept:
            variable, cls = kept[attribute]
            if is_class_method(scope.node) or not isinstance(owner, ast.Name) or not _has_own(cls, attribute, state):
                yield node, variable


def is_read_by_own_methods(
    variable: Global, attribute: str, state: State, workers: Workers, may_meet: Callable[[ast.AST, Module], bool]
) -> bool:
    """Whether a method that the parent calls reads what its class keeps: `return sum(cls.seen)`."""
    module = variable.module
    if not attribute or [b.kind for b in variable.bindings] != ["class"]:
        return False
    keeper = module.scopes[variable.bindings[0].node]
    for read in module.loads(attribute):
        method = module.scope_of(read).enclosing_function()
        if method is None or method.parent is not keeper or not isinstance(read, ast.Attribute):
            continue
        if dotted(read.value) != receiver_name(method) or not is_told(read, attribute):
            continue
        if state.runs_in_parent(read, module, workers) and may_meet(read, module):
            return True
    return False


def _additions_in(scope: Scope) -> Iterator[tuple[ast.AST, ast.expr, str]]:
    """What is added to an attribute of the own object or class: where, to whose attribute, and its name."""
    module, receiver = scope.module, receiver_name(scope)
    names = (receiver, f"{receiver}.__class__")
    for change in module.changes.get(receiver, ()) if receiver else ():
        target = change.target
        if change.kind == "item" and isinstance(target, ast.Attribute) and dotted(target.value) in names:
            yield change.node, target.value, target.attr
        elif change.kind == "augmented" and isinstance(target, ast.Attribute) and _is_class(target.value, scope):
            yield target, target.value, target.attr
    for call in (call for name in (*COLLECTING, "update") if receiver for call in module.calls.get(name, ())):
        kept = call.func.value if isinstance(call.func, ast.Attribute) else None
        while isinstance(kept, ast.Subscript):
            kept = kept.value
        if isinstance(kept, ast.Attribute) and (dotted(kept.value) in names or _is_class(kept.value, scope)):
            yield call, kept.value, kept.attr


def _is_class(node: ast.expr, scope: Scope) -> bool:
    """`type(self)`, `self.__class__`, or `cls` of a class method."""
    receiver = receiver_name(scope)
    if isinstance(node, ast.Call):
        return dotted(node.func) == "type" and len(node.args) == 1 and dotted(node.args[0]) == receiver
    return dotted(node) == (receiver if is_class_method(scope.node) else f"{receiver}.__class__")


def _kept(scope: Scope, state: State, worked_on: Value | None = None) -> Iterator[tuple[str, Global, Class]]:
    """What the classes of a method's object keep, with the class that does, and the class of the object."""
    owner = scope.enclosing_class()
    if owner is None or owner.parent is None or not receiver_name(scope):
        return
    cls = Class(owner, state.evaluator.frame_of(owner.parent))
    if isinstance(worked_on, Instance) and any(
        item.scope is owner for item in classes.project_classes(state.evaluator, worked_on.cls)
    ):
        cls = worked_on.cls
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
            yield name, variable, cls


def _has_own(cls: Class, name: str, state: State) -> bool:
    """Whether objects get an attribute of their own of that name, or a field of a record."""
    owners = classes.project_classes(state.evaluator, cls)
    return any(name in stores.by_attribute(owner) for owner in owners) or name in classes.fields(state.evaluator, cls)
