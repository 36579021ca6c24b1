"""What runs when an attribute of an object is read: a property, or `__getattr__` where there is no such attribute."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import attributes, classes, stores
from .callees import may_lead_to_project
from .calls import Arguments, Frame, is_property
from .nodes import is_called
from .values import Function, Instance, Source, Value

if TYPE_CHECKING:
    from .evaluate import Evaluator
    from .module import Module


def may_run(evaluator: Evaluator, node: ast.Attribute, module: Module) -> bool:
    """Whether reading an attribute may run code of the project, from names alone."""
    if not isinstance(node.ctx, ast.Load):
        return False
    codebase = evaluator.codebase
    may_be_read = (not is_called(node) and codebase.may_define(node.attr)) or codebase.may_define("__getattr__")
    return may_be_read and may_lead_to_project(evaluator, node, module)


def reader(evaluator: Evaluator, value: Value, name: str) -> Function | None:
    """The property that has a name, or the `__getattr__` that is asked for it."""
    if not isinstance(value, Instance):
        return None
    method = classes.find_method(evaluator, value.cls, name)
    if method is not None:
        return method if is_property(method.scope.node) else None
    fallback = classes.find_method(evaluator, value.cls, "__getattr__")
    return fallback if fallback is not None and not _may_have(evaluator, value, name) else None


def _may_have(evaluator: Evaluator, instance: Instance, name: str) -> bool:
    """Whether an object may have an attribute: by its class, by what methods store, or by a library's class."""
    if any(base not in attributes.EMPTY_BASES for base in classes.library_bases(evaluator, instance.cls)):
        return True
    return any(
        name in cls.scope.bindings or name in stores.by_attribute(cls)
        for cls in classes.project_classes(evaluator, instance.cls)
    )


def frame_of(evaluator: Evaluator, method: Function, value: Value, node: ast.Attribute, frame: Frame) -> Frame:
    """The frame in which an attribute's reader runs."""
    arguments = None
    if method.scope.name == "__getattr__":
        arguments = Arguments(node, frame)
        key = ("name of attribute", node)
        asked = frame.module.memo.setdefault(key, ast.copy_location(ast.Constant(node.attr), node))
        arguments.positional = [Source(asked, frame)]
    return evaluator.frame(method.scope, arguments, method.closure, value)
