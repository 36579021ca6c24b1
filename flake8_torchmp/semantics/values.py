"""What an expression can be. A value remembers the way it took: the hops from where it was made to where it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .module import Module
from .nodes import position
from .scopes import Scope

if TYPE_CHECKING:
    from .calls import Arguments, Frame


class Hop(NamedTuple):
    """One step of a value's way: the expression by which it went on."""

    node: ast.AST
    module: Module
    text: str


class Source(NamedTuple):
    """An expression to be evaluated when asked for."""

    node: ast.expr
    frame: Frame


INSIDE = "[…]"
"""Ends the label of what is put into the container that an attribute holds: `steps[…]`."""
EACH = "[each]"
"""What a loop gives, and not a subscript: the names of a file's groups, say, and not the groups."""


class Extra(NamedTuple):
    """What was put on a value after it was made: an attribute, an entry, an element."""

    kind: str
    """attribute, entry, element, elements, method"""
    label: str
    source: Source
    is_default: bool = False
    """Whether it only takes the place of what is missing: `options.setdefault(key, value)`."""

    @property
    def attribute(self) -> str:
        """The value's own attribute that it went to: `dataset` for `dataset.transform`."""
        return self.label.partition(".")[0].removesuffix(INSIDE)


class Additions(Protocol):
    """What a variable's or attribute's uses put on the object that it names: found out when somebody asks."""

    def attributes(self, name: str = "") -> Iterator[Extra]: ...

    def items(self) -> Iterator[Extra]: ...

    def of_element(self, key: object) -> Additions | None: ...

    def of_attribute(self, name: str) -> Additions | None: ...


class Value:
    """The base of all values. `key` tells two values apart, whatever way they took."""

    __slots__ = ("additions", "way")

    def __init_subclass__(cls) -> None:
        """Writes the method `copy` of a kind of value out: values are copied at each hop, and a loop takes long."""
        parts = [name for base in cls.__mro__ for name in getattr(base, "__slots__", ())]
        lines = ["def copy(self):", "    other = new(kind)", *(f"    other.{name} = self.{name}" for name in parts)]
        space = {"new": object.__new__, "kind": cls}
        exec("\n".join([*lines, "    return other"]), space)
        cls.copy = space["copy"]  # type: ignore[method-assign, assignment]

    def __init__(self) -> None:
        self.way: tuple[Hop, ...] = ()
        self.additions: tuple[Additions, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        return (id(self),)

    def copy(self) -> Value:
        raise TypeError  # each kind has its own

    def after(self, hop: Hop) -> Value:
        other = self.copy()
        other.way = (*self.way, hop)
        return other

    @property
    def extras(self) -> list[Extra]:
        """All that was put on it."""
        return [*self.added_items(), *self.added_attributes()] if self.additions else []

    def added_attributes(self, name: str = "") -> list[Extra]:
        """The attributes that were put on it, or those of one name."""
        return _once(extra for additions in self.additions for extra in additions.attributes(name))

    def added_items(self) -> list[Extra]:
        """The entries and elements that were put into it."""
        return _once(extra for additions in self.additions for extra in additions.items())

    def with_additions(self, additions: Additions) -> Value:
        if any(known is additions for known in self.additions):
            return self
        other = self.copy()
        other.additions = (*self.additions, additions)
        return other


def _once(extras: Iterable[Extra]) -> list[Extra]:
    return list({(id(extra.source.node), extra.label): extra for extra in extras}.values())


class Unknown(Value):
    """Something that cannot be seen from here."""

    __slots__ = ()

    def after(self, hop: Hop) -> Value:  # noqa: ARG002 - whence it came says nothing
        return self

    @property
    def key(self) -> tuple[Any, ...]:
        return ("unknown",)


class Constant(Value):
    __slots__ = ("module", "node", "value")

    def __init__(self, value: object, node: ast.expr, module: Module) -> None:
        super().__init__()
        self.value = value
        self.node = node
        self.module = module

    @property
    def key(self) -> tuple[Any, ...]:
        return ("constant", id(self.node), repr(self.value))


class Text(Value):
    """An f-string, or text put together from parts: what it starts with is known."""

    __slots__ = ("module", "node", "start")

    def __init__(self, start: str, node: ast.expr, module: Module) -> None:
        super().__init__()
        self.start = start
        self.node = node
        self.module = module

    @property
    def key(self) -> tuple[Any, ...]:
        return ("text", id(self.node))


class External(Value):
    """Something of a library, by its qualified name."""

    __slots__ = ("module", "name", "node")

    def __init__(self, name: str, node: ast.AST, module: Module) -> None:
        super().__init__()
        self.name = name
        self.node = node
        self.module = module

    @property
    def key(self) -> tuple[Any, ...]:
        return ("external", self.name)


class ModuleValue(Value):
    """A module of the project, or a namespace package of it (then `path` is empty)."""

    __slots__ = ("name", "path")

    def __init__(self, name: str, path: str) -> None:
        super().__init__()
        self.name = name
        self.path = path

    @property
    def key(self) -> tuple[Any, ...]:
        return ("module", self.name, self.path)


class Function(Value):
    """A function or lambda of the project."""

    __slots__ = ("closure", "decorated_by", "scope")

    def __init__(self, scope: Scope, closure: Frame | None) -> None:
        super().__init__()
        self.scope = scope
        self.closure = closure
        self.decorated_by: Function | Class | Result | None = None
        """What a decorator put in its place: a local function without functools.wraps, or an object.

        The result is that of a cache around it under another name: `self.cached = lru_cache()(self.encode)`.
        """

    @property
    def node(self) -> Any:
        return self.scope.node

    @property
    def is_lambda(self) -> bool:
        return isinstance(self.scope.node, ast.Lambda)

    @property
    def is_local(self) -> bool:
        """Defined inside a function, so that no import finds it."""
        return self.scope.parent is not None and self.scope.parent.enclosing_function() is not None

    @property
    def key(self) -> tuple[Any, ...]:
        return ("function", id(self.scope), id(self.closure))


class Class(Value):
    __slots__ = ("closure", "scope")

    def __init__(self, scope: Scope, closure: Frame | None) -> None:
        super().__init__()
        self.scope = scope
        self.closure = closure

    @property
    def node(self) -> ast.ClassDef:
        assert isinstance(self.scope.node, ast.ClassDef)
        return self.scope.node

    @property
    def is_local(self) -> bool:
        return self.scope.enclosing_function() is not None

    @property
    def key(self) -> tuple[Any, ...]:
        return ("class", id(self.scope))


class Instance(Value):
    """An object of a class of the project; `arguments` is None where it is not known how it was made."""

    __slots__ = ("arguments", "cls")

    def __init__(self, cls: Class, arguments: Arguments | None) -> None:
        super().__init__()
        self.cls = cls
        self.arguments = arguments

    @property
    def key(self) -> tuple[Any, ...]:
        return ("instance", id(self.cls.scope), id(self.arguments))


class Result(Value):
    """What calling something of a library gave: an object made by it, or whatever it returns."""

    __slots__ = ("arguments", "callee", "name")

    def __init__(self, callee: Value, arguments: Arguments) -> None:
        super().__init__()
        self.callee = callee
        self.arguments = arguments
        self.name = qualified(callee)
        """The qualified name of what was called: `torch.nn.Sequential`, `torch.multiprocessing.get_context().Pool`."""

    @property
    def key(self) -> tuple[Any, ...]:
        return ("result", self.name, id(self.arguments))


class Member(Value):
    """An attribute of something that the project does not define."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Value, name: str) -> None:
        super().__init__()
        self.owner = owner
        self.name = name

    @property
    def key(self) -> tuple[Any, ...]:
        return ("member", self.owner.key, self.name)

    @property
    def is_element(self) -> bool:
        """Whether it is in its owner: by a subscript, or as one of those that a loop gives."""
        return self.name in (INSIDE, EACH)


class Method(Value):
    """A method of a class of the project, bound to an object or class."""

    __slots__ = ("function", "receiver")

    def __init__(self, receiver: Value, function: Function) -> None:
        super().__init__()
        self.receiver = receiver
        self.function = function

    @property
    def key(self) -> tuple[Any, ...]:
        return ("method", self.receiver.key, self.function.key)


class Partial(Value):
    """functools.partial of something."""

    __slots__ = ("arguments", "callee")

    def __init__(self, callee: Value, arguments: Arguments) -> None:
        super().__init__()
        self.callee = callee
        self.arguments = arguments

    @property
    def key(self) -> tuple[Any, ...]:
        return ("partial", self.callee.key, id(self.arguments))


class Entry(NamedTuple):
    """An element of a collection; dicts have keys."""

    key: object
    source: Source


MOST_ENTRIES = 1000
"""What else is in a larger collection is not seen: copies of copies of themselves would double each time."""


class Collection(Value):
    """A list, tuple, set or dict that the program spells out; `complete` if nothing else can be in it."""

    __slots__ = ("complete", "entries", "kind", "module", "node", "taken")

    def __init__(self, kind: str, entries: tuple[Entry, ...], complete: bool, node: ast.AST, module: Module) -> None:
        super().__init__()
        self.kind = kind
        self.entries = entries[:MOST_ENTRIES]
        self.complete = complete and len(entries) <= MOST_ENTRIES
        self.node = node
        self.module = module
        self.taken: Mapping[str, ast.AST] = {}
        """Keys that are surely taken out again, and where: what was put in under them before is gone.

        The key "" stands for all of them.
        """

    def without(self, taken: Mapping[str, ast.AST]) -> Collection:
        """The collection that is left when the entries of some keys are taken out."""
        kept = tuple(entry for entry in self.entries if entry.key not in taken and "" not in taken)
        other = Collection(self.kind, kept, self.complete and "" not in taken, self.node, self.module)
        other.way, other.additions, other.taken = self.way, self.additions, taken
        return other

    def added_items(self) -> list[Extra]:
        added = super().added_items()
        return [extra for extra in added if not self._was_taken(extra)] if self.taken else added

    def _was_taken(self, extra: Extra) -> bool:
        taken = self.taken.get(extra.label) or self.taken.get("")
        frame = extra.source.frame
        return (
            taken is not None
            and frame.scope is (frame.module.scope_of(taken).enclosing_function() or frame.module.scope)
            and position(extra.source.node) < position(taken)
        )

    @property
    def key(self) -> tuple[Any, ...]:
        return ("collection", id(self.node), len(self.entries), self.entries and id(self.entries[0].source.frame))


class Super(Value):
    """`super()`: the classes after `cls` in the order of the object's class."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: Class, receiver: Value) -> None:
        super().__init__()
        self.cls = cls
        self.receiver = receiver

    @property
    def key(self) -> tuple[Any, ...]:
        return ("super", self.cls.key, self.receiver.key)


UNKNOWN = Unknown()


def qualified(value: Value) -> str:
    """A dotted name for what a value is or where it comes from; calls on the way are `()`."""
    if isinstance(value, External | ModuleValue):
        return value.name
    if isinstance(value, Result):
        return f"{value.name}()"
    if isinstance(value, Member):
        owner = qualified(value.owner)
        return f"{owner}.{value.name}" if owner else ""
    if isinstance(value, Function | Class):
        return f"{value.scope.module.name}.{value.scope.name}"
    if isinstance(value, Instance):
        return f"{qualified(value.cls)}()"
    return ""


def truth_of(value: Value) -> bool | None:
    """Whether a value counts as true; None where that cannot be told."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, Function | Class | Method | Instance | ModuleValue | Partial):
        return True
    return None


def as_element(value: Value, holder: Value, key: object = None) -> Value:
    """An element of a collection with what is put on it there: `for part in parts: part.transform = f`."""
    for additions in holder.additions if isinstance(value, Instance | Result | Member | Collection) else ():
        own = additions.of_element(key)
        value = value.with_additions(own) if own is not None else value
    return value


class _OfElements:
    """What is put on the elements of a collection, for another one that has them too."""

    __slots__ = ("_additions", "_has_keys")

    def __init__(self, additions: Additions, *, has_keys: bool) -> None:
        self._additions = additions
        self._has_keys = has_keys

    def attributes(self, name: str = "") -> Iterator[Extra]:  # noqa: ARG002
        return iter(())

    def items(self) -> Iterator[Extra]:
        return iter(())

    def of_element(self, key: object) -> Additions | None:
        return self._additions.of_element(key if self._has_keys else None)

    def of_attribute(self, name: str) -> Additions | None:  # noqa: ARG002
        return None


def with_same_elements(made: Collection, holders: Iterable[Value], *, has_keys: bool = False) -> Collection:
    """A collection that was made of the elements of others, under the same keys or not."""
    found = [additions for holder in holders for additions in holder.additions]
    made.additions = tuple(_OfElements(a, has_keys=has_keys) for a in found if a.of_element(None) is not None)
    return made


def along(value: Value, holder: Value, key: object = None) -> Value:
    """A value taken out of another, which went the way of that one."""
    if holder.additions:
        value = as_element(value, holder, key)
    if not holder.way:
        return value
    taken = value.copy()
    taken.way = value.way + holder.way
    return taken
