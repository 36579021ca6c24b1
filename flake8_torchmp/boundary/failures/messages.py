"""What only decides whether somebody is told or shown something."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flake8_torchmp.semantics.flow import block_of
from flake8_torchmp.semantics.nodes import ancestors, body_nodes, is_none, last_name
from flake8_torchmp.semantics.scopes import Scope

TELLING = frozenset("print pprint debug info warning warn error exception critical log".split())


def only_decides_on_messages(node: ast.AST) -> bool:
    """`if rank == 0: print(text)`, or `if not verbose: return` above nothing but messages."""
    for outer in ancestors(node):
        if isinstance(outer, ast.If) and any(part is node for part in ast.walk(outer.test)):
            if isinstance(outer.body[0], ast.Return) and outer.body[0].value is None and not outer.orelse:
                block = block_of(outer)
                return _are_messages(block[next(i for i, item in enumerate(block) if item is outer) + 1 :])
            return _are_messages([*outer.body, *outer.orelse])
        if isinstance(outer, ast.stmt):
            break
    return False


def only_draws(scope: Scope) -> bool:
    """Whether a function of a file that uses matplotlib gives nothing back and puts nothing anywhere."""
    return (
        b"matplotlib" in scope.module.data
        and not scope.is_generator
        and all(given.value is None or is_none(given.value) for given in scope.returns)
        and not any(
            isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store)
            for part in body_nodes(scope.node)
        )
    )


def _are_messages(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and all(
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and last_name(statement.value.func) in TELLING
        for statement in statements
    )
