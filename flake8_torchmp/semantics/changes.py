"""What is put on an object after it was made: attributes, entries, elements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import looped
from .binder import ADDING
from .calls import Frame, is_class_method, parameters, receiver_name
from .flow import block_of
from .module import Module
from .nodes import ancestors, dotted, last_name, position, root_name, statement_of, up
from .pouring import is_missing_before, poured, takes_what_is_missing
from .scopes import Binding, Change, Scope
from .values import (
    INSIDE,
    Class,
    Constant,
    Extra,
    Function,
    Method,
    Source,
)

if TYPE_CHECKING:
    from .evaluate import Evaluator


Changed = Sequence[tuple[Change, Callable[[], Frame]]]
"""Changes, each with the frame in which it happens."""


class Additions:
    """What changes put on one object: each is looked at when somebody asks for what it may add."""

    __slots__ = ("_by_name", "_evaluator", "_inner", "_items", "_of_attributes", "_of_elements")

    def __init__(self, evaluator: Evaluator, changes: Changed) -> None:
        self._evaluator = evaluator
        attributes = [item for item in changes if item[0].kind == "attribute"]
        self._inner = [item for item in changes if looped.is_inner(item[0])]
        self._items = [item for item in changes if item[0].kind != "attribute" and not looped.is_inner(item[0])]
        self._of_elements: dict[object, Additions] = {}
        self._of_attributes: dict[str, Additions | None] = {}
        self._by_name: dict[str, list[tuple[Change, Callable[[], Frame]]]] = {"": attributes}
        for item in attributes:
            self._by_name.setdefault(item[0].name, []).append(item)

    def attributes(self, name: str = "") -> Iterator[Extra]:
        for change, frame in self._by_name.get(name, ()):
            yield from _extra(self._evaluator, change, frame())

    def items(self) -> Iterator[Extra]:
        for change, frame in self._items:
            yield from _extra(self._evaluator, change, frame())

    def of_element(self, key: object) -> Additions | None:
        """What is put on one of the elements, by its key, or on any of them."""
        if self._inner and key not in self._of_elements:
            named = [(c, frame) for c, frame in self._inner if key is None or looped.label_of(c) in ("", key)]
            on_it = [(looped.of_itself(change), frame) for change, frame in named]
            self._of_elements[key] = Additions(self._evaluator, on_it)
        return self._of_elements.get(key)

    def of_attribute(self, name: str) -> Additions | None:
        """What is put on an attribute's object by way of this one: `config.loader.workers = 0` on `config.loader`."""
        if name not in self._of_attributes:
            way = f"{name}."
            on_it = [(c._replace(name=c.name[len(way) :]), f) for c, f in self._by_name[""] if c.name.startswith(way)]
            self._of_attributes[name] = Additions(self._evaluator, on_it) if on_it else None
        return self._of_attributes[name]


def latest(stored: list[Extra], use: ast.AST, frame: Frame) -> list[Extra]:
    """Attributes without those that are surely set anew before a use, in its function or in one that calls it."""
    current: Frame | None = frame
    while current is not None:
        chain = [use, *ancestors(use)]
        last = max((at for extra in stored if (at := _set_before(extra, use, chain, current))), default=None)
        if last is not None:
            stored = [extra for extra in stored if not _was_set_before(extra, last, current)]
        if current.arguments is None:
            break
        use, current = current.arguments.call, current.arguments.frame
    return stored


def _set_before(extra: Extra, use: ast.AST, chain: list[ast.AST], frame: Frame) -> tuple[int, int] | None:
    """Where a function sets an attribute, if every way to a use of it passes there."""
    node, at = extra.source.node, position(extra.source.node)
    if extra.source.frame is not frame or at >= position(use):
        return None
    return at if any(item is other for item in block_of(statement_of(node)) for other in chain) else None


def _was_set_before(extra: Extra, last: tuple[int, int], frame: Frame) -> bool:
    made_in = extra.source.frame
    if made_in is frame:
        return position(extra.source.node) < last
    arguments = made_in.arguments
    return arguments is not None and arguments.frame is frame and position(arguments.call) < last


def adds(change: Change) -> bool:
    """Whether a change can put something on an object, going by its text."""
    if change.path or (change.value is None and change.name not in ("update", "setdefault")):
        return False
    return change.kind in ("attribute", "item", "augmented") or (change.kind == "method" and change.name in ADDING)


def additions(evaluator: Evaluator, name: str, scope: Scope, frame: Frame) -> Additions | None:
    """What is put on the object that a variable names."""
    module = scope.module
    looped_over = looped.changes_by_name(module)
    if name not in module.changes and name not in _given_in(module) and name not in looped_over:
        return None
    changes = _changes_of(evaluator, name, scope) if name in module.changes or name in looped_over else []
    calls = _given_to(evaluator, name, scope)
    if not changes and not calls:
        return None
    return evaluator.additions(
        (id(scope), name, id(frame)),
        lambda: [
            *((change, lambda inner=inner: evaluator.frame_in(inner, frame)) for change, inner in changes),
            *(item for given in calls for item in _by_function(evaluator, given, frame)),
        ],
    )


class Given(NamedTuple):
    """A call, made for its effect, that gets an object."""

    call: ast.Call
    argument: ast.expr
    """With or in which it gets the object."""
    place: str
    """Whether the argument is the object (whole), lists it among others (listed), or is an element of it (looped)."""


def _given_to(evaluator: Evaluator, name: str, scope: Scope) -> list[Given]:
    """The calls `configure(x)`, made for their effect, of functions that may put something on what they are given."""
    module = scope.module
    return [
        given
        for given in _given_in(module).get(name, ())
        if evaluator.scope_binding(name, module.scope_of(given.call)) is scope
        and _may_add(evaluator, given.call.func, module)
    ]


def _given_in(module: Module) -> dict[str, list[Given]]:
    """By name, the variables that a module gives to functions, or to those of a module, in statements of their own."""
    known: dict[str, list[Given]] | None = module.memo.get(("given",))
    if known is None:
        known = module.memo[("given",)] = {}
        for call in (call for calls in module.calls.values() for call in calls if isinstance(up(call), ast.Expr)):
            owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
            for argument in arguments if isinstance(owner, ast.Name) else ():
                for name, place in _names_given(argument, module):
                    known.setdefault(name, []).append(Given(call, argument, place))
    return known


def _names_given(argument: ast.expr, module: Module) -> Iterator[tuple[str, str]]:
    if isinstance(argument, ast.Tuple | ast.List):
        yield from ((element.id, "listed") for element in argument.elts if isinstance(element, ast.Name))
    elif isinstance(argument, ast.Name):
        yield argument.id, "whole"
        for over, is_itself in looped.looped_over(argument, module):
            if isinstance(over, ast.Name):
                yield over.id, "whole" if is_itself else "looped"


def _may_add(evaluator: Evaluator, callee: ast.expr, module: Module) -> bool:
    """Whether a function of the project that something can be changes a parameter, going by its text."""
    name = callee.value if isinstance(callee, ast.Attribute) else callee
    assert isinstance(name, ast.Name)
    scope = evaluator.scope_binding(name.id, module.scope_of(name))
    bindings = scope.bindings[name.id] if scope is not None else []
    kinds = {binding.kind for binding in bindings}
    if isinstance(callee, ast.Attribute) or kinds == {"from"}:
        return kinds <= {"from", "import"} and bool(kinds) and evaluator.codebase.may_define(last_name(callee))
    return kinds == {"def"} and any(_added_to(module.scopes[binding.node]) for binding in bindings)


def _added_to(function: Scope) -> dict[str, list[Change]]:
    """The parameters on which a function puts something, with the changes that do."""
    module = function.module
    key = ("added to", function.node)
    if key not in module.memo:
        looped_over = looped.changes_by_name(module)
        found = {
            name: [
                change
                for change in (*module.changes.get(name, ()), *looped_over.get(name, ()))
                if (adds(change) or looped.is_inner(change)) and module.scope_of(change.target) is function
            ]
            for name in parameters(function.node)  # type: ignore[arg-type]
        }
        module.memo[key] = {name: changes for name, changes in found.items() if changes}
    known: dict[str, list[Change]] = module.memo[key]
    return known


def _by_function(evaluator: Evaluator, given: Given, frame: Frame) -> Iterator[tuple[Change, Callable[[], Frame]]]:
    """What a function puts on what a call gives it."""
    call = given.call
    around = evaluator.frame_in(frame.module.scope_of(call), frame)
    for callee in evaluator.values(call.func, around):
        if not isinstance(callee, Function):
            continue
        added = _added_to(callee.scope)
        name = _parameter_for(given.argument, call, callee)
        changes = added.get(name, ())
        inner = evaluator.enter(callee, evaluator.arguments(call, around)) if changes else None
        for change in changes:
            is_on_it = isinstance(change.target, ast.Name) or looped.is_inner(change)
            if inner is not None and (is_on_it or dotted(change.target)):
                for own in [change] if is_on_it else _from_variable(change):
                    seen_from = _as_given(own, given.place)
                    if seen_from is not None:
                        yield seen_from, lambda inner=inner: inner  # type: ignore[misc]


def _as_given(change: Change, place: str) -> Change | None:
    """What a change of an argument is for the object that the call gets, which may not be the argument itself."""
    if place == "whole":
        return change
    if looped.is_inner(change) is (place == "looped"):
        return None
    return looped.of_itself(change) if place == "listed" else looped.of_elements(change)


def _parameter_for(given: ast.expr, call: ast.Call, callee: Function) -> str:
    """The parameter of a function that gets an argument, or nothing."""
    holder = up(given)
    if isinstance(holder, ast.keyword):
        return holder.arg or ""
    names = [p.name for p in parameters(callee.node).values() if p.kind == "positional"]
    place = call.args.index(given)
    return names[place] if place < len(names) else ""


def entries_put_into(
    evaluator: Evaluator, holder: ast.Subscript | ast.Attribute, frame: Frame
) -> Iterator[tuple[str, Source]]:
    """What `config["loader"]` or `self.options`, of which only the text is known, is given under the same text."""
    module, text = frame.module, ast.unparse(holder)
    inside = module.scope_of(holder).enclosing_function()
    for change in module.changes.get(root_name(holder), ()):
        if not isinstance(change.target, type(holder)) or not adds(change) or ast.unparse(change.target) != text:
            continue
        scope = module.scope_of(change.target).enclosing_function()
        is_before = scope is inside and position(change.node) < position(holder)
        if is_before or (scope is not inside and _are_of_one_object(scope, inside, root_name(holder))):
            around = frame if is_before else evaluator.frame_at(change.node, module)
            for extra in _extra(evaluator, change, around):
                if extra.kind == "entry" and extra.label:
                    yield extra.label, extra.source


def _are_of_one_object(one: Scope | None, other: Scope | None, name: str) -> bool:
    """Whether two functions are methods of one class, in which a name is their own object."""
    return (
        one is not None
        and other is not None
        and one.parent is other.parent
        and receiver_name(one) == receiver_name(other) == name
    )


def taken_out(evaluator: Evaluator, name: str, scope: Scope, made: ast.AST, use: ast.AST) -> dict[str, ast.AST]:
    """The entries that every way from where a dict is made to a use takes out of it, and where: `options.pop("hook")`.

    All of them, where a loop puts something else in the place of each: `for i in range(len(x)): x[i] = f(x[i])`.
    """
    module = scope.module
    key = ("taken out",)
    if key not in module.memo:
        found: dict[str, list[tuple[str, Change]]] = {}
        for root, changes in module.changes.items():
            labelled = [(label, change) for change in changes if (label := _label_taken(change))]
            labelled += [("", change._replace(node=loop)) for change in changes if (loop := _replaces_all(change))]
            if labelled:
                found[root] = labelled
        module.memo[key] = found
    taken = [
        (label, change.node)
        for label, change in module.memo[key].get(name, ())
        if evaluator.scope_binding(name, module.scope_of(change.target)) is scope
    ]
    if not taken:
        return {}
    to_use = {id(item) for item in (use, *ancestors(use))}
    to_made = {id(item) for item in (made, *ancestors(made))}
    surely: dict[str, ast.AST] = {}
    for label, node in taken:
        block = {id(item) for item in block_of(statement_of(node))}
        is_between = not to_made.isdisjoint(block) and position(made) < position(node)
        is_past = position(node) < position(use) and id(node) not in to_use
        if is_past and (is_between or not to_use.isdisjoint(block)):
            surely[label] = node
    return surely


def _replaces_all(change: Change) -> ast.For | None:
    """The loop in which a change gives every element of a list, or every entry of a dict, anew."""
    statement = statement_of(change.node)
    loop = up(statement)
    if change.kind != "item" or not isinstance(change.target, ast.Name) or not isinstance(loop, ast.For):
        return None
    before = loop.body[: loop.body.index(statement)] if statement in loop.body else [loop]
    if any(isinstance(part, ast.Continue | ast.Break) for one in before for part in ast.walk(one)):
        return None
    names, over, name = loop.target, loop.iter, change.target.id
    if isinstance(names, ast.Tuple) and isinstance(over, ast.Call) and last_name(over.func) in ("enumerate", "items"):
        names = names.elts[0]
    keys = (f"range(len({name}))", f"enumerate({name})", name, f"{name}.keys()", f"{name}.items()", f"list({name})")
    index: Any = change.node
    is_each = isinstance(names, ast.Name) and dotted(index.slice) == names.id
    return loop if is_each and ast.unparse(over) in keys else None


def _label_taken(change: Change) -> str:
    """What `d.pop("label")` and `del d["label"]` name."""
    node: Any = change.node
    if not isinstance(change.target, ast.Name):
        return ""
    taken = node.args[:1] if change.kind == "method" and change.name == "pop" else []
    if change.kind == "delete":
        taken = [t.slice for t in node.targets if isinstance(t, ast.Subscript) and t.value is change.target]
    return next((t.value for t in taken if isinstance(t, ast.Constant) and isinstance(t.value, str)), "")


def _changes_of(evaluator: Evaluator, name: str, scope: Scope) -> list[tuple[Change, Scope]]:
    module = scope.module
    key = ("changes", scope.node, name)
    if key not in module.memo:
        module.memo[key] = [
            (own, inner)
            for change in module.changes.get(name, ())
            if adds(change)
            and _is_unknown_to_class(change, name, scope)
            and evaluator.scope_binding(name, inner := module.scope_of(change.target)) is scope
            for own in ([change] if isinstance(change.target, ast.Name) else _from_variable(change))
        ]
        module.memo[key] += [
            (change, inner)
            for change in looped.changes_by_name(module).get(name, ())
            if evaluator.scope_binding(name, inner := module.scope_of(change.target)) is scope
        ]
    known: list[tuple[Change, Scope]] = module.memo[key]
    return known


def _is_unknown_to_class(change: Change, name: str, scope: Scope) -> bool:
    """Whether a change is none of a method's own object that its class knows of: `self.x = 1`, `self.x.append(1)`."""
    is_own = scope.is_function and receiver_name(scope) == name and not is_class_method(scope.node)
    if isinstance(change.target, ast.Name):
        return change.kind != "attribute" or not is_own
    return bool(dotted(change.target)) and (change.kind == "attribute" or not is_own)


def _from_variable(change: Change) -> Iterator[Change]:
    """`x.dataset.transform = f` as a change of `x` itself: it sets `dataset.transform`; `x.steps.append(f)` adds."""
    target: ast.expr = change.target
    changed = f"{dotted(target)}.{change.name}" if change.kind == "attribute" else f"{dotted(target)}{INSIDE}"
    while isinstance(target, ast.Attribute):
        target = target.value
    own = change._replace(kind="attribute", target=target, name=changed.partition(".")[2])
    yield own
    for keyword in change.node.keywords if isinstance(change.node, ast.Call) else ():
        yield own._replace(value=keyword.value)  # `x.hooks.update(done=f)`


def _extra(evaluator: Evaluator, change: Change, frame: Frame) -> Iterator[Extra]:
    value = change.value
    if change.path or evaluator.never(change.node, frame):
        return
    if change.kind == "attribute" and value is not None:
        yield Extra("attribute", change.name, Source(value, frame))
    elif change.kind == "item" and value is not None:
        node: Any = change.node
        over = poured(change, node.slice, value, frame.module)
        if over is not None:
            is_default = is_missing_before(statement_of(node), node)
            yield Extra("elements", "", Source(over, frame), is_default)
            return
        for inner in _runs_of(evaluator, node.slice, frame):
            yield Extra("entry", _label(evaluator, node.slice, inner), Source(value, inner))
    elif change.kind == "augmented" and value is not None:
        yield Extra("elements", "", Source(value, frame))
    elif change.kind == "method" and change.name in ADDING:
        yield from _added(evaluator, change, frame)


def _runs_of(evaluator: Evaluator, key: ast.expr, frame: Frame) -> list[Frame]:
    """`COMMANDS[function.__name__] = function`: each call of the function around it puts in one entry."""
    is_own_name = isinstance(key, ast.Attribute) and key.attr == "__name__" and isinstance(key.value, ast.Name)
    if not is_own_name or frame.arguments is not None or not frame.scope.is_function:
        return [frame]
    return evaluator.contexts(frame.scope)


def _label(evaluator: Evaluator, key: ast.expr, frame: Frame) -> str:
    """The one text under which something is put into a dict; nothing where it is computed or up to the callers."""
    if isinstance(key, ast.Constant):
        return key.value if isinstance(key.value, str) else ""
    if isinstance(key, ast.Name):
        scope = evaluator.scope_binding(key.id, frame.module.scope_of(key))
        bindings = scope.bindings[key.id] if scope is not None else []
        inner = evaluator.frame_in(scope, frame) if scope is not None else frame
        if not all(_may_be_label(binding, inner) for binding in bindings):
            return ""
    elif isinstance(key, ast.Attribute) and key.attr == "__name__":
        named = [v.function if isinstance(v, Method) else v for v in evaluator.values(key.value, frame)]
        names = {v.scope.name if isinstance(v, Function | Class) else "" for v in named}
        return names.pop() if len(names) == 1 else ""
    elif not isinstance(key, ast.Attribute):
        return ""
    values = evaluator.values(key, frame)
    only = values[0].value if len(values) == 1 and isinstance(values[0], Constant) else None
    return only if isinstance(only, str) else ""


def _added(evaluator: Evaluator, change: Change, frame: Frame) -> Iterator[Extra]:
    call: Any = change.node
    value = change.value
    if change.name in ("extend", "extendleft") and value is not None:
        yield Extra("elements", "", Source(value, frame))
    elif change.name == "update":
        if value is not None:
            is_default = takes_what_is_missing(value, change.target)
            yield Extra("elements", "", Source(value, frame), is_default)
        for keyword in call.keywords:
            kind = "entry" if keyword.arg else "elements"
            yield Extra(kind, keyword.arg or "", Source(keyword.value, frame))
    elif change.name == "setdefault" and len(call.args) == 2:
        key, value = call.args
        over = poured(change, key, value, frame.module)
        if over is not None:
            yield Extra("elements", "", Source(over, frame), is_default=True)
        else:
            yield Extra("entry", _label(evaluator, key, frame), Source(value, frame), is_default=True)
    elif change.name.startswith("register_") and not isinstance(up(call), ast.Expr):
        return  # whoever keeps the handle may take the hook off again
    elif value is not None and change.name != "setdefault":
        yield Extra("element", "", Source(value, frame))


def _may_be_label(binding: Binding, frame: Frame) -> bool:
    if binding.kind == "parameter":
        return frame.arguments is not None
    return binding.kind == "from" or isinstance(binding.value, ast.Constant | ast.Name | ast.Attribute)
