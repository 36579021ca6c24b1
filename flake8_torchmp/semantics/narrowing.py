"""What tests of a variable say about a constant in it: whether it is still there where the variable is read."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Sequence

from .flow import conditions, earlier, facts
from .nodes import ancestors, dotted, listed_constants


def survives(value: object, way: Sequence[ast.AST]) -> bool:
    """Whether a constant can come along a way, by the tests of the variables that it passes."""
    return not any(_is_kept_away(value, node, way) for node in way if isinstance(node, ast.Name | ast.Attribute))


def _is_kept_away(value: object, use: ast.Name | ast.Attribute, way: Iterable[ast.AST]) -> bool:
    name = dotted(use)
    if any(
        truth_where(fact.test, name, value) is (not fact.holds)
        for condition in conditions(use)
        for fact in facts(condition)
    ):
        return True
    return any(
        isinstance(statement, ast.If)
        and truth_where(statement.test, name, value) is True
        and _sets(statement.body, name)
        and not any(statement in ancestors(node) for node in way)
        for statement in earlier(use)
    )


def _sets(block: list[ast.stmt], name: str) -> bool:
    return any(isinstance(s, ast.Assign) and any(dotted(target) == name for target in s.targets) for s in block)


def truth_where(test: ast.expr, name: str, value: object) -> bool | None:
    """What a test says where a variable has a value; None where it asks for something else."""
    if dotted(test) == name:
        return bool(value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth_where(test.operand, name, value)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = {truth_where(part, name, value) for part in test.values}
        decides = isinstance(test.op, ast.Or)
        return decides if decides in parts else None if None in parts else not decides
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    sign: ast.cmpop
    (sign,), left, right = test.ops, test.left, test.comparators[0]
    if isinstance(sign, ast.In | ast.NotIn) and dotted(left) == name:
        known = listed_constants(right)
        return (value in known) is isinstance(sign, ast.In) if known is not None else None
    if dotted(right) == name:
        left, right, sign = right, left, _TURNED.get(type(sign), type(sign))()
    if dotted(left) != name or not isinstance(right, ast.Constant):
        return None
    if isinstance(sign, ast.Eq | ast.Is):
        return bool(value == right.value)
    if isinstance(sign, ast.NotEq | ast.IsNot):
        return bool(value != right.value)
    compare = _ORDERS.get(type(sign))
    if compare is None or not isinstance(value, int | float) or not isinstance(right.value, int | float):
        return None
    return compare(value, right.value)


_ORDERS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""The same order seen from the other side."""
