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


def looped_over(name: ast.Name, module: Module) -> Iterator[tuple[ast.expr, bool]]:
    """What a loop's variable is an element of, or (then True) is itself, one of several."""
    for binding in module.scope_of(name).bindings.get(name.id, ()):
        if binding.kind == "for" and binding.value is not None:
            over = _source(binding.value, binding.path)
            if isinstance(over, ast.Tuple | ast.List):
                yield from ((element, True) for element in over.elts)
            elif over is not None:
                yield over, False


def _spread(change: Change, module: Module) -> Iterator[tuple[str, Change]]:
    target = change.target
    if isinstance(target, ast.Subscript):
        yield from _on(target.value, False, change)
    elif dotted(target):
        name = f"{dotted(target)}.{change.name}".partition(".")[2]
        while isinstance(target, ast.Attribute):
            target = target.value
        assert isinstance(target, ast.Name)
        for over, is_itself in looped_over(target, module):
            yield from _on(over, is_itself, change._replace(target=target, name=name))


def _on(holder: ast.expr, is_itself: bool, change: Change) -> Iterator[tuple[str, Change]]:
    """The variable on which, or on whose elements, something is put: `self.parts` is named in full."""
    if isinstance(holder, ast.Name):
        yield holder.id, change if is_itself else change._replace(kind="inner")
    elif isinstance(holder, ast.Attribute) and dotted(holder) and not is_itself:
        way = dotted(holder).partition(".")[2]
        yield root_name(holder), change._replace(name=f"{way}.{change.name}")
        yield dotted(holder), change._replace(kind="inner")


def _source(over: ast.expr, path: tuple[int, ...]) -> ast.expr | None:
    """The collection whose elements a loop gives to the variable at a place of its target."""
    while isinstance(over, ast.Call):
        name = last_name(over.func)
        if isinstance(over.func, ast.Attribute) and (name, path) in (("values", ()), ("items", (1,))):
            over, path = over.func.value, ()
        elif name == "enumerate" and path[:1] == (1,) and over.args:
            over, path = over.args[0], path[1:]
        elif name == "zip" and path and 0 <= path[0] < len(over.args):
            over, path = over.args[path[0]], path[1:]
        elif name in PASSING and over.args:
            over = over.args[0]
        else:
            return None
    return over if not path else None
