"""Objects whose class no class statement of theirs shows: members of an Enum, records of a class that a call made."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics import builtin, classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.values import Class, Constant, Result, Value

CLASS_MAKERS = builtin.RECORD_MAKERS | {"enum.Enum", "enum.IntEnum", "enum.StrEnum"}
"""Calls that give a class."""


def enumeration(evaluator: Evaluator, value: Value) -> Class | None:
    """The Enum of which a value is a member."""
    if isinstance(value, Constant):
        node: ast.AST = value.node
        module = value.module
    elif isinstance(value, Result) and value.name == "enum.auto":
        node, module = value.arguments.call, value.arguments.frame.module
    else:
        return None
    scope = module.scope_of(node)
    if not scope.is_class or any(hop.text == ".value" for hop in value.way):
        return None
    cls = Class(scope, None)
    is_enum = any(name.startswith("enum.") for name in classes.library_bases(evaluator, cls))
    return cls if is_enum else None


def class_maker(value: Value) -> Result | None:
    """The call that made the class of an object, or a class itself: `Job = namedtuple("Job", "size")`."""
    maker = value.callee if isinstance(value, Result) and builtin.is_record(value) else value
    return maker if isinstance(maker, Result) and maker.name in CLASS_MAKERS else None
