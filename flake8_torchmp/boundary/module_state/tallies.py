"""What only ever grows: counts, counters and lists that a program gathers for its own report."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.semantics.nodes import dotted, last_name, up

COLLECTING = frozenset("add append appendleft extend insert".split())
TALLIES = frozenset(("Counter", "set"))


def is_tally(call: ast.Call, variable: Global) -> bool:
    """Whether a method is called on a set or counter, the variable or what a class keeps, which only ever grows."""
    kept = variable.bindings
    if len(kept) == 1 and kept[0].kind == "class" and isinstance(call.func, ast.Attribute):
        kept = variable.module.scopes[kept[0].node].bindings.get(last_name(call.func.value), [])
    return any(isinstance(b.value, ast.Call) and last_name(b.value.func) in TALLIES for b in kept)


def counts_on(node: ast.AST) -> bool:
    """`totals[name] = totals.get(name, 0) + 1`."""
    statement = up(node)
    if not isinstance(node, ast.Subscript) or not isinstance(statement, ast.Assign):
        return False
    kept = dotted(node.value)
    return bool(kept) and any(
        isinstance(part, ast.Subscript | ast.Attribute) and dotted(part.value) == kept
        for part in ast.walk(statement.value)
    )


def is_told(read: ast.Attribute, attribute: str) -> bool:
    """Whether an attribute is read, other than to change it."""
    holder = up(read)
    is_change = isinstance(holder, ast.Attribute) and holder.attr in (*COLLECTING, "update")
    return read.attr == attribute and isinstance(read.ctx, ast.Load) and not is_change
