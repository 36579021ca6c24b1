"""What a function receives: its parameters, as one call gives them, or as any call of the project might."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import choices
from .calls import Arguments, Frame, Parameter, has_receiver, is_class_method, parameters
from .files import is_called_test
from .values import UNKNOWN, Class, Collection, Entry, Hop, Instance, Value

if TYPE_CHECKING:
    from .evaluate import Evaluator


def values_of(evaluator: Evaluator, name: str, frame: Frame) -> Iterator[Value]:
    """What a parameter can be in a frame of its function."""
    node: Any = frame.scope.node
    parameter = parameters(node).get(name)
    if parameter is None:
        yield UNKNOWN
        return
    method = has_receiver(frame.scope)
    if method and parameter.index == 0 and parameter.kind == "positional":
        yield receiver(frame)
        return
    if frame.arguments is None:
        callers = [c for c in evaluator.callers.of(frame.scope) if _may_be_same(evaluator, c[1], frame.receiver)]
        callers = [c for c in callers if not _is_on_another(evaluator, c[0], frame)]
        for arguments, owner in callers:
            inner = evaluator.frame(frame.scope, arguments, frame.closure, frame.receiver or owner)
            yield from _argument(evaluator, parameter, method, inner)
        if not callers:
            yield from _default(evaluator, parameter, frame, chosen=True)
    else:
        yield from _argument(evaluator, parameter, method, frame)


def receiver(frame: Frame) -> Value:
    """`self` or `cls` of a method's frame."""
    if frame.receiver is not None:
        return frame.receiver
    class_scope = frame.scope.parent
    assert class_scope is not None
    cls = Class(class_scope, frame.closure.closure if frame.closure else None)
    return cls if is_class_method(frame.scope.node) else Instance(cls, None)


def _may_be_same(evaluator: Evaluator, one: Value | None, other: Value | None) -> bool:
    """Whether a call on one object may be what ran on the other, going by their classes.

    Of an object whose making is not known, the class is that of the method which it is seen from, or one below it.
    """
    if not isinstance(one, Instance) or not isinstance(other, Instance) or one.cls.scope is other.cls.scope:
        return True
    return any(
        isinstance(base, Class) and base.scope is above.cls.scope
        for above, below in ((one, other), (other, one))
        if above.arguments is None
        for base in evaluator.mro(below.cls)
    )


def _is_on_another(evaluator: Evaluator, arguments: Arguments, frame: Frame) -> bool:
    """Whether a call runs a method on objects alone that are made elsewhere than the one in question."""
    made = frame.receiver.arguments if isinstance(frame.receiver, Instance) else None
    call: Any = arguments.call
    if made is None or not isinstance(getattr(call, "func", None), ast.Attribute) or frame.scope.name == "__init__":
        return False
    owners = evaluator.values(call.func.value, arguments.frame)
    return bool(owners) and all(
        isinstance(owner, Instance) and owner.arguments is not None and owner.arguments.call is not made.call
        for owner in owners
    )


def _argument(evaluator: Evaluator, parameter: Parameter, method: bool, frame: Frame) -> Iterator[Value]:
    arguments = frame.arguments
    assert arguments is not None
    index = None if parameter.index is None else parameter.index - method
    node = frame.scope.node
    module = frame.module
    if parameter.kind == "rest":
        entries = tuple(Entry(None, source) for source in (*arguments.positional[index:], *arguments.loose))
        yield Collection("tuple", entries, not arguments.open_positional, arguments.call, module)
        return
    if parameter.kind == "options":
        known = parameters(node)  # type: ignore[arg-type]
        taken = {p.name for p in known.values() if p.kind in ("positional", "keyword")}  # `args=` is not `*args`
        left = {key: source for key, source in arguments.keywords.items() if key not in taken}
        options = tuple(Entry(key, source) for key, source in left.items())
        yield Collection("dict", options, not arguments.open_keywords, arguments.call, module)
        return
    source = arguments.get(index, parameter.name)
    if source is not None:
        for value in evaluator.of(source):
            yield value.after(Hop(source.node, source.frame.module, f"{frame.scope.name}({parameter.name}=)"))
    elif (index is not None and arguments.open_positional) or arguments.open_keywords:
        yield UNKNOWN
    else:
        yield from _default(evaluator, parameter, frame, chosen=_is_left_to_users(evaluator, frame))


def _is_left_to_users(evaluator: Evaluator, frame: Frame) -> bool:
    """Whether a test leaves a default as it is, and nothing but tests calls the function: users may do otherwise."""
    arguments = frame.arguments
    return (
        arguments is not None
        and is_called_test(arguments.frame.module.path)
        and all(is_called_test(other.frame.module.path) for other, _ in evaluator.callers.of(frame.scope))
    )


def _default(evaluator: Evaluator, parameter: Parameter, frame: Frame, *, chosen: bool) -> Iterator[Value]:
    if parameter.kind == "options":
        yield Collection("dict", (), False, frame.scope.node, frame.module)
        return
    if parameter.default is None:
        yield UNKNOWN
        return
    outer = frame.closure or evaluator.frame_of(frame.module.scope)
    for value in evaluator.values(parameter.default, outer):
        value = value.after(Hop(parameter.default, frame.module, f"default of {parameter.name}"))
        yield choices.as_choice(value, choices.CallersChoice) if chosen else value
