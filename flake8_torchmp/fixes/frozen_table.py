"""Makes a module-level table one that cannot change (TMP909): a tuple, a `frozenset` or a `MappingProxyType`.

It is unsafe: what is outside the project may want a list. Declined are tables with another use than reading: items,
loops, `in`, `len` and the like, and those that other files name or an annotation describes.
"""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Documents
from .outline import Outline, outline_of

READING = frozenset("len enumerate sorted reversed zip list tuple set frozenset iter max min sum any all map".split())
METHODS = {"list": ("index", "count"), "dict": ("get", "items", "keys", "values"), "set": ("isdisjoint",)}


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    outline = outline_of(document)
    table = outline.node(repair, ast.List, ast.Dict, ast.Set)
    statement: Any = outline.parents[table]
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Name):
        raise NotFixable("its statement says more than its name")
    name = target.id
    kind = type(table).__name__.lower()
    if dict(repair.notes).get("elsewhere"):
        raise NotFixable(f"other files name {name}")
    for node in ast.walk(outline.tree):
        is_use = isinstance(node, ast.Name) and node.id == name and node is not target
        if is_use and not _only_reads(node, kind, outline):
            raise NotFixable(f"something may want {name} to be a {kind}")
    start, end = outline.start(table), outline.end(table)
    code = outline.code(table)
    edits: list[Edit] = []
    if kind == "dict":
        at = document.node(repair, cst.Dict)
        spelling, edits = document.with_import("from types import MappingProxyType", at)
        text, what = f"{spelling}({code})", "a MappingProxyType"
    elif kind == "set":
        text, what = f"frozenset({code})", "a frozenset"
    else:
        inner = code[1:-1]
        is_bare = len(table.elts) == 1 and "," not in document.text[outline.end(table.elts[0]) : end]
        if is_bare and inner.strip() != outline.code(table.elts[0]):
            raise NotFixable("the only item is in parentheses or has a comment")
        text, what = f"({inner.strip()},)" if is_bare else f"({inner})", "a tuple"
    return Change((*edits, Edit(document.path, start, end, text)), False, f"{name} became {what}")


def _only_reads(node: Any, kind: str, outline: Outline) -> bool:
    above: Any = outline.parents[node]
    if isinstance(above, ast.Subscript):
        return above.value is node and isinstance(above.ctx, ast.Load) and not isinstance(above.slice, ast.Slice)
    if isinstance(above, ast.Compare):
        return len(above.ops) == 1 and isinstance(above.ops[0], ast.In | ast.NotIn) and above.left is not node
    if isinstance(above, ast.For | ast.comprehension):
        return above.iter is node
    if isinstance(above, ast.Call):
        return isinstance(above.func, ast.Name) and above.func.id in READING and node in above.args
    if isinstance(above, ast.Attribute):
        call = outline.parents[above]
        return above.attr in METHODS[kind] and isinstance(call, ast.Call) and call.func is above
    return False
