"""Nodes of the tree: what they are called, where they stand, and what is in them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

ScopeNode = ast.Module | FunctionNode | ast.ClassDef | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_DEFINING = frozenset((*FUNCTIONS, ast.ClassDef))

_UNINTERESTING = frozenset((ast.Constant, ast.Pass, ast.Break, ast.Continue))

_SKIPPED_FIELDS = frozenset(
    "ctx op ops id attr arg name asname kind type_comment conversion is_async level module".split()
)

_FIELD_CACHE: dict[type, tuple[str, ...]] = {}


def up(node: ast.AST) -> ast.AST | None:
    """The node that holds this one."""
    return getattr(node, "_torchmp_up", None)


def ancestors(node: ast.AST) -> Iterator[ast.AST]:
    parent = up(node)
    while parent is not None:
        yield parent
        parent = up(parent)


def is_called(node: ast.AST) -> bool:
    """Whether an expression is called where it stands."""
    holder = up(node)
    return isinstance(holder, ast.Call) and holder.func is node


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def statement_of(node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        parent = up(node)
        assert parent is not None
        node = parent
    return node


def position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def root_name(node: ast.expr) -> str:
    """`a` of `a`, `a.b` and `a[0].b`, or nothing."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """`a.b.c` of such an expression, or nothing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c` and of `c`, whatever stands before it; of `getattr(a, "c")` too."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        names = [name.value for name in node.args[1:2] if isinstance(name, ast.Constant)]
        return next((name for name in names if isinstance(name, str)), "")
    return ""


def alternatives(node: ast.expr) -> list[ast.expr]:
    """`a` and `b` of `a or b` and of `a if c else b`."""
    if isinstance(node, ast.BoolOp):
        return node.values
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def without_keys(node: ast.expr) -> ast.expr:
    """`self.blocks` of `self.blocks[name][0]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def mentions(node: ast.AST, names: Collection[str]) -> bool:
    """Whether one of some variables stands in a node."""
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def listed_constants(node: ast.AST) -> list[object] | None:
    """What `("train", "val")` lists; None where a tuple, list or set holds anything else, or nothing."""
    elements = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
    known: list[object] = [element.value for element in elements if isinstance(element, ast.Constant)]
    return known if known and len(known) == len(elements) else None


def body_nodes(function: ScopeNode, *, nested: bool = True) -> list[ast.AST]:
    """The nodes of a function's body in source order, with or without the functions and classes inside it."""
    name = "_torchmp_nested" if nested else "_torchmp_body"
    known: list[ast.AST] | None = getattr(function, name, None)
    if known is None:
        known = list(_walk_body(function, nested))
        setattr(function, name, known)
    return known


def _walk_body(function: ScopeNode, nested: bool) -> Iterator[ast.AST]:
    body: Any = getattr(function, "body", [])
    stack: list[ast.AST] = list(reversed(body)) if isinstance(body, list) else [body]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind in _UNINTERESTING:
            continue
        yield node
        if nested or kind not in _DEFINING:
            parts = children(node)
            parts.reverse()
            stack += parts


def children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that matter, in source order: no contexts, operators or identifiers."""
    found: list[ast.AST] = []
    for field in fields(node.__class__):
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):  # `conversion` of an f-string's part is a number
            found.append(value)
    return found


def fields(kind: type) -> tuple[str, ...]:
    """The fields of a node type that can hold nodes which matter: no contexts, operators or identifiers."""
    fields = _FIELD_CACHE.get(kind)
    if fields is None:
        names: tuple[str, ...] = getattr(kind, "_fields", ())
        keep = [name for name in names if name not in _SKIPPED_FIELDS]
        if kind in (ast.MatchSingleton, ast.Constant, ast.TypeIgnore, ast.Global, ast.Nonlocal):
            keep = []
        elif kind is ast.MatchClass:
            keep = ["cls", "patterns", "kwd_patterns"]
        elif kind is ast.MatchMapping:
            keep = ["keys", "patterns"]
        fields = _FIELD_CACHE[kind] = tuple(keep)
    return fields
