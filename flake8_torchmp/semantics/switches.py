"""Options that a call switches parts of a function on or off with: `encode(line, add=False)`."""

from __future__ import annotations

import ast

from .calls import Arguments, bound_to, parameters
from .flow import facts_at
from .nodes import is_none, up
from .scopes import Scope
from .values import Function

Switches = tuple[tuple[str, object], ...]
"""The parameters that a function tests, with the constants that a call gives for them."""


def given_by(function: Function, arguments: Arguments | None, outer: Switches) -> Switches:
    """The constants that a call gives for parameters that a function tests; those left out have their defaults."""
    if arguments is None:
        return ()
    given, known = dict(bound_to(function.scope, arguments)), dict(outer)
    found: list[tuple[str, object]] = []
    for name in tested_parameters(function.scope):
        source = given.get(name)
        node = source.node if source is not None else parameters(function.node)[name].default
        if isinstance(node, ast.Constant):
            found.append((name, node.value))
        elif source is not None and isinstance(node, ast.Name) and node.id in known:
            found.append((name, known[node.id]))
    return tuple(found)


def tested_parameters(scope: Scope) -> tuple[str, ...]:
    """The parameters that a function tests, and never binds anew."""
    key = ("tested parameters", scope)
    if key not in scope.module.memo:
        own = parameters(scope.node)  # type: ignore[arg-type]
        fixed = [name for name in own if len(scope.bindings[name]) == 1 and own[name].kind in ("positional", "keyword")]
        scope.module.memo[key] = tuple(
            name for name in fixed if any(is_test(load) for load in scope.module.read.get(name, ()))
        )
    known: tuple[str, ...] = scope.module.memo[key]
    return known


def is_test(name: ast.AST) -> bool:
    """Whether a name decides by itself: `if add:`, `x and not add`, `a if add is None else b`."""
    holder = up(name)
    if isinstance(holder, ast.Compare):
        return _asks_for_none(holder)
    if isinstance(holder, ast.UnaryOp):
        return isinstance(holder.op, ast.Not)
    return isinstance(holder, ast.BoolOp) or (
        isinstance(holder, ast.If | ast.IfExp | ast.While) and holder.test is name
    )


def are_off(node: ast.AST, switches: Switches) -> bool:
    """Whether a test of one of the parameters keeps a node from being run."""
    known = dict(switches)
    for test, holds in facts_at(node) if known else ():
        if isinstance(test, ast.Name) and test.id in known and bool(known[test.id]) is not holds:
            return True
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id in known:
            is_none = (known[test.left.id] is None) is isinstance(test.ops[0], ast.Is)
            if _asks_for_none(test) and is_none is not holds:
                return True
    return False


def _asks_for_none(test: ast.Compare) -> bool:
    return len(test.ops) == 1 and isinstance(test.ops[0], ast.Is | ast.IsNot) and is_none(test.comparators[0])
