"""Objects that start processes while they are made: no attribute has them before that is over."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flake8_torchmp.semantics.nodes import up
from flake8_torchmp.semantics.values import Hop, Instance, Value


def is_being_made(value: Value, way: Sequence[Hop]) -> bool:
    """Whether something goes over while a value is made that it is given to: `self.pool = Pool(self.work)`."""
    made = value.arguments.call if isinstance(value, Instance) and value.arguments is not None else None
    if made is None:
        return False
    given = [index for index, hop in enumerate(way) if hop.text.startswith("__init__(")]
    return any(_call_around(way[index].node) is made and _stays_inside(way[index + 1 :]) for index in given)


def _stays_inside(way: Sequence[Hop]) -> bool:
    """Whether it goes on in the `__init__` alone that it is given to."""
    around = [hop.module.scope_of(hop.node).enclosing_function() for hop in way]
    return bool(around) and all(
        scope is not None and scope is around[0] and scope.name == "__init__" for scope in around
    )


def _call_around(argument: ast.AST) -> ast.AST | None:
    around = up(argument)
    return up(around) if isinstance(around, ast.keyword) else around
