"""What hangs on a value, so that handing over the value hands over that too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.tables import apis, ecosystem
from flake8_torchmp.semantics import attributes, classes, containers, records, stores
from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import dotted
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    External,
    Function,
    Hop,
    Instance,
    Member,
    Method,
    Partial,
    Result,
    Source,
    Value,
    as_element,
    qualified,
)

from .dropped_state import Drops, is_reduced
from .repeats import Repeats
from .unfinished import is_being_made

MOST_HANGING = 400
MOST_STEPS = 500
_ITERATORS = frozenset(f"builtins.{name}" for name in "map filter zip enumerate iter reversed".split())


_TEXTS = frozenset("__name__ __qualname__ __module__ __doc__ __file__".split())


class Hanging(NamedTuple):
    """Something that crosses because it hangs on what was handed over."""

    value: Value
    way: tuple[Hop, ...]
    is_receiver: bool = False
    """Whether it comes along with one of its methods: nobody calls it itself."""


class Hangings:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def of(self, source: Source) -> Iterator[Hanging]:
        """All that goes over with an argument, each with the way it takes, the nearest first."""
        yield from self.on(list(self.evaluator.of(source)), source.frame)

    def on(self, values: list[Value], frame: Frame) -> Iterator[Hanging]:
        seen: set[tuple[Any, ...]] = set()
        repeats = Repeats()
        pending = [Hanging(value, value.way) for value in values]
        steps = 0
        while pending and len(seen) < MOST_HANGING:
            current = pending.pop(0)
            value, way, _ = current
            key = (value.key, *map(id, value.additions if isinstance(value, Collection) else ()))
            if key in seen:
                continue
            seen.add(key)
            if repeats.has_seen_enough(value):
                continue
            yield current
            if steps < MOST_STEPS:
                self.evaluator.steps = 0  # what one of them holds and is hard to follow must not hide the rest
            for inner, label in self._held(value):
                if label[:1] == "." and is_being_made(inner, way):
                    continue
                hop = Hop(node_of(value), module_of(value) or frame.module, label)
                pending.append(Hanging(inner, (*inner.way, hop, *way), isinstance(value, Method)))
            steps += self.evaluator.steps

    def _held(self, value: Value) -> Iterator[tuple[Value, str]]:
        """What a value holds, so that pickling it pickles that too."""
        for additions in value.additions if isinstance(value, Result) and not _copies(value) else ():
            inner_additions = additions.of_element(None)
            for extra in inner_additions.items() if inner_additions is not None else ():  # `groups[name].append(f)`
                for inner in self.evaluator.of(extra.source):
                    yield inner, "[…]"
        for extra in () if isinstance(value, Collection | Instance) or _copies(value) else value.extras:
            if extra.kind in ("attribute", "entry", "element"):
                for inner in self.evaluator.of(extra.source):
                    yield inner, f".{extra.label}" if extra.kind == "attribute" else "[…]"
        if isinstance(value, Collection):
            for index, (key, source) in enumerate(self.evaluator.items(value)):
                for inner in self.evaluator.of(source):
                    yield as_element(inner, value, key), f"[{key!r}]" if key is not None else f"[{index}]"
        elif isinstance(value, Partial):
            yield value.callee, "partial"
            yield from self._arguments_of(value.arguments, "partial")
        elif isinstance(value, Method):
            yield value.receiver, f".{value.function.scope.name}"
        elif isinstance(value, Member):
            if (
                (value.is_element or value.name == "value")
                and isinstance(value.owner, Result)
                and _is_shared(value.owner)
            ):
                return  # the number in a Value
            if value.name in _TEXTS:
                return
            if value.is_element and qualified(value.owner) == "collections.defaultdict()":
                for extra in value.owner.added_items():  # an entry knows nothing of the dict's factory
                    for inner in self.evaluator.of(extra.source):
                        yield inner, "[…]"
                return
            if records.is_record(value.owner) or records.is_made_class(value.owner):
                return  # a field of it
            if value.is_element and _is_iterator(value.owner):
                return  # what has entries is no iterator any more
            if isinstance(value.owner, Result) and value.owner.name.removesuffix("()") in apis.LOADERS:
                yield from self._of_loader(value.owner, value.name)
                return
            networks = ecosystem.wrapped_networks(self.evaluator, value.owner)
            if networks is None and not isinstance(value.owner, Instance) and not self._is_inside(value.owner):
                yield value.owner, f".{value.name}"
            for network in networks or ():
                for inner in attributes.attribute(self.evaluator, network, value.name):
                    yield inner, f".{value.name}"
        elif isinstance(value, Result) and ecosystem.is_view(value):
            if ecosystem.keeps_function(value):
                yield from self._arguments_of(value.arguments, value.name.rpartition(".")[2])
            assert isinstance(value.callee, Member)
            yield value.callee.owner, f".{value.callee.name}()"
        elif (same := ecosystem.same_network(self.evaluator, value)) is not None:
            yield same, f".{qualified(value).rpartition('.')[2]}"
        elif isinstance(value, Result):
            if self._keeps(value):
                yield from self._arguments_of(value.arguments, qualified(value.callee).rpartition(".")[2])
                if isinstance(value.callee, Member):
                    yield value.callee.owner, f".{value.callee.name}()"
        elif isinstance(value, Instance) and not value.cls.is_local:
            yield from self._of_instance(value)

    def _arguments_of(self, arguments: Arguments, label: str) -> Iterator[tuple[Value, str]]:
        for name, source in arguments.all():
            for inner in self.evaluator.of(source):
                yield inner, f"{label}[{name}]" if name.isdigit() else f"{label}({name}=)"

    def _of_loader(self, loader: Result, name: str) -> Iterator[tuple[Value, str]]:
        """`loader.dataset` is what the loader was made with, not the loader."""
        known = apis.LOADERS[loader.name.removesuffix("()")]
        position = next((parameter.position for parameter in known if parameter.keyword == name), None)
        source = loader.arguments.get(position, name)
        for inner in self.evaluator.of(source) if source is not None else ():
            yield inner, f".{name}"

    def _is_inside(self, owner: Value) -> bool:
        """Whether an attribute belongs to an object of the project, seen through a library's object around it."""
        if isinstance(owner, Member):
            return isinstance(owner.owner, Instance) or self._is_inside(owner.owner)
        if not isinstance(owner, Result) or not isinstance(owner.callee, External):
            return False
        holds = owner.callee.name in apis.HOLDERS or owner.callee.name.startswith("torch.utils.data.")
        first = owner.arguments.get(0) if not holds else None
        return first is not None and any(isinstance(inner, Instance) for inner in self.evaluator.of(first))

    def _keeps(self, value: Result) -> bool:
        name = value.name.removesuffix("()")
        if name in apis.NOT_HOLDERS or apis.READING_OUT.match(name):
            return False
        if name in apis.HOLDERS or name.startswith(apis.PIPELINES):
            return True
        return (records.keeps_arguments(value) or apis.is_dataset_name(name)) and not isinstance(value.callee, Member)

    def _of_instance(self, value: Instance) -> Iterator[tuple[Value, str]]:
        evaluator = self.evaluator
        reduced = classes.find_method(evaluator, value.cls, "__reduce__") or classes.find_method(
            evaluator, value.cls, "__reduce_ex__"
        )
        if reduced is not None:
            for inner in evaluator.returned(evaluator.frame(reduced.scope, None, reduced.closure, value)):
                yield inner, ".__reduce__()"
            return
        if is_reduced(evaluator, value.cls):
            return
        for inner in containers.elements(evaluator, value):  # pickled beside the state
            yield inner, "[…]"
        state = classes.find_method(evaluator, value.cls, "__getstate__")
        if state is not None and not _copies_attributes(state):
            for inner in evaluator.returned(evaluator.frame(state.scope, None, state.closure, value)):
                yield inner, ".__getstate__()"
            return
        drops = Drops(evaluator, value)
        for extra in value.added_attributes():
            if not drops(extra.attribute):
                for inner in evaluator.of(extra.source):
                    yield inner, f".{extra.label}"
        dropped = frozenset[str]().union(*map(stores.cleared, classes.project_classes(evaluator, value.cls)))
        dropped |= self._of_unstarted(value)
        for name in attributes.held_attributes(evaluator, value):
            attribute = name.partition(".")[0]
            if attribute in dropped or drops(attribute):
                continue
            for inner in self._attribute(value, name):
                yield inner, f".{name}"
        for inner in attributes.poured(evaluator, value):
            yield inner, ".…"
        for base, arguments in classes.library_init(evaluator, value):
            if not apis.READING_OUT.match(base):
                yield from self._arguments_of(arguments, base.rpartition(".")[2])

    def _of_unstarted(self, value: Instance) -> frozenset[str]:
        """What a process is given only where it gets another `start` as well, so that it starts none."""
        by_class = [stores.by_attribute(cls) for cls in classes.project_classes(self.evaluator, value.cls)]
        replaced = [_tests_at(change.node) for stored in by_class for change, _ in stored.get("start", ())]
        if not any(replaced) or not any(
            isinstance(base, Member | External) and mp_name(base) in apis.PROCESS_CLASSES
            for base in self.evaluator.mro(value.cls)
        ):
            return frozenset()
        places: dict[str, list[frozenset[tuple[int, bool]]]] = {}
        for stored in by_class:
            for name, changes in stored.items():
                places.setdefault(name, []).extend(_tests_at(change.node) for change, _ in changes)
        return frozenset(
            name
            for name, of_name in places.items()
            if all(any(tests and tests <= place for tests in replaced) for place in of_name)
        )

    def _attribute(self, value: Instance, name: str) -> Iterator[Value]:
        stored = list(attributes.stored(self.evaluator, value, name, WORKER_METHODS))
        if stored:
            yield from stored
        elif classes.is_record(self.evaluator, value.cls):
            yield from attributes.field(self.evaluator, value, name)


WORKER_METHODS = frozenset(("__getitem__", "__getitems__", "__iter__", "__next__", "__setstate__", "run"))
"""Methods that run behind the boundary: what they store was never handed over."""


def _copies_attributes(state: Function) -> bool:
    for node in ast.walk(state.node):
        if isinstance(node, ast.Attribute) and node.attr in ("__dict__", "__getstate__"):
            return True
        if isinstance(node, ast.Call) and dotted(node.func) in ("vars", "super"):
            return True
    return False


def _copies(value: Value) -> bool:
    """Whether what is put into a library's object is read at once, and not kept."""
    return isinstance(value, Result) and value.name.startswith(apis.COPYING)


def _is_iterator(value: Value) -> bool:
    return isinstance(value, Result) and value.name in _ITERATORS


def _tests_at(node: ast.AST) -> frozenset[tuple[int, bool]]:
    """What is tested on the way to a node, and how it came out."""
    return frozenset((id(condition.test), condition.holds) for condition in conditions(node))


def node_of(value: Value) -> ast.AST:
    """Where a value is made or defined."""
    if isinstance(value, Result | Partial):
        return value.arguments.call
    if isinstance(value, Instance):
        return value.arguments.call if value.arguments is not None else value.cls.node
    if isinstance(value, Method):
        return value.function.node  # type: ignore[no-any-return]
    if isinstance(value, Member):
        return node_of(value.owner)
    node: ast.AST = getattr(value, "node", ast.Pass(lineno=1, col_offset=0))
    return node


def module_of(value: Value) -> Module | None:
    if isinstance(value, Result | Partial):
        return value.arguments.frame.module
    if isinstance(value, Instance):
        return value.arguments.frame.module if value.arguments is not None else value.cls.scope.module
    if isinstance(value, Method):
        return value.function.scope.module
    if isinstance(value, Member):
        return module_of(value.owner)
    if isinstance(value, Function | Class):
        return value.scope.module
    return getattr(value, "module", None)


def _is_shared(value: Result) -> bool:
    return mp_name(value.callee) in ("Value", "Array", "RawValue", "RawArray")
