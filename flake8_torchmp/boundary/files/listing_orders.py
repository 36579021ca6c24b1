"""How code treats the order of a list, as its text shows: sorts it, gives it up, hands on a part of it."""

from __future__ import annotations

import ast
from typing import Any

from flake8_torchmp.semantics.nodes import ancestors, body_nodes, dotted, last_name, mentions, up

SORTING = frozenset("sorted natsorted humansorted os_sorted realsorted sort argsort".split())
_SORTING_FRAMES = frozenset(("sort_values", "sort_index"))
_ROWS = frozenset(("iloc", "values"))
_OF_COLUMNS = _ROWS | {"tolist", "to_list", "to_numpy"}
_DICTS = frozenset(("dict", "OrderedDict", "defaultdict"))


def flattened(lists: ast.expr) -> ast.AST | None:
    """The call that makes one list of a comprehension's lists: `chain(*lists)`, `sum(lists, [])`."""
    node, call = lists, up(lists)
    if isinstance(call, ast.Starred):
        node, call = call, up(call)
    if not isinstance(call, ast.Call) or call.args[:1] != [node]:
        return None
    name = last_name(call.func)
    is_sum = name == "sum" and len(call.args) == 2
    return call if is_sum or name == ("from_iterable" if node is lists else "chain") else None


def part_of(target: ast.expr, part: int | None) -> ast.expr:
    """The target that gets one part of a tuple."""
    if part is None or not isinstance(target, ast.Tuple | ast.List) or len(target.elts) <= part:
        return target
    return target if any(isinstance(element, ast.Starred) for element in target.elts) else target.elts[part]


def is_sorted_there(load: ast.AST) -> bool:
    """Whether a use puts the thing itself in order, `x.sort()`, `x = sorted(x)`, or in none: `x = list(set(x))`."""
    parent: Any = up(load)
    if is_made_a_set(load):
        return True
    if isinstance(parent, ast.Attribute) and parent.attr == "sort":
        return isinstance(up(parent), ast.Call)
    if isinstance(parent, ast.Attribute) and parent.attr in _SORTING_FRAMES:
        return _is_for_itself(up(parent), load)
    part = load
    if isinstance(parent, ast.comprehension) and parent.iter is load:  # `x = sorted(f(y) for y in x)`
        part = up(parent) or load
        parent = up(part)
    if isinstance(parent, ast.Call) and last_name(parent.func) in SORTING and part in parent.args:
        statement: Any = up(parent)
        if isinstance(statement, ast.Assign):
            return any(dotted(target) == dotted(load) for target in statement.targets)
    return False


def _is_for_itself(call: Any, load: ast.AST) -> bool:
    """`x = x.sort_values("file")`, `x.sort_values("file", inplace=True)`."""
    if not isinstance(call, ast.Call):
        return False
    bound: Any = next((outer for outer in ancestors(call) if isinstance(outer, ast.stmt)), None)
    targets = bound.targets if isinstance(bound, ast.Assign) else []
    return any(dotted(target) == dotted(load) for target in targets) or any(k.arg == "inplace" for k in call.keywords)


def is_made_a_set(load: ast.AST) -> bool:
    """`x = [*set(x)]`: whatever order x had is gone."""
    is_set = False
    for outer in ancestors(load):
        is_set = is_set or isinstance(outer, ast.SetComp)
        is_set = is_set or (isinstance(outer, ast.Call) and dotted(outer.func) in ("set", "frozenset"))
        if isinstance(outer, ast.stmt):
            return is_set and isinstance(outer, ast.Assign) and any(dotted(t) == dotted(load) for t in outer.targets)
    return False


def is_part_of_frame(node: ast.Attribute) -> bool:
    """`frame.iloc`, `column.values`, and the column of `frame.image.values`."""
    read = up(node)
    if node.attr in _ROWS:
        return True
    return isinstance(read, ast.Attribute) and read.attr in _OF_COLUMNS and (read.attr in _ROWS) is not _is_called(read)


def _is_called(method: ast.Attribute) -> bool:
    call = up(method)
    return isinstance(call, ast.Call) and call.func is method


def names_bound(loop: ast.AST) -> frozenset[str]:
    return frozenset(
        node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def sorts(node: ast.AST, names: frozenset[str]) -> bool:
    """`dirs.sort()`, `sorted(files)`."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in SORTING:
        return False
    return mentions(node, names)


def is_walk(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in ("walk", "fwalk")


def is_made_empty(table: ast.expr, function: Any) -> bool:
    """Whether a function makes a dict with nothing in it: `self.videos = {}`."""
    return any(
        isinstance(node, ast.Assign)
        and any(dotted(target) == dotted(table) for target in node.targets)
        and (
            (isinstance(node.value, ast.Dict) and not node.value.keys)
            or (isinstance(node.value, ast.Call) and last_name(node.value.func) in _DICTS and len(node.value.args) < 2)
        )
        for node in body_nodes(function)
    )
