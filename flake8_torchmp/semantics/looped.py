"""Attributes set through a loop's variable or an index, as changes of what is looped over, whose objects get them.

`for part in (train, val): part.transform = f` changes `train` and `val`, `for part in parts: part.transform = f` and
`parts["train"].transform = f` the elements of `parts`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .module import Module
from .nodes import dotted, last_name, root_name
from .scopes import Change

PASSING = frozenset("reversed list tuple sorted tqdm".split())


def changes_by_name(module: Module) -> dict[str, list[Change]]:
    """By variable, what is put on it, or (as `inner`) on the elements that it holds."""
    known: dict[str, list[Change]] | None = module.memo.get(("looped",))
    if known is None:
        known = module.memo[("looped",)] = {}
        for changes in list(module.changes.values()):
            for change in changes:
                if change.kind == "attribute" and change.value is not None and not change.path:
                    for name, own in _spread(change, module):
                        known.setdefault(name, []).append(own)
    return known


def label_of(change: Change) -> str:
    """The key of the one element that is changed, if it is named: `parts["train"].transform = f`."""
    index = change.target.slice if isinstance(change.target, ast.Subscript) else None
    return index.value if isinstance(index, ast.Constant) and isinstance(index.value, str) else ""


def _spread(change: Change, module: Module) -> Iterator[tuple[str, Change]]:
    target = change.target
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        yield target.value.id, change._replace(kind="inner")
    elif isinstance(target, ast.Name):
        for binding in module.scope_of(target).bindings.get(target.id, ()):
            if binding.kind == "for" and binding.value is not None:
                yield from _looped(binding.value, binding.path, change)


def _looped(over: ast.expr, path: tuple[int, ...], change: Change) -> Iterator[tuple[str, Change]]:
    if isinstance(over, ast.Tuple | ast.List) and not path:
        for element in over.elts:
            if isinstance(element, ast.Name):
                yield element.id, change
    elif isinstance(over, ast.Name) and not path:
        yield over.id, change._replace(kind="inner")
    elif isinstance(over, ast.Attribute) and not path and root_name(over):
        way = dotted(over).partition(".")[2]
        if way:
            yield root_name(over), change._replace(name=f"{way}.{change.name}")
    elif isinstance(over, ast.Call):
        yield from _called(over, path, change)


def _called(over: ast.Call, path: tuple[int, ...], change: Change) -> Iterator[tuple[str, Change]]:
    name = last_name(over.func)
    if isinstance(over.func, ast.Attribute) and (name, path) in (("values", ()), ("items", (1,))):
        yield from _looped(over.func.value, (), change)
    elif name == "enumerate" and path[:1] == (1,) and over.args:
        yield from _looped(over.args[0], path[1:], change)
    elif name == "zip" and path and 0 <= path[0] < len(over.args):
        yield from _looped(over.args[path[0]], path[1:], change)
    elif name in PASSING and over.args:
        yield from _looped(over.args[0], path, change)
