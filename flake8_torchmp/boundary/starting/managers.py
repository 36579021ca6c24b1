"""Managers that are made by their classes: the process of each begins when it is started, or entered by `with`."""

from __future__ import annotations

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.values import Class, Instance, Result, Source, Value

CLASSES = frozenset(
    f"multiprocessing.managers.{name}" for name in ("BaseManager", "SyncManager", "SharedMemoryManager")
)


def made_with(evaluator: Evaluator, value: Value) -> Arguments | None:
    """What the class of the library is made with, if a value is a manager, also of a class of the project."""
    if isinstance(value, Result):
        return value.arguments if value.name in CLASSES else None
    if isinstance(value, Instance) and is_class(evaluator, value.cls):
        found = [arguments for base, arguments in classes.library_init(evaluator, value) if base in CLASSES]
        return next(iter(found), value.arguments)
    return None


def is_class(evaluator: Evaluator, cls: Class) -> bool:
    return not CLASSES.isdisjoint(classes.library_bases(evaluator, cls))


def context_of(arguments: Arguments) -> Source | None:
    return arguments.get(3, "ctx")
