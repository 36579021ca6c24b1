"""Values that are small for sure by the way they are written: numbers, short texts, a few of them."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.flow import LOOPS
from flake8_torchmp.semantics.nodes import ancestors, last_name
from flake8_torchmp.semantics.scopes import Scope

SMALL_CALLS = frozenset(
    "len sum int float bool round abs hash id getpid item time perf_counter monotonic count is_alive mean std".split()
)
SHORT = 64
"""Turns of a loop, with a number or a short text each, that a pipe takes for sure."""
LONGEST = 4096
"""Characters of a text that is cut off, which a pipe takes as well."""
TEXTS = frozenset("str repr format_exc format join decode read_text strip".split())
"""Calls that give a text."""
SMALL_ATTRIBUTES = frozenset("name stem suffix st_size st_mtime shape ndim pid exitcode".split())
"""What files, arrays and processes tell of themselves."""


def is_little(put: ast.Call, scope: Scope, is_simple: bool) -> bool:
    """Whether a pipe takes what is put for sure; of a SimpleQueue one thing counts as little."""
    for above in ancestors(put):
        if above is scope.node:
            break
        if isinstance(above, LOOPS) and not _is_short(above):
            return False
    return is_simple or all(_is_small(argument, scope) for argument in put.args[:1])


def _is_short(loop: ast.AST) -> bool:
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or last_name(loop.iter.func) != "range":
        return False
    return all(isinstance(a, ast.Constant) and isinstance(a.value, int) and a.value <= SHORT for a in loop.iter.args)


def _is_repeated(node: ast.BinOp) -> bool:
    """`"x" * 100_000`, `[0] * n`: a text or list that is made long."""
    for part, times in ((node.left, node.right), (node.right, node.left)):
        is_text = isinstance(part, ast.Constant) and isinstance(part.value, str | bytes)
        if is_text or isinstance(part, ast.List | ast.Tuple):
            return not (isinstance(times, ast.Constant) and isinstance(times.value, int) and times.value <= SHORT)
    return False


def _is_small(node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether a value is a number, a short text or a few of them, by the way it is written."""
    if isinstance(node, ast.Constant | ast.Compare | ast.JoinedStr):
        return True
    if isinstance(node, ast.Tuple | ast.List):
        return all(_is_small(element, scope, depth) for element in node.elts)
    if isinstance(node, ast.Dict):
        return all(_is_small(value, scope, depth) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_repeated(node):
        return False
    if isinstance(node, ast.BinOp):
        return _is_small(node.left, scope, depth) and _is_small(node.right, scope, depth)
    if isinstance(node, ast.UnaryOp):
        return _is_small(node.operand, scope, depth)
    if isinstance(node, ast.Attribute):
        return node.attr in SMALL_ATTRIBUTES
    if isinstance(node, ast.Subscript):
        is_cut_off = isinstance(node.slice, ast.Slice) and _is_short_until(node.slice.upper)
        return is_cut_off and _is_text(node.value, scope)
    if isinstance(node, ast.Call) and last_name(node.func) in ("max", "min") and len(node.args) > 1:
        return any(_is_small(argument, scope, depth) for argument in node.args)
    if isinstance(node, ast.Call):
        return last_name(node.func) in SMALL_CALLS or _is_text_of_error(node)
    if isinstance(node, ast.Name) and depth < 4:
        bindings = scope.bindings.get(node.id, ())
        if any(binding.kind == "parameter" for binding in bindings):
            return False
        values = [binding.value for binding in bindings if binding.kind in ("assign", "augmented", "walrus")]
        first = [value for value in values if value is not None]
        return bool(first) and len(first) == len(bindings) and _is_small(first[0], scope, depth + 1)
    return False


def _is_text(node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether a value is a text, of which each element is one character: a few tensors are much."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in TEXTS
    if isinstance(node, ast.Name) and depth < 4:
        values = [binding.value for binding in scope.bindings.get(node.id, ())]
        return bool(values) and all(value is not None and _is_text(value, scope, depth + 1) for value in values)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_short_until(end: ast.expr | None) -> bool:
    """`text[:1024]`"""
    return isinstance(end, ast.Constant) and isinstance(end.value, int) and 0 < end.value <= LONGEST


def _is_text_of_error(call: ast.Call) -> bool:
    """`str(error)`, `traceback.format_exc()` in a handler: what went wrong is said in a few lines."""
    handlers = [outer for outer in ancestors(call) if isinstance(outer, ast.ExceptHandler)]
    if last_name(call.func) == "format_exc":
        return bool(handlers)
    caught = {handler.name for handler in handlers}
    return last_name(call.func) in ("str", "repr") and all(
        isinstance(a, ast.Name) and a.id in caught for a in call.args
    )
