"""The attributes of the project's objects: what they hold, and what a class or a base gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from . import changes, classes, settled, stores
from .calls import Arguments, Frame, has_receiver, is_class_method, is_property, is_static
from .flow import conditions
from .module import Module
from .nodes import FUNCTIONS
from .scopes import Change, Scope
from .values import (
    INSIDE,
    UNKNOWN,
    Class,
    Collection,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Method,
    Result,
    Source,
    Super,
    Value,
)

if TYPE_CHECKING:
    from .evaluate import Evaluator


CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__attrs_post_init__", "__setstate__")

DICTS = frozenset(("builtins.dict", "collections.OrderedDict", "collections.UserDict"))

EMPTY_BASES = frozenset(
    (
        "object",
        "abc.ABC",
        "typing.Generic",
        "typing.Protocol",
        "typing_extensions.Generic",
        "typing_extensions.Protocol",
    )
)
"""Library classes without methods or attributes that a program would use."""


def poured(evaluator: Evaluator, instance: Instance) -> Iterator[Value]:
    """What methods store under names that only running tells: `setattr(self, name, value)`, `vars(self).update(…)`."""
    for cls in classes.project_classes(evaluator, instance.cls):
        for expression, method in stores.poured(cls):
            frame = store_frame(evaluator, instance, cls, method)
            inner = evaluator.frame_in(cls.scope.module.scope_of(expression), frame)
            yield from evaluator.values(expression, inner)


def _poured_as(evaluator: Evaluator, instance: Instance, name: str) -> Iterator[Value]:
    """What methods store under one name from dicts of the project: `self.__dict__.update(options)`."""
    for cls in classes.project_classes(evaluator, instance.cls):
        for expression, method in stores.poured(cls):
            holder = stores.dict_around(expression, method)
            if holder is None:
                continue
            frame = store_frame(evaluator, instance, cls, method)
            for value in evaluator.values(holder, evaluator.frame_in(cls.scope.module.scope_of(holder), frame)):
                for key, source in evaluator.items(value) if isinstance(value, Collection) else ():
                    if key == name:
                        yield from evaluator.of(source)


def is_replaced(evaluator: Evaluator, instance: Instance, cls: Class, method: Scope) -> bool:
    """Whether an object's own class has a method in place of a base's, which nothing of its classes calls any more."""
    if cls.scope is instance.cls.scope:
        return False
    is_hidden = False
    for item in classes.project_classes(evaluator, instance.cls):
        is_hidden = is_hidden or (item.scope is not cls.scope and method.name in item.scope.bindings)
        if item.scope is cls.scope:
            break
    return is_hidden and not any(
        stores.calls_base(item, method.name) for item in classes.project_classes(evaluator, instance.cls)
    )


def store_frame(evaluator: Evaluator, instance: Instance, cls: Class, method: Scope) -> Frame:
    """The frame in which a method stores something on an object."""
    if method.name == "__init__":
        frame = classes.init_frame(evaluator, instance, cls)
        if frame is not None:
            return frame
    return evaluator.frame(method, None, classes.class_frame(evaluator, cls), instance)


def stored(
    evaluator: Evaluator, instance: Instance, name: str, skipped_methods: frozenset[str] = frozenset()
) -> Iterator[Value]:
    """What the methods of an object's classes store in an attribute."""
    grown = _grown(evaluator, instance, name)
    for cls in classes.project_classes(evaluator, instance.cls):
        for change, method in stores.by_attribute(cls).get(name, ()):
            if method.name in skipped_methods or is_replaced(evaluator, instance, cls, method):
                continue
            if method.name == "__init__" and classes.is_bare(instance):
                continue
            frame = store_frame(evaluator, instance, cls, method)
            if not _is_set_if_unset(change, name, frame.module) and evaluator.never(change.node, frame):
                continue
            yield from _put(evaluator, change, frame, grown)


def _put(evaluator: Evaluator, change: Change, frame: Frame, grown: changes.Additions | None) -> Iterator[Value]:
    """What a store in a method's frame puts into an attribute, with what is added to that elsewhere."""
    if change.value is None:
        return
    inner = evaluator.frame_in(frame.module.scope_of(change.target), frame)
    for value in evaluator.unpacked(evaluator.given(change.value, inner), change.path):
        if grown is not None and isinstance(value, Collection | Result | Instance):
            value = value.with_additions(grown)
        yield value


def settled_before(evaluator: Evaluator, instance: Instance, node: ast.Attribute, frame: Frame) -> Iterator[Value]:
    """What a method has surely stored in an attribute of its object before it reads it; nothing where others may."""
    found = settled.settled(node, frame.module)
    if not found or any(node.attr in cls.scope.bindings for cls in classes.project_classes(evaluator, instance.cls)):
        return
    grown = _grown(evaluator, instance, node.attr)
    for change in found:
        if not evaluator.never(change.node, frame):
            yield from _put(evaluator, change, frame, grown)


def _is_set_if_unset(change: Change, name: str, module: Module) -> bool:
    """`if self.x is None: self.x = …`: what it sets says nothing of whether it is reached."""
    key = ("attributes asked for", change.node)
    asked: frozenset[str] | None = module.memo.get(key)
    if asked is None:
        tests = (part for condition in conditions(change.node) for part in ast.walk(condition.test))
        asked = module.memo[key] = frozenset(part.attr for part in tests if isinstance(part, ast.Attribute))
    return name in asked


def _given_at_first(evaluator: Evaluator, instance: Instance, name: str) -> Iterator[Value]:
    """What a record's field is given, where its methods only set it if that is nothing."""
    order = classes.project_classes(evaluator, instance.cls)
    if all(
        _is_set_if_unset(change, name, cls.scope.module)
        for cls in order
        for change, _ in stores.by_attribute(cls).get(name, ())
    ):
        for value in field(evaluator, instance, name):
            if not (isinstance(value, Constant) and value.value is None):
                yield value


def _begins_with_that_of_class(evaluator: Evaluator, instance: Instance, name: str) -> bool:
    """Whether an attribute is the class's own until some method, no constructor, gives the object another."""
    order = classes.project_classes(evaluator, instance.cls)
    return any(
        b.kind == "assign" and b.value is not None for c in order for b in c.scope.bindings.get(name, ())
    ) and all(method.name not in CONSTRUCTORS for cls in order for _, method in stores.by_attribute(cls).get(name, ()))


def _grown(evaluator: Evaluator, instance: Instance, name: str) -> changes.Additions | None:
    grown = [
        (item, change, method)
        for item in classes.project_classes(evaluator, instance.cls)
        for change, method in stores.growth(item, name)
        if not is_replaced(evaluator, instance, item, method)
    ]
    if not grown:
        return None
    frames = [(change, partial(store_frame, evaluator, instance, item, method)) for item, change, method in grown]
    return evaluator.additions((*instance.key, name), lambda: frames)


def _filled_later(evaluator: Evaluator, instance: Instance, name: str, values: list[Value]) -> list[Value]:
    """The default of a record's field, with what the record's methods add to it."""
    grown = _grown(evaluator, instance, name) if any(isinstance(value, Collection) for value in values) else None
    if grown is None:
        return values
    return [value.with_additions(grown) if isinstance(value, Collection) else value for value in values]


def attribute(evaluator: Evaluator, base: Value, name: str) -> Iterator[Value]:
    """What `base.name` can be, for an object, a class or `super()`."""
    if isinstance(base, Super):
        yield from _of_super(evaluator, base, name)
        return
    placed = base.added_attributes(name)
    for extra in placed:
        yield from evaluator.of(extra.source)
    if isinstance(base, Instance):
        found = list(stored(evaluator, base, name))
        if found and _begins_with_that_of_class(evaluator, base, name):
            yield from _of_class(evaluator, base, evaluator.mro(base.cls), name)
        elif found:
            found += _given_at_first(evaluator, base, name)
        found = found or _filled_later(evaluator, base, name, list(field(evaluator, base, name)))
        found += _poured_as(evaluator, base, name)
        yield from found
        if placed and not DICTS.isdisjoint(classes.library_bases(evaluator, base.cls)):
            yield UNKNOWN  # an entry as well, which others may set by its key
        if found or placed:
            return
        cls = base.cls
    else:
        assert isinstance(base, Class)
        cls = base
    yield from _of_class(evaluator, base, evaluator.mro(cls), name)


def field(evaluator: Evaluator, instance: Instance, name: str) -> Iterator[Value]:
    if not classes.is_record(evaluator, instance.cls):
        return
    known = classes.fields(evaluator, instance.cls)
    if name not in known:
        return
    default, owner = known[name]
    made = (
        [instance.arguments]
        if instance.arguments is not None
        else [arguments for _, arguments in evaluator.callers.constructions(instance.cls.scope)]
    )
    for arguments in made:
        source = arguments.get(list(known).index(name), name)
        if source is not None:
            yield from evaluator.of(source)
        elif arguments.is_open or default is None:
            yield UNKNOWN
        else:
            yield from _field_default(evaluator, default, owner)
    if not made and default is not None:
        yield from _field_default(evaluator, default, owner)


def field_sources(evaluator: Evaluator, instance: Instance) -> Iterator[tuple[str, Source]]:
    """The expressions that give an object of a record class its fields."""
    for index, (name, (default, owner)) in enumerate(classes.fields(evaluator, instance.cls).items()):
        source = instance.arguments.get(index, name) if instance.arguments is not None else None
        if source is None and isinstance(default, ast.Call):
            default = next((k.value for k in default.keywords if k.arg == "default"), None)
        if source is None and default is not None:
            source = Source(default, classes.class_frame(evaluator, owner))
        if source is not None:
            yield name, source


def has_factories(evaluator: Evaluator, cls: Class) -> bool:
    """Whether making an object of a record class calls something for its fields."""
    return classes.is_record(evaluator, cls) and any(
        True for default, _ in classes.fields(evaluator, cls).values() for _ in _factories(default)
    )


def default_factories(evaluator: Evaluator, cls: Class, arguments: Arguments) -> Iterator[Value]:
    """What is called for the fields that an object of a record class is not given."""
    if not classes.is_record(evaluator, cls):
        return
    for index, (name, (default, owner)) in enumerate(classes.fields(evaluator, cls).items()):
        if arguments.get(index, name) is None and not arguments.is_open:
            for factory in _factories(default):
                yield from evaluator.values(factory, classes.class_frame(evaluator, owner))


def _factories(default: ast.expr | None) -> Iterator[ast.expr]:
    """What `field(default_factory=list)` calls."""
    for keyword in default.keywords if isinstance(default, ast.Call) else ():
        if keyword.arg in ("default_factory", "factory"):
            yield keyword.value


def _field_default(evaluator: Evaluator, default: ast.expr, owner: Class) -> Iterator[Value]:
    frame = classes.class_frame(evaluator, owner)
    plain = [k.value for k in default.keywords if k.arg == "default"] if isinstance(default, ast.Call) else []
    factories = list(_factories(default))
    for node in factories:
        for factory in evaluator.values(node, frame):
            yield from evaluator.result(factory, evaluator.argument_lists.no_arguments(node, frame))
    for node in plain if plain or factories else [default]:
        yield from evaluator.values(node, frame)


def _of_class(evaluator: Evaluator, base: Value, order: tuple[Value, ...], name: str) -> Iterator[Value]:
    for item in order:
        if isinstance(item, Class):
            if name not in item.scope.bindings:
                continue
            frame = classes.class_frame(evaluator, item)
            for binding in item.scope.bindings[name][-1:]:
                for value in evaluator.bound(binding, frame):
                    yield from _bind(evaluator, base, value)
            return
        if isinstance(item, External) and item.name not in EMPTY_BASES and not _is_mixed_in(order, item, name):
            yield from _of_library(evaluator, base, item, name)
            return
    if isinstance(base, Class) and name == "__new__":
        yield External("builtins.object.__new__", base.node, base.scope.module)
    else:
        yield UNKNOWN


def _is_mixed_in(order: tuple[Value, ...], base: Value, name: str) -> bool:
    """Whether a class of the project behind a library's brings a name: `class Frames(Dataset, Configurable)`."""
    later = order[order.index(base) + 1 :]
    return any(isinstance(item, Class) and name in item.scope.bindings for item in later)


def _of_library(evaluator: Evaluator, base: Value, item: External, name: str) -> Iterator[Value]:
    if isinstance(base, Instance):
        for library, arguments in classes.library_init(evaluator, base):
            given = arguments.keywords.get(name)
            if given is None and library in DICTS:
                given = _entry_given(evaluator, arguments, name)
            if given is not None:
                yield from evaluator.of(given)
                return
        yield Member(base, name)
    else:
        yield External(f"{item.name}.{name}", item.node, item.module)


def _entry_given(evaluator: Evaluator, arguments: Arguments, name: str) -> Source | None:
    """What a dict of the project's own class, which gives its entries as attributes, is made with under a name."""
    given = arguments.get(0)
    for value in evaluator.of(given) if given is not None else ():
        for key, source in evaluator.items(value) if isinstance(value, Collection) else ():
            if key == name:
                return source
    return None


def _bind(evaluator: Evaluator, base: Value, value: Value) -> Iterator[Value]:
    """A function found in a class becomes a method, a property or another descriptor its value."""
    if isinstance(value, Instance) and isinstance(base, Instance):
        told = classes.find_method(evaluator, value.cls, "__get__")
        if told is not None:
            given = evaluator.returned(evaluator.frame(told.scope, None, told.closure, value))
            yield from [item for item in given if item.key != value.key] or [UNKNOWN]  # itself for the class alone
            return
    if not isinstance(value, Function) or not has_receiver(value.scope):
        yield value
        return
    node = value.scope.node
    assert isinstance(node, FUNCTIONS)
    if is_static(node):
        yield value
    elif is_class_method(node):
        receiver = base.cls if isinstance(base, Instance) else base
        yield Method(receiver, value)
    elif isinstance(base, Class):
        yield value
    elif is_property(node):
        yield from evaluator.returned(evaluator.frame(value.scope, None, value.closure, base))
    else:
        yield Method(base, value)


def _of_super(evaluator: Evaluator, base: Super, name: str) -> Iterator[Value]:
    receiver = base.receiver
    cls = receiver.cls if isinstance(receiver, Instance) else receiver
    order = evaluator.mro(cls) if isinstance(cls, Class) else ()
    keys = [item.key for item in order]
    after = order[keys.index(base.cls.key) + 1 :] if base.cls.key in keys else evaluator.mro(base.cls)[1:]
    may_make = name == "__init__"
    for item in after:
        if isinstance(item, External):
            is_last = not any(isinstance(later, Class) and name in later.scope.bindings for later in after)
            if is_last or (may_make and item.name not in EMPTY_BASES):
                yield External(f"{item.name}.{name}", item.node, item.module)
                may_make = False  # its own, or none, so that the next class makes the object
            if is_last:
                return
        if isinstance(item, Class) and name in item.scope.bindings:
            yield from _of_class(evaluator, receiver, (item,), name)
            return
    yield UNKNOWN


def held_attributes(evaluator: Evaluator, instance: Instance) -> list[str]:
    """The names of the attributes that an object of the project can hold, in source order."""
    names: dict[str, None] = {}
    for cls in reversed(classes.project_classes(evaluator, instance.cls)):
        names.update(dict.fromkeys(stores.by_attribute(cls)))
    if classes.is_record(evaluator, instance.cls):
        names.update(dict.fromkeys(classes.fields(evaluator, instance.cls)))
    names.update(dict.fromkeys(e.label for e in instance.added_attributes() if not e.label.endswith(INSIDE)))
    return list(names)
