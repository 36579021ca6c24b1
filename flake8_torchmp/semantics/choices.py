"""Values that whoever runs a program, or calls a function, may choose otherwise: defaults."""

from __future__ import annotations

from .values import Constant, Value


class Choice(Constant):
    """A default that the user can change: it counts as a value, but no branch is decided by it."""

    __slots__ = ()


class CallersChoice(Choice):
    """The default of a function that nobody in the project calls, or tests alone: its users may give something else."""

    __slots__ = ()


def as_choice(value: Value, kind: type[Choice] = Choice) -> Value:
    if type(value) is Constant:
        choice = kind(value.value, value.node, value.module)
        choice.way = value.way
        return choice
    return value


def is_choice(value: Value) -> bool:
    return isinstance(value, Choice)


def is_callers_choice(value: Value) -> bool:
    return isinstance(value, CallersChoice)
