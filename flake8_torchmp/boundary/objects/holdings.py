"""What an object holds at the moment when it goes to workers: through attributes, containers and other objects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.crossing.dropped_state import Drops
from flake8_torchmp.boundary.crossing.repeats import Repeats
from flake8_torchmp.boundary.crossing.unfinished import is_being_made
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.tables.ecosystem import same_network
from flake8_torchmp.semantics import attributes, classes, iteration, records
from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import (
    INSIDE,
    UNKNOWN,
    Class,
    Collection,
    External,
    Function,
    Hop,
    Instance,
    Member,
    Method,
    ModuleValue,
    Partial,
    Result,
    Unknown,
    Value,
    as_element,
)

from .lifetimes import Lifetimes
from .method_runs import Store

DEEPEST = 5
MOST = 300
MOST_STEPS = 500
IMPORTANT = (Collection, Instance, Result, Member, Partial, Method, Function, Class, External, ModuleValue, Unknown)


class Holding(NamedTuple):
    """Something that goes along with what is handed over."""

    value: Value
    way: tuple[Hop, ...]
    owners: tuple[Instance, ...]
    """The objects of the project that it hangs on, the outermost first."""
    attributes: tuple[str, ...]
    """For each owner, the attribute that leads on."""
    is_dropped: bool
    """Whether a `__getstate__` or `__reduce__` on the way leaves it out."""
    node: ast.expr | None = None
    """What is stored in the last attribute, and its module."""
    module: Module | None = None

    @property
    def text(self) -> str:
        if not self.owners:
            return ""
        return f"{self.owners[-1].cls.scope.name}.{self.attributes[-1]}"

    @property
    def uses(self) -> list[ast.AST]:
        """Where the objects are made that hold it, outside of one another."""
        return [owner.arguments.call for owner in self.owners[:1] if owner.arguments is not None]


class Holdings:
    def __init__(self, evaluator: Evaluator, lifetimes: Lifetimes) -> None:
        self.evaluator = evaluator
        self.lifetimes = lifetimes

    def of(self, values: list[Value], stops: Callable[[Class], bool] | None = None) -> Iterator[Holding]:
        """Some values, and all that they hold; objects of classes that are asked about by themselves are not opened."""
        seen: set[tuple[object, ...]] = set()
        repeats = Repeats()
        pending = [Holding(value, value.way, (), (), False) for value in values]
        steps = 0
        while pending and len(seen) < MOST:
            current = pending.pop(0)
            key = (current.value.key, current.is_dropped, id(current.node) if current.value is UNKNOWN else 0)
            if key in seen and not isinstance(current.value, Unknown):
                continue
            seen.add(key)
            if repeats.has_seen_enough(current.value):
                continue
            yield current
            if steps < MOST_STEPS:
                self.evaluator.steps = 0
            inner = current.value
            if stops is not None and current.owners and isinstance(inner, Instance) and stops(inner.cls):
                continue
            if len(current.owners) < DEEPEST:
                pending += self._inside(current)
            steps += self.evaluator.steps

    def _inside(self, held: Holding) -> Iterator[Holding]:
        value = held.value
        if isinstance(value, Instance):
            yield from self._of_instance(held, value)
            return
        inner: list[Value] = []
        if isinstance(value, Collection):
            for key, source in self.evaluator.items(value):
                inner += (as_element(item, value, key) for item in self.evaluator.of(source))
        elif isinstance(value, Partial):
            inner.append(value.callee)
            for _, source in value.arguments.all():
                inner += self.evaluator.of(source)
        elif isinstance(value, Method):
            inner.append(value.receiver)
        elif isinstance(value, Member):
            if value.is_element and isinstance(value.owner, Result) and value.owner.name in apis.HOLDERS:
                inner += self._given(value.owner.name, value.owner.arguments)  # a, b = random_split(dataset, …)
        elif isinstance(value, Result) and _keeps(value):
            inner += self._given(value.name, value.arguments)
        elif (network := same_network(self.evaluator, value)) is not None:
            inner.append(network)
        elif isinstance(value, Result) and (_keeps_fields(value) or records.is_namespace(value)):
            inner += self._given(value.name, value.arguments) if _keeps_fields(value) else ()
            inner += [item for extra in value.added_attributes() for item in self.evaluator.of(extra.source)]
        for item in inner:
            if isinstance(item, IMPORTANT):
                yield held._replace(value=item, way=(*item.way, *held.way))

    def _given(self, name: str, arguments: Arguments) -> list[Value]:
        is_of_torch = name.startswith("torch.utils.data.")  # what draws from a generator where it is
        left_out = ("generator", "2" if name.endswith(".random_split") else "") if is_of_torch else ()
        given = [source for label, source in arguments.all() if label not in left_out]
        return [value for source in given for value in self.evaluator.of(source)]

    def _of_instance(self, held: Holding, value: Instance) -> Iterator[Holding]:
        drops = Drops(self.evaluator, value)
        for attribute, stores in list(self.lifetimes.kept(value.cls).items()):
            dropped = held.is_dropped or drops(attribute)
            for store in stores:
                for item in self._stored(store, value):
                    if is_being_made(item, held.way):
                        continue
                    yield Holding(
                        item,
                        (*item.way, Hop(store.node, store.cls.scope.module, f".{attribute}"), *held.way),
                        (*held.owners, value),
                        (*held.attributes, attribute),
                        dropped,
                        store.value,
                        store.cls.scope.module,
                    )
        for base, arguments in classes.library_init(self.evaluator, value):
            for item in self._given(base, arguments) if apis.is_dataset_name(base) else ():
                if isinstance(item, IMPORTANT):
                    yield held._replace(value=item, way=(*item.way, *held.way))
        for extra in value.extras:
            if extra.kind == "attribute":
                for item in self.evaluator.of(extra.source):
                    yield held._replace(
                        value=item,
                        way=(*item.way, *held.way),
                        owners=(*held.owners, value),
                        attributes=(*held.attributes, extra.label.removesuffix(INSIDE)),
                        is_dropped=held.is_dropped or drops(extra.attribute),
                        node=extra.source.node,
                        module=extra.source.frame.module,
                    )
        if classes.is_record(self.evaluator, value.cls):
            for attribute in classes.fields(self.evaluator, value.cls):
                for item in attributes.field(self.evaluator, value, attribute):
                    yield Holding(
                        item,
                        (*item.way, *held.way),
                        (*held.owners, value),
                        (*held.attributes, attribute),
                        held.is_dropped or drops(attribute),
                    )

    def _stored(self, store: Store, instance: Instance) -> Iterator[Value]:
        frame = self.lifetimes.frame(store, instance)
        if self.evaluator.never(store.node, frame):
            return
        if isinstance(store.value, ast.Constant):
            return
        for value in self.evaluator.unpacked(self.evaluator.given(store.value, frame), store.path):
            held = self._poured(value) if store.is_poured else (value,)
            yield from (inner for inner in held if isinstance(inner, IMPORTANT))

    def _poured(self, value: Value) -> Iterator[Value]:
        """What gets into a container that takes the elements of a value."""
        if isinstance(value, Collection):
            for _, source in self.evaluator.items(value):
                yield from self.evaluator.of(source)
        elif isinstance(value, Result):
            yield from iteration.iterated(self.evaluator, value)
        else:
            yield value


def _keeps_fields(value: Result) -> bool:
    """Whether an object that no class of the project describes holds what it was made with, as its fields."""
    return records.is_record(value) or value.name in records.RECORDS


def _keeps(value: Result) -> bool:
    name = value.name.removesuffix("()")
    if name in apis.NOT_HOLDERS or isinstance(value.callee, Member):
        return False
    return name in apis.HOLDERS or apis.is_dataset_name(name) or name in apis.LOADERS
