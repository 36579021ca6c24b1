"""Containers and objects that a process is given and fills: its own copy, while the parent reads the one it kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.crossing.crossings import Crossing, Crossings
from flake8_torchmp.boundary.crossing.plain_values import TENSORS, is_made_plain, made_by, may_be_shared
from flake8_torchmp.boundary.module_state.state import State
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import attributes, classes, effects, stores
from flake8_torchmp.semantics.calls import Frame, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import contradict, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, ancestors, body_nodes, dotted, last_name, position, up
from flake8_torchmp.semantics.scopes import Change, Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Function,
    Instance,
    Method,
    Partial,
    Source,
    Unknown,
    Value,
)

from .object_state import TAKING, ObjectState, changed_inside

VIEWS = frozenset("numpy detach view flatten ravel reshape".split())
FILLING = frozenset("append extend add update setdefault insert appendleft".split())


class Making(NamedTuple):
    """A call that makes a process, in one frame."""

    call: ast.AST
    module: Module
    frame: Frame
    methods: frozenset[str]


class FilledArguments:
    def __init__(
        self,
        outline: Evaluator,
        evaluator: Evaluator,
        crossings: Crossings,
        workers: Workers,
        state: State,
        object_state: ObjectState,
    ) -> None:
        self.outline = outline
        self.evaluator = evaluator
        self.crossings = crossings
        self.workers = workers
        self.state = state
        self.object_state = object_state

    def of(self, module: Module) -> Iterator[tuple[Crossing | Making, str, ast.AST]]:
        """Processes whose target changes a plain container that the parent reads afterwards."""
        found = [c for c in self.crossings.of(module) if c.api.kind in ("process", "spawn")]
        for crossing in found:
            if crossing.parameter.keyword not in ("args", "kwargs"):
                continue
            targets = [
                c
                for c in found
                if c.call is crossing.call and c.parameter.keyword in ("target", "fn") and c.frame is crossing.frame
            ]
            ranks = int(crossing.api.kind == "spawn")
            functions = [f for c in targets for h in c.hanging for f in _function(h.value)]
            for function, shift in (*functions, *(f for c in targets for f in self._called_objects(c))):
                for name, source in self._given(crossing, function, shift + ranks):
                    yield from self._filled_argument(crossing, function, name, source)
                    yield from self._filled_entry(crossing, function, name, source)
        for crossing in found:
            for hanging in crossing.hanging if crossing.parameter.keyword in ("target", "fn") else ():
                if isinstance(hanging.value, Partial):
                    for function, shift in _function(hanging.value.callee):
                        bound = hanging.value.arguments
                        names = [p.name for p in parameters(function.node).values() if p.index is not None][shift:]
                        for name, source in (*zip(names, bound.positional, strict=False), *bound.keywords.items()):
                            yield from self._filled_argument(crossing, function, name, source)
        for crossing in found:
            for receiver, function in self._methods(crossing) if crossing.parameter.keyword in ("target", "fn") else ():
                for attribute, read in self._filled_attributes(receiver, function):
                    yield crossing, f"its object's {attribute}", read
        for cls in self.crossings.process_classes(module):
            yield from self._filled_by_class(cls)

    def _methods(self, crossing: Crossing) -> Iterator[tuple[Instance, Function]]:
        """The methods that a process runs, each with its object."""
        for hanging in crossing.hanging:
            if isinstance(hanging.value, Method) and isinstance(hanging.value.receiver, Instance):
                yield hanging.value.receiver, hanging.value.function
        for value in crossing.values:
            method = classes.find_method(self.outline, value.cls, "__call__") if isinstance(value, Instance) else None
            if method is not None and isinstance(value, Instance):
                yield value, method

    def _called_objects(self, crossing: Crossing) -> Iterator[tuple[Function, int]]:
        """`Process(target=Worker(rank))` runs the object's `__call__`."""
        for value in crossing.values:
            method = classes.find_method(self.outline, value.cls, "__call__") if isinstance(value, Instance) else None
            if method is not None:
                yield method, 1

    def _filled_argument(
        self, crossing: Crossing, function: Function, name: str, source: Source
    ) -> Iterator[tuple[Making, str, ast.AST]]:
        given = _viewed(source.node)
        making = _made_where(crossing, source.frame)
        if making is not None and self._is_copied(given, making) and self._changes(function, name, source):
            read = self._read_after(given, making, _keys_set(function, name))
            if read is not None:
                yield making, ast.unparse(given), read
        elif making is not None and isinstance(given, ast.Name):
            for part in self.evaluator.of(source):
                changed = self._changed_on_object(part, function, name) if isinstance(part, Instance) else set()
                for read in self._reads_after(given, making) if changed else ():
                    if isinstance(part, Instance) and self.object_state.tells_of(part, read, changed):
                        yield making, ast.unparse(given), read
                        break

    def _filled_entry(
        self, crossing: Crossing, function: Function, name: str, source: Source
    ) -> Iterator[tuple[Making, str, ast.AST]]:
        """`outputs = {"scores": []}` that is given as `kwargs`, where the parent reads `outputs["scores"]`."""
        holder = crossing.source.node
        if not isinstance(source.node, ast.List | ast.Dict | ast.Set) or not isinstance(holder, ast.Name):
            return
        making = _made_where(crossing, crossing.source.frame)
        for read in self._reads_after(holder, making) if making is not None else ():
            if _key_read(read) == name and making is not None and self._changes(function, name, source):
                yield making, f"{holder.id}[{name!r}]", read
                return

    def _changed_on_object(self, part: Instance, function: Function, name: str) -> set[str]:
        """The attributes of a plain object of the project that a function which gets it as `name` changes or fills."""
        bases = classes.library_bases(self.outline, part.cls)
        if not attributes.EMPTY_BASES.issuperset(base.removeprefix("builtins.") for base in bases):
            return set()
        changed: set[str] = set()
        for change in function.scope.module.changes.get(name, ()):
            is_set = change.kind == "attribute" and isinstance(change.target, ast.Name)
            is_filled = isinstance(change.target, ast.Attribute) and change.name not in TAKING
            if (is_set or is_filled) and self.state.mutations.is_parameter(name, change, function.scope):
                changed.add(change.name if is_set else last_name(change.target))
        for node in body_nodes(function.node):
            method = node.func if isinstance(node, ast.Call) and effects.is_statement(node) else None
            if isinstance(method, ast.Attribute) and dotted(method.value) == name:
                changed |= self.object_state.changed_on_part(part, method.attr)
        return {attribute for attribute in changed if self.object_state.is_plain(part, attribute)}

    def _filled_by_class(self, cls: Class) -> Iterator[tuple[Making, str, ast.AST]]:
        """What a Process subclass is given, keeps, and fills in its `run`."""
        run, init = (classes.find_method(self.outline, cls, name) for name in ("run", "__init__"))
        if run is None or init is None:
            return
        yield from self._set_by_class(cls, run)
        filled = {
            attribute
            for change, attribute in self.object_state.own_changes(run.scope)
            if change.kind == "item" or (change.kind == "method" and change.name in FILLING)
        }
        known = parameters(init.node)
        for attribute in sorted(filled):
            for change, method in stores.by_attribute(cls).get(attribute, ()):
                if method is not init.scope or not isinstance(change.value, ast.Name) or change.value.id not in known:
                    continue
                parameter = known[change.value.id]
                for arguments, _ in self.evaluator.callers.of(init.scope):
                    index = parameter.index - 1 if parameter.index is not None else None
                    source = arguments.get(index, parameter.name)
                    if source is None:
                        continue
                    making = Making(arguments.call, source.frame.module, source.frame, frozenset(("spawn",)))
                    if self._is_copied(source.node, making):
                        read = self._read_after(source.node, making, None)
                        if read is not None:
                            yield making, ast.unparse(source.node), read

    def _set_by_class(self, cls: Class, run: Function) -> Iterator[tuple[Making, str, ast.AST]]:
        """What `run` alone sets or fills on its own object, and the parent reads on the one that it has made."""
        made = [arguments for _, arguments in self.evaluator.callers.constructions(cls.scope)]
        if not made or self.evaluator.callers.of(run.scope):
            return  # nobody makes one, or the parent runs it as well
        begun = {
            name for name, changes in stores.by_attribute(cls).items() if any(m.name == "__init__" for _, m in changes)
        }
        told: set[str] = set()
        for change, attribute in self.object_state.own_changes(run.scope):
            is_set = change.kind == "attribute" and isinstance(change.target, ast.Name)
            is_filled = change.kind == "item" or (change.kind == "method" and change.name in FILLING)
            if attribute not in begun - told or not (
                is_set or (is_filled and self.object_state.is_plain(Instance(cls, None), attribute))
            ):
                continue
            if self._is_filled_by_parent(cls, attribute):
                continue
            read = next(self.object_state.reads_in_parent(cls, attribute), None)
            if read is not None:
                told.add(attribute)
                call, frame = made[0].call, made[0].frame
                yield Making(call, frame.module, frame, frozenset(("spawn",))), f"its object's {attribute}", read[0]

    def _filled_attributes(self, receiver: Instance, function: Function) -> Iterator[tuple[str, ast.AST]]:
        """The containers of its own object that a process target alone fills, and that the parent reads."""
        for change, attribute in self.object_state.own_changes(function.scope):
            if not (change.kind == "item" or (change.kind == "method" and change.name in FILLING)):
                continue
            inner = changed_inside(change, f"{receiver_name(function.scope)}.{attribute}")
            if inner:
                yield from self._filled_part(receiver, attribute, inner)
            if not self.object_state.is_plain(receiver, attribute) or self._is_filled_by_parent(
                receiver.cls, attribute
            ):
                continue
            read = next(self.object_state.reads_in_parent(receiver.cls, attribute), None)
            if read is not None:
                yield attribute, read[0]

    def _filled_part(self, receiver: Instance, held: str, inner: str) -> Iterator[tuple[str, ast.AST]]:
        """`self.report.scores[name] = x` in a target, where the parent returns or asks its own report."""
        for part in attributes.stored(self.outline, receiver, held):
            if isinstance(part, Instance) and self.object_state.is_plain(part, inner):
                for read, _ in self.object_state.reads_in_parent(receiver.cls, held):
                    if isinstance(up(read), ast.Return) or self.object_state.tells_of(part, read, {inner}):
                        yield f"{held}.{inner}", read
                        return

    def _is_filled_by_parent(self, cls: Class, attribute: str) -> bool:
        for item in classes.project_classes(self.outline, cls):
            for bindings in item.scope.bindings.values():
                for binding in bindings:
                    method = item.scope.module.scopes.get(binding.node) if binding.kind == "def" else None
                    if method is None or method.name == "__init__" or self.workers.runs(method):
                        continue
                    if any(name == attribute for _, name in self.object_state.own_changes(method)):
                        return True
        return False

    def _given(self, crossing: Crossing, function: Function, shift: int) -> Iterator[tuple[str, Source]]:
        names = [p.name for p in parameters(function.node).values() if p.index is not None][shift:]
        for value in self.evaluator.of(crossing.source):
            if isinstance(value, Collection):
                for index, (key, source) in enumerate(self.evaluator.items(value)):
                    if isinstance(key, str):
                        yield key, source
                    elif index < len(names):
                        yield names[index], source

    def _is_copied(self, given: ast.expr, crossing: Crossing | Making) -> bool:
        if not isinstance(given, ast.Name | ast.Attribute):
            return False
        inner = self.evaluator.frame_in(crossing.module.scope_of(given), crossing.frame)
        values = self.evaluator.values(given, inner)
        kept = [
            value
            for value in values
            if (isinstance(value, Collection) and value.kind != "tuple")
            or is_made_plain(value)
            or (made_by(value) in TENSORS and "fork" in crossing.methods)
        ]
        is_shared = any(may_be_shared(value) for value in values) or self._is_shared_later(given, crossing.module)
        return bool(kept) and not is_shared

    @staticmethod
    def _is_shared_later(given: ast.expr, module: Module) -> bool:
        text = ast.unparse(given)
        return any(
            isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == text
            for call in module.calls.get("share_memory_", ())
        )

    def _changes(self, function: Function, name: str, given: Source, depth: int = 2) -> bool:
        """Whether a function changes a parameter, or a function does to which it hands that on."""
        for call in body_nodes(function.node) if depth else ():
            if isinstance(call, ast.Call) and any(isinstance(a, ast.Name) and a.id == name for a in call.args):
                place = next(n for n, a in enumerate(call.args) if isinstance(a, ast.Name) and a.id == name)
                for value in self.outline.values(call.func, self.outline.frame_at(call, function.scope.module)):
                    for inner, shift in _function(value):
                        names = [p.name for p in parameters(inner.node).values() if p.index is not None][shift:]
                        if place < len(names) and self._changes(inner, names[place], given, depth - 1):
                            return True
        changes = [
            c
            for c in function.scope.module.changes.get(name, ())
            if c.name not in TAKING and not self._is_of_shared_entry(c, given)
        ]
        if any(self.state.mutations.is_parameter(name, change, function.scope) for change in changes):
            return True
        return any(  # `out += x` on a list, array or tensor works in place
            change.kind == "augmented" and function.scope.module.scope_of(change.node) is function.scope
            for change in changes
            if isinstance(change.target, ast.Subscript | ast.Attribute) or _is_still_given(name, function.scope)
        )

    def _is_of_shared_entry(self, change: Change, given: Source) -> bool:
        """Whether a change goes to an entry that is shared: `boards["loss"][rank] = x` of a shared tensor."""
        entry = change.target
        while isinstance(entry, ast.Subscript | ast.Attribute) and not isinstance(entry.value, ast.Name):
            entry = entry.value
        if not isinstance(entry, ast.Subscript) or (entry is change.target and change.kind == "augmented"):
            return False
        key = entry.slice.value if isinstance(entry.slice, ast.Constant) else None  # a variable may be any key
        return any(self._has_shared_entry(value, key) for value in self.evaluator.of(given))

    def _has_shared_entry(self, value: Value, key: object = None, depth: int = 3) -> bool:
        """Whether what a container has under a key may be shared, or has such entries itself."""
        if isinstance(value, Collection) and isinstance(value.node, COMPREHENSIONS):
            key = None
        return any(
            may_be_shared(inner)
            or isinstance(inner, Unknown)
            or (depth > 0 and self._has_shared_entry(inner, depth=depth - 1))
            for place, (label, source) in enumerate(self.evaluator.items(value))
            if key is None or key in (label, place)
            for inner in self.evaluator.of(source)
        )

    def _read_after(self, given: ast.expr, crossing: Crossing | Making, keys: set[object] | None) -> ast.AST | None:
        for node in self._reads_after(given, crossing):
            if keys is None or _key_read(node) in {None, *keys}:
                return node
        return None

    def _reads_after(self, given: ast.expr, crossing: Crossing | Making) -> Iterator[ast.expr]:
        module = crossing.module
        calls = {id(crossing.call), *(id(c.call) for c in self.crossings.of(module))}
        name = given.id if isinstance(given, ast.Name) else given.attr if isinstance(given, ast.Attribute) else ""
        around = module.scope_of(crossing.call).enclosing_function()
        helper = last_name(crossing.call.func) if isinstance(crossing.call, ast.Call) else ""
        calls |= {id(call) for call in module.calls.get(helper, ())}
        for node in module.loads(name):
            if any(id(item) in calls for item in ancestors(node)) or self.state.is_changed_by_read(node, module):
                continue
            if contradict(facts_at(node), facts_at(crossing.call)):
                continue
            function = module.scope_of(node).enclosing_function()
            if isinstance(given, ast.Name):
                if function is around and position(node) > position(crossing.call):
                    yield node
            elif function is not None and function.name != "__init__" and not self.workers.runs(function):
                if function is around and position(node) < position(crossing.call):
                    continue
                yield node


def _viewed(given: ast.expr) -> ast.expr:
    """`self.sums` of `self.sums.numpy()`, which shows the same numbers."""
    is_view = isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in VIEWS
    return given.func.value if is_view else given  # type: ignore[attr-defined]


def _made_where(crossing: Crossing, frame: Frame) -> Making | None:
    """The call that makes a process, or that of a helper which does, in the function that gives an argument."""
    call: ast.AST = crossing.call
    around, wanted = crossing.frame, frame.scope.enclosing_function()
    while around.module.scope_of(call).enclosing_function() is not wanted:
        if around.arguments is None:
            return None
        call, around = around.arguments.call, around.arguments.frame
    return Making(call, frame.module, frame, crossing.methods)


def _is_still_given(name: str, scope: Scope) -> bool:
    """Whether a parameter is nothing but what the function was given, changed in place at most."""
    return all(binding.kind in ("parameter", "augmented") for binding in scope.bindings.get(name, ()))


def _keys_set(function: Function, name: str) -> set[object] | None:
    """The keys under which a function puts something into a parameter, if all are spelled out."""
    module = function.scope.module
    keys = [
        _key_set(change)
        for change in module.changes.get(name, ())
        if module.scope_of(change.node).enclosing_function() is function.scope
        and change.kind != "delete"
        and change.name not in TAKING
    ]
    constants = [key.value for key in keys if isinstance(key, ast.Constant)]
    return set(constants) if keys and len(constants) == len(keys) else None


def _key_set(change: Change) -> ast.expr | None:
    """`"losses"` of `x["losses"] = 1`, `x["losses"].append(1)`, `x.setdefault("losses")`."""
    if isinstance(change.target, ast.Name) and isinstance(change.node, ast.Call):
        return change.node.args[0] if change.name == "setdefault" and change.node.args else None
    entry: Any = change.node if change.kind == "item" else change.target
    while isinstance(entry, ast.Subscript | ast.Attribute) and not isinstance(entry.value, ast.Name):
        entry = entry.value
    return entry.slice if isinstance(entry, ast.Subscript) else None


def _key_read(node: ast.AST) -> object:
    """The key of `given["key"]` or `given.get("key")`, or None."""
    holder: Any = up(node)
    key = holder.slice if isinstance(holder, ast.Subscript) and holder.value is node else None
    if isinstance(holder, ast.Attribute) and holder.attr == "get":
        call = up(holder)
        key = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return key.value if isinstance(key, ast.Constant) else None


def _function(value: Value) -> Iterator[tuple[Function, int]]:
    if isinstance(value, Function):
        yield value, 0
    elif isinstance(value, Method):
        yield value.function, 1
