"""What is code rather than state: a logger, a compiled pattern, a type. It is the same in each process."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.values import Instance, Value

MAKERS = frozenset("getLogger get_logger compile TypeVar ParamSpec namedtuple NamedTuple NewType Struct".split())
LOGGERS = frozenset(("logging.Logger", "logging.LoggerAdapter", "logging.getLoggerClass()"))


def makes_code(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in MAKERS


def is_logger(evaluator: Evaluator, values: Iterable[Value]) -> bool:
    """Whether something is a logger of a class of the project: whom it told what already is nobody's result."""
    return any(
        isinstance(value, Instance) and not LOGGERS.isdisjoint(classes.library_bases(evaluator, value.cls))
        for value in values
    )
