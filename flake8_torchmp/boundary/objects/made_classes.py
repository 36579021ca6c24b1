"""Objects whose class no class statement of theirs shows: members of an Enum, records of a class that a call made."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics import classes, records
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.values import Class, Constant, Result, Value

CLASS_MAKERS = records.RECORD_MAKERS | {"enum.Enum", "enum.IntEnum", "enum.StrEnum"}
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
    maker = value.callee if isinstance(value, Result) and records.is_record(value) else value
    return maker if isinstance(maker, Result) and maker.name in CLASS_MAKERS else None


OWN_PICKLING = frozenset(("__reduce__", "__reduce_ex__", "__qualname__", "__module__"))
KEEPING_CLASSES = frozenset(("globals", "setattr", "modules", "register"))
"""What a function mentions that puts a class where pickle finds it, or tells pickle how to do without."""


def may_be_found(evaluator: Evaluator, maker: Result) -> bool:
    """Whether a class that `type(name, bases, members)` makes in a function may pickle all the same."""
    if maker.name != "builtins.type":
        return False
    arguments = maker.arguments
    bases, members = arguments.get(1), arguments.get(2)
    if bases is None or members is None or not isinstance(members.node, ast.Dict):
        return True
    named = {key.value for key in members.node.keys if isinstance(key, ast.Constant)}
    function = arguments.frame.scope.enclosing_function()
    mentioned = {n.id if isinstance(n, ast.Name) else n.attr for n in _names(function.node)} if function else set()
    if None in members.node.keys or OWN_PICKLING & named or KEEPING_CLASSES & mentioned:
        return True
    return any(
        isinstance(base, Class) and any(classes.find_method(evaluator, base, name) for name in OWN_PICKLING)
        for base in evaluator.elements(evaluator.of(bases))
    )


def _names(node: ast.AST) -> list[ast.Name | ast.Attribute]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)]
