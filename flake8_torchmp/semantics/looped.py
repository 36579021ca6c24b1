"""What is put on something through a loop's variable or an index, as changes of what is looped over or looked up.

`for part in (train, val): part.transform = f` changes `train` and `val`, `for part in parts: part.transform = f`,
`parts["train"].transform = f` and `options["loader"]["collate_fn"] = f` the elements of `parts` and `options`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .binder import ADDING
from .calls import receiver_name
from .module import Module
from .nodes import dotted, last_name, up
from .scopes import Change
from .values import INSIDE

PASSING = frozenset("reversed list tuple sorted tqdm".split())
DEEPEST = 3
"""So many names one after another are followed."""
_INNER = "inner "


def changes_by_name(module: Module) -> dict[str, list[Change]]:
    """By variable, what is put on it, or (as `inner …`) on the elements that it holds."""
    known: dict[str, list[Change]] | None = module.memo.get(("looped",))
    if known is None:
        known = module.memo[("looped",)] = {}
        for changes in list(module.changes.values()):
            for change in changes:
                if _is_followed(change):
                    for name, own in _spread(change, module):
                        known.setdefault(name, []).append(own)
        for change in _of_defaults(module):
            for name, own in _spread(change, module):
                known.setdefault(name, []).append(own)
    return known


def is_inner(change: Change) -> bool:
    """Whether a change is one of the elements of what it is kept for."""
    return change.kind.startswith(_INNER)


def of_elements(change: Change) -> Change:
    return change._replace(kind=f"{_INNER}{change.kind}")


def of_itself(change: Change) -> Change:
    return change._replace(kind=change.kind.removeprefix(_INNER))


def label_of(change: Change) -> str:
    """The key of the one element that is changed, if it is named: `parts["train"].transform = f`."""
    target = change.target
    index = target.slice if isinstance(target, ast.Subscript) else None
    if isinstance(target, ast.Call):
        index = target.args[0]
    return index.value if isinstance(index, ast.Constant) and isinstance(index.value, str) else ""


def _is_followed(change: Change) -> bool:
    if change.path or change.kind not in ("attribute", "item", "method"):
        return False
    return change.name in ADDING if change.kind == "method" else change.value is not None


def _of_defaults(module: Module) -> Iterator[Change]:
    """`groups.setdefault(name, []).append(f)`, `options.setdefault("loader", {})["collate_fn"] = f`."""
    for call in module.calls.get("setdefault", ()):
        holder = up(call)
        if len(call.args) != 2 or not isinstance(call.func, ast.Attribute):
            continue
        if isinstance(holder, ast.Attribute) and isinstance(adding := up(holder), ast.Call) and adding.func is holder:
            if holder.attr in ADDING:
                value = adding.args[-1] if adding.args else None
                yield Change("method", call, adding, holder.attr, value)
        elif isinstance(holder, ast.Subscript) and holder.value is call:
            statement = up(holder)
            if isinstance(statement, ast.Assign) and holder in statement.targets:
                yield Change("item", call, holder, "", statement.value)


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
        yield from _on(target.value, False, change, module, DEEPEST)
    elif isinstance(target, ast.Call):
        assert isinstance(target.func, ast.Attribute)
        yield from _on(target.func.value, False, change, module, DEEPEST)
    elif isinstance(target, ast.Name):
        yield from _under_other_names(target, change, module, DEEPEST)
    elif isinstance(target, ast.Attribute) and dotted(target):
        yield from _on_attribute(target, change, module, DEEPEST)


def _under_other_names(name: ast.Name, change: Change, module: Module, depth: int) -> Iterator[tuple[str, Change]]:
    """A change of what a variable holds, as one of what that was taken from."""
    if depth == 0:
        return
    for over, is_itself in looped_over(name, module):
        yield from _on(over, is_itself, change._replace(target=name), module, depth - 1)
    named = _named(name, module)
    if isinstance(named, ast.Subscript):
        yield from _on(named.value, False, change._replace(target=named), module, depth - 1)
    elif named is not None:
        yield from _on(named, True, change._replace(target=named), module, depth - 1)


def _named(name: ast.Name, module: Module) -> ast.Subscript | ast.Attribute | None:
    """What a variable is another name for: `loader = options["loader"]`, `dataset = self.train_set`."""
    bindings = module.scope_of(name).bindings.get(name.id, ())
    value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path else None
    if isinstance(value, ast.Subscript):
        return value if not isinstance(value.slice, ast.Slice) else None
    return value if isinstance(value, ast.Attribute) and dotted(value) else None


def _on(holder: ast.expr, is_itself: bool, change: Change, module: Module, depth: int) -> Iterator[tuple[str, Change]]:
    """The variable on which, or on whose elements, something is put: `self.parts` is named in full."""
    own = change if is_itself else of_elements(change)
    if isinstance(holder, ast.Name):
        yield holder.id, own
        yield from _under_other_names(holder, own, module, depth)
    elif isinstance(holder, ast.Attribute) and dotted(holder):
        yield dotted(holder), own
        yield from _on_attribute(holder, own, module, depth)


def _on_attribute(holder: ast.Attribute, change: Change, module: Module, depth: int) -> Iterator[tuple[str, Change]]:
    """A change of what an attribute holds, as one of the object that has it."""
    root: ast.expr = holder
    while isinstance(root, ast.Attribute):
        root = root.value
    assert isinstance(root, ast.Name)
    sets = change.kind in ("attribute", f"{_INNER}attribute")
    way = dotted(holder).partition(".")[2] + (f".{change.name}" if sets else INSIDE)
    function = module.scope_of(holder).enclosing_function()
    is_direct = change.target is holder  # then the object's class or variable knows
    if not sets and function is not None and receiver_name(function) == root.id:
        first, _, rest = way.partition(".")
        if rest:
            yield f"{root.id}.{first}", change._replace(kind="attribute", name=rest)
    elif not is_direct or depth < DEEPEST:
        yield root.id, change._replace(kind="attribute", target=root, name=way)
    yield from _under_other_names(root, change._replace(kind="attribute", target=root, name=way), module, depth)


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
