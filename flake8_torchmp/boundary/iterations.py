"""What a node iterates, and whether that can be a loader, as far as its text tells."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.module import COMPREHENSIONS

LOOPS = (ast.For, ast.AsyncFor)
ITERATING = (*COMPREHENSIONS, *LOOPS, ast.Starred, ast.YieldFrom, ast.Assign)

_OWN_RESULTS = frozenset(
    "range sorted list tuple set frozenset dict str repr open len vars dir items keys values split splitlines rsplit "
    "readlines glob iglob rglob iterdir listdir scandir walk tolist topk parameters named_parameters modules "
    "named_modules children named_children".split()
)
"""Calls whose result is no loader, whatever they are given."""
_WRAPPERS = frozenset("enumerate zip tqdm trange iter reversed islice cycle chain map filter track".split())
_NO_OBJECTS = (
    *(ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Compare, ast.Lambda, ast.UnaryOp),
    *COMPREHENSIONS,
)


def iterated(node: ast.AST) -> list[ast.expr]:
    """The expressions that a node iterates by itself."""
    if isinstance(node, LOOPS):
        return [node.iter]
    if isinstance(node, COMPREHENSIONS):
        return [generator.iter for generator in node.generators]
    if isinstance(node, ast.Starred | ast.YieldFrom):
        return [node.value]
    if isinstance(node, ast.Assign) and any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
        return [node.value]
    return []


def may_be_loader(expression: ast.expr) -> bool:
    if isinstance(expression, _NO_OBJECTS):
        return False
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Slice):
        return False
    if isinstance(expression, ast.Call):
        function = expression.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if name in _OWN_RESULTS:
            return False
        if name in _WRAPPERS:
            return any(may_be_loader(argument) for argument in _given(expression))
    return True


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
