"""Locks, queues and shared values of multiprocessing: which values are some, and whose context made them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_torchmp.boundary.circumstances.methods import ALL, StartMethods, mp_name
from flake8_torchmp.boundary.tables.apis import PRIMITIVES, bare
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Constant, Instance, Result, Value

RAW = frozenset(("RawValue", "RawArray"))
OPTIONAL_LOCK = frozenset(("Value", "Array"))


class Primitive(NamedTuple):
    name: str
    arguments: Arguments
    """Of the call that made it."""
    callee: Value | None
    """What was called; None for a class of the project."""
    has_lock: bool
    """Not a Value or Array without one: that belongs to no context."""

    @property
    def node(self) -> ast.AST:
        return self.arguments.call

    @property
    def module(self) -> Module:
        return self.arguments.frame.module


def primitive(evaluator: Evaluator, value: Value) -> Primitive | None:
    """A value as a primitive, if it is one."""
    if isinstance(value, Result):
        name = mp_name(value.callee)
        if name in RAW:
            return Primitive(name, value.arguments, value.callee, False)
        if name in PRIMITIVES:
            has_lock = name not in OPTIONAL_LOCK or _makes_lock(evaluator, value.arguments)
            return Primitive(name, value.arguments, value.callee, has_lock)
    elif isinstance(value, Instance):
        for base, arguments in classes.library_init(evaluator, value):
            if bare(base) in PRIMITIVES and value.arguments is not None:
                made = Arguments(value.arguments.call, value.arguments.frame)
                made.positional, made.keywords = arguments.positional, arguments.keywords
                return Primitive(value.cls.scope.name, made, None, True)
    return None


def _makes_lock(evaluator: Evaluator, arguments: Arguments) -> bool:
    source = arguments.get(None, "lock")
    if source is None:
        return not arguments.open_keywords
    return all(isinstance(value, Constant) and value.value is True for value in evaluator.of(source))


def methods_of(made: Primitive, methods: StartMethods) -> tuple[frozenset[str], bool]:
    """The start methods whose context made a primitive, and whether the program chose none; empty if not known."""
    context = made.arguments.get(None, "ctx")
    if context is not None or made.callee is None:
        if context is None:
            return frozenset(), False
        if methods.is_default_context(context):
            return methods.of_program(made.module), True
        found = methods.of_contexts(context, made.module)
        return (found if len(found) < len(ALL) else frozenset()), False
    found = methods.of_callee(made.callee, made.module, made.node)
    if methods.is_default(made.callee):
        return found, True
    return (found if len(found) < len(ALL) else frozenset()), False
