"""What is numbered by its place in a listing: `{name: i for i, name in enumerate(names)}`, `names.index(name)`."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.nodes import dotted, last_name, up

NUMBERING = frozenset("int float one_hot LongTensor FloatTensor int64".split())
"""Calls that give the number that they are given, by their last name."""


def numbers(iterated: ast.expr, target: ast.expr, value: ast.expr) -> bool:
    """`for i, name in enumerate(names): d[name] = i`, `for i in range(len(names)): d[names[i]] = i`."""
    if not isinstance(iterated, ast.Call):
        return False
    if isinstance(target, ast.Name):
        return last_name(iterated.func) == "range" and isinstance(value, ast.Name) and value.id == target.id
    if last_name(iterated.func) not in ("enumerate", "zip"):
        return False
    return isinstance(target, ast.Tuple) and isinstance(value, ast.Name) and value.id == _number(iterated, target)


def _number(iterated: ast.Call, target: ast.Tuple) -> str:
    if last_name(iterated.func) == "enumerate":
        return last_name(target.elts[0])
    for argument, element in zip(iterated.args, target.elts, strict=False):
        if _counts_up(argument):
            return last_name(element)
    return ""


def _counts_up(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in ("range", "count")


def counts(value: ast.expr, holder: ast.expr) -> bool:
    """`d[name] = len(d)`."""
    return isinstance(value, ast.Call) and last_name(value.func) == "len" and dotted(value.args[0]) == dotted(holder)


def makes_numbered(pairs: ast.AST, call: ast.Call) -> bool:
    """`dict(zip(names, range(len(names))))`."""
    if not isinstance(pairs, ast.Call) or last_name(pairs.func) != "zip" or len(pairs.args) != 2:
        return False
    return last_name(call.func) == "dict" and _counts_up(pairs.args[1])


def asked_for_place(node: ast.AST) -> ast.Call | None:
    """`names.index(name)`: the call. What one of the names is asked, it tells of its letters."""
    attribute = up(node)
    if isinstance(node, ast.Subscript) or not isinstance(attribute, ast.Attribute) or attribute.attr != "index":
        return None
    call = up(attribute)
    return call if isinstance(call, ast.Call) and call.func is attribute and attribute.value is node else None


def is_place_asked(index: ast.expr) -> bool:
    """`values[names.index(name)]`: the same name gets the same value, whatever its place."""
    return isinstance(index, ast.Call) and isinstance(index.func, ast.Attribute) and index.func.attr == "index"
