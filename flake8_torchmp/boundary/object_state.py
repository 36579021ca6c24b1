"""What is changed in one process and read in another: attributes of datasets, and containers given to processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.semantics import classes, effects
from flake8_torchmp.semantics.calls import Frame, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import Condition, contradict, facts_at
from flake8_torchmp.semantics.module import (
    Change,
    Module,
    Scope,
    ancestors,
    body_nodes,
    dotted,
    last_name,
    position,
    up,
)
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    Function,
    Instance,
    Member,
    Method,
    Partial,
    Result,
    Source,
    Unknown,
    Value,
    qualified,
)

from . import apis
from .crossings import Crossing, Crossings
from .datasets import Datasets, stays_in_its_function
from .methods import mp_name
from .state import State
from .workers import WorkerFunction, Workers

NOT_READING = frozenset("__init__ __getstate__ __setstate__ __repr__ __str__ __del__ __post_init__".split())
"""Methods whose reads tell nothing of what a worker has changed."""

PLAIN = frozenset(
    "builtins.list builtins.dict builtins.set builtins.bytearray collections.defaultdict collections.OrderedDict "
    "collections.Counter collections.deque array.array numpy.zeros numpy.ones numpy.empty numpy.full numpy.array "
    "numpy.zeros_like numpy.ones_like numpy.empty_like numpy.full_like numpy.arange pandas.DataFrame".split()
)
"""What makes an object that each process has a copy of."""
NUMBERS = frozenset(
    f"builtins.{name}" for name in "abs bool divmod float int len max min pow round sorted str sum".split()
)
"""What makes a number, a text or a list of others: nothing that processes share."""
TENSORS = frozenset(f"torch.{name}" for name in "zeros ones empty full tensor zeros_like ones_like rand randn".split())
"""The same under fork alone: a spawned process gets a tensor's memory shared."""

TAKING = frozenset("put put_nowait pop popitem popleft remove discard clear".split())
"""What fills no container: it hands on what is in a queue, or takes out what was given."""
FILLING = frozenset("append extend add update setdefault insert appendleft".split())


class LostChange(NamedTuple):
    node: ast.AST
    attribute: str
    read: ast.AST
    read_in: Module


class Making(NamedTuple):
    """A call that makes a process, in one frame."""

    call: ast.AST
    module: Module
    frame: Frame
    methods: frozenset[str]


class ObjectState:
    def __init__(
        self,
        outline: Evaluator,
        evaluator: Evaluator,
        crossings: Crossings,
        workers: Workers,
        datasets: Datasets,
        state: State,
    ) -> None:
        self.outline = outline
        self.evaluator = evaluator
        self.crossings = crossings
        self.workers = workers
        self.datasets = datasets
        self.state = state

    # a sample method changes its dataset

    def lost_changes(self, worker: WorkerFunction) -> Iterator[LostChange]:
        """Changes that worker code makes to its dataset, and that the parent reads its own copy for."""
        receiver = worker.receiver
        if not isinstance(receiver, Instance) or not self.datasets.is_dataset(receiver.cls):
            return
        if worker.scope.name in ("__init__", "__post_init__"):
            return  # of a dataset that the worker makes for itself
        for change, attribute in self.own_changes(worker.scope):
            if self.is_plain(receiver, attribute) and not self._is_done_once(change, worker.scope):
                is_bound = change.kind == "attribute" and isinstance(change.target, ast.Name)
                for read, module in self._reads_in_parent(receiver.cls, attribute):
                    if is_bound or not _asks_for_none(read):
                        yield LostChange(change.node, attribute, read, module)
                        break
        yield from self._lost_on_parts(worker)
        yield from self._lost_in_parts(worker, receiver)

    def _lost_in_parts(self, worker: WorkerFunction, receiver: Instance) -> Iterator[LostChange]:
        """`self.stats.read += 1` in a sample method, where the parent reads the `read` of its own stats."""
        for change, held in self.own_changes(worker.scope):
            inner = _changed_inside(change, f"{receiver_name(worker.scope)}.{held}")
            if not inner or (change.kind == "attribute" and change.value is not None and facts_at(change.node)):
                continue
            for part in classes.stored(self.outline, receiver, held, frozenset(("__getitem__", "__iter__"))):
                if not isinstance(part, Instance) or not self.is_plain(part, inner):
                    continue
                for read, module in self._reads_in_parent(receiver.cls, held):
                    if self._tells_of(part, read, {inner}):
                        yield LostChange(change.node, f"{held}.{inner}", read, module)
                        break

    def _lost_on_parts(self, worker: WorkerFunction) -> Iterator[LostChange]:
        """`self.meter.update(x)` in a sample method, where the parent asks its own copy of the meter."""
        receiver, scope = worker.receiver, worker.scope
        if not isinstance(receiver, Instance) or not self.datasets.is_dataset(receiver.cls):
            return
        name = receiver_name(scope)
        for node in body_nodes(scope.node) if name else ():  # type: ignore[arg-type]
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            held = node.func.value
            if not isinstance(held, ast.Attribute) or dotted(held.value) != name or facts_at(node):
                continue
            for part in classes.stored(self.outline, receiver, held.attr, frozenset(("__getitem__", "__iter__"))):
                changed = self._changed_on_part(part, node.func.attr)
                for read, module in self._reads_in_parent(receiver.cls, held.attr) if changed else ():
                    if isinstance(part, Instance) and self._tells_of(part, read, changed):
                        yield LostChange(node, held.attr, read, module)
                        break

    def _changed_on_part(self, part: Value, name: str) -> set[str]:
        """What a method of an object that is copied to each process changes on it, run without a test."""
        method = classes.find_method(self.outline, part.cls, name) if isinstance(part, Instance) else None
        if method is None or not isinstance(part, Instance):
            return set()
        own = [(change, attribute) for change, attribute in self.own_changes(method.scope)]
        return {a for change, a in own if not facts_at(change.node) and self.is_plain(part, a)}

    def _tells_of(self, part: Instance, read: ast.AST, changed: set[str]) -> bool:
        """Whether `dataset.meter.mean()` or `dataset.meter.total` shows what was changed."""
        holder = up(read)
        if not isinstance(holder, ast.Attribute):
            return False
        if holder.attr in changed:
            return isinstance(holder.ctx, ast.Load) and not isinstance(up(up(holder) or holder), ast.Expr)
        method = classes.find_method(self.outline, part.cls, holder.attr)
        if method is None or isinstance(up(up(holder) or holder), ast.Expr):
            return False
        name = receiver_name(method.scope)
        return any(
            isinstance(n, ast.Attribute) and n.attr in changed and dotted(n.value) == name
            for n in body_nodes(method.node)
        )

    def _is_done_once(self, change: Change, scope: Scope) -> bool:
        """Whether each process does it for itself, when it is first needed: `if self.x is None: self.x = …`."""
        own = {attribute for other, attribute in self.own_changes(scope) if other.kind == "attribute"}
        return any(_unset(fact, receiver_name(scope)) in own for fact in facts_at(change.node))

    def cached(self, worker: WorkerFunction) -> Iterator[tuple[ast.AST, str]]:
        """Entries that worker code makes in a container of its dataset, for worker code alone."""
        receiver = worker.receiver
        if not isinstance(receiver, Instance) or not self.datasets.is_dataset(receiver.cls):
            return
        for change, attribute in self.own_changes(worker.scope):
            is_entry = change.kind == "item" or (change.kind == "method" and change.name == "setdefault")
            if not is_entry or not self._matters(receiver.cls, attribute):
                continue
            if next(self._reads_in_parent(receiver.cls, attribute), None) is None:
                yield change.node, attribute

    def _matters(self, cls: Class, attribute: str) -> bool:
        """Whether worker code reads an attribute, which holds something that is copied."""
        return self.is_plain(Instance(cls, None), attribute) and self.is_read_by_worker(cls, attribute)

    def is_read_by_worker(self, cls: Class, attribute: str) -> bool:
        for item in classes.project_classes(self.outline, cls):
            for node in item.scope.module.loads(attribute):
                function = item.scope.module.scope_of(node).enclosing_function()
                if function is not None and function.enclosing_class() is item.scope and self.workers.runs(function):
                    return True
        return False

    @staticmethod
    def own_changes(scope: Scope) -> Iterator[tuple[Change, str]]:
        """What a method changes on its object, with the attribute."""
        receiver = receiver_name(scope)
        for change in list(scope.module.changes.get(receiver, ())) if receiver else ():
            if scope.module.scope_of(change.node).enclosing_function() is not scope:
                continue
            attribute = change.name if change.kind == "attribute" and isinstance(change.target, ast.Name) else ""
            target: Any = change.target
            while isinstance(target, ast.Attribute | ast.Subscript):
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    attribute = target.attr
                target = target.value
            if attribute:
                yield change, attribute

    def is_plain(self, receiver: Instance, attribute: str) -> bool:
        """Whether an attribute holds what is copied to each process: numbers, texts, containers, arrays."""
        values = list(classes.stored(self.outline, receiver, attribute, frozenset(("__getitem__", "__iter__"))))
        for cls in classes.project_classes(self.outline, receiver.cls):
            if attribute in classes.fields(self.outline, cls):
                values += list(classes.field(self.outline, receiver, attribute))
                continue
            for binding in cls.scope.bindings.get(attribute, ()):
                if binding.value is not None:
                    values += self.outline.values(binding.value, self.outline.frame_of(cls.scope))
        known = [
            value
            for value in values
            if (isinstance(value, Constant) and value.value is not None)
            or isinstance(value, Collection)
            or _is_made_plain(value)
        ]
        return bool(known) and not any(_may_be_shared(value) for value in values)

    def _reads_in_parent(self, cls: Class, attribute: str) -> Iterator[tuple[ast.AST, Module]]:
        owners = [item.scope for item in classes.project_classes(self.outline, cls)]
        for path in self.outline.codebase.mentioning(attribute, cls.scope.module.path):
            module = self.outline.codebase.module(path)
            for node in module.loads(attribute) if module is not None else ():
                assert module is not None
                if not isinstance(node, ast.Attribute) or self.state.is_changed_by_read(node, module):
                    continue
                function = module.scope_of(node).enclosing_function()
                if function is not None and (function.name in NOT_READING or self.workers.runs(function)):
                    continue
                if self._is_of(node.value, owners, module) and not stays_in_its_function(node.value, module):
                    yield node, module

    def _is_of(self, base: ast.expr, owners: list[Scope], module: Module) -> bool:
        """Whether an expression is an object of a class, whose bases follow it, or the dataset of a loader of it."""
        scope = module.scope_of(base)
        function = scope.enclosing_function()
        if isinstance(base, ast.Name) and function is not None and base.id == receiver_name(function):
            return scope.enclosing_class() in owners
        return any(
            isinstance(value, Instance)
            and (
                value.cls.scope in owners
                or any(item.scope is owners[0] for item in classes.project_classes(self.outline, value.cls))
            )
            for value in self.objects(base, module)
        )

    def objects(self, node: ast.expr, module: Module) -> list[Value]:
        """What an expression can be; for `loader.dataset`, what the loader was given."""
        found: list[Value] = []
        for frame in self.evaluator.contexts(module.scope_of(node)):
            for value in self.evaluator.values(node, self.evaluator.frame_in(module.scope_of(node), frame)):
                if isinstance(value, Member) and value.name == "dataset" and isinstance(value.owner, Result):
                    source = value.owner.arguments.get(0, "dataset")
                    found += self.evaluator.of(source) if source is not None else ()
                else:
                    found.append(value)
        return found

    # a process fills what it was given

    def filled(self, module: Module) -> Iterator[tuple[Crossing | Making, str, ast.AST]]:
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
            for function, shift in (f for c in targets for h in c.hanging for f in _function(h.value)):
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
            for hanging in crossing.hanging if crossing.parameter.keyword in ("target", "fn") else ():
                if isinstance(hanging.value, Method) and isinstance(hanging.value.receiver, Instance):
                    for attribute, read in self._filled_attributes(hanging.value.receiver, hanging.value.function):
                        yield crossing, f"its object's {attribute}", read

        for cls in self.crossings.process_classes(module):
            yield from self._filled_by_class(cls)

    def _filled_argument(
        self, crossing: Crossing, function: Function, name: str, source: Source
    ) -> Iterator[tuple[Making, str, ast.AST]]:
        given = source.node
        making = _made_where(crossing, source.frame)
        if making is not None and self._is_copied(given, making) and self._changes(function, name):
            read = self._read_after(given, making, _keys_set(function, name))
            if read is not None:
                yield making, ast.unparse(given), read
        elif making is not None and isinstance(given, ast.Name):
            for part in self.evaluator.of(source):
                changed = self._changed_on_object(part, function, name) if isinstance(part, Instance) else set()
                for read in self._reads_after(given, making) if changed else ():
                    if isinstance(part, Instance) and self._tells_of(part, read, changed):
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
            if _key_read(read) == name and making is not None and self._changes(function, name):
                yield making, f"{holder.id}[{name!r}]", read
                return

    def _changed_on_object(self, part: Instance, function: Function, name: str) -> set[str]:
        """The attributes of a plain object of the project that a function which gets it as `name` changes or fills."""
        bases = classes.library_bases(self.outline, part.cls)
        if not classes.EMPTY_BASES.issuperset(base.removeprefix("builtins.") for base in bases):
            return set()
        changed: set[str] = set()
        for change in function.scope.module.changes.get(name, ()):
            is_set = change.kind == "attribute" and isinstance(change.target, ast.Name)
            is_filled = isinstance(change.target, ast.Attribute) and change.name not in TAKING
            if (is_set or is_filled) and self.state._is_parameter(name, change, function.scope):
                changed.add(change.name if is_set else last_name(change.target))
        for node in body_nodes(function.node):
            method = node.func if isinstance(node, ast.Call) and effects.is_statement(node) else None
            if isinstance(method, ast.Attribute) and dotted(method.value) == name:
                changed |= self._changed_on_part(part, method.attr)
        return {attribute for attribute in changed if self.is_plain(part, attribute)}

    def _filled_by_class(self, cls: Class) -> Iterator[tuple[Making, str, ast.AST]]:
        """What a Process subclass is given, keeps, and fills in its `run`."""
        run, init = (classes.find_method(self.outline, cls, name) for name in ("run", "__init__"))
        if run is None or init is None:
            return
        filled = {
            attribute
            for change, attribute in self.own_changes(run.scope)
            if change.kind == "item" or (change.kind == "method" and change.name in FILLING)
        }
        known = parameters(init.node)
        for attribute in sorted(filled):
            for change, method in classes.stores(cls).get(attribute, ()):
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

    def _filled_attributes(self, receiver: Instance, function: Function) -> Iterator[tuple[str, ast.AST]]:
        """The containers of its own object that a process target alone fills, and that the parent reads."""
        for change, attribute in self.own_changes(function.scope):
            if not (change.kind == "item" or (change.kind == "method" and change.name in FILLING)):
                continue
            if not self.is_plain(receiver, attribute) or self._is_filled_by_parent(receiver.cls, attribute):
                continue
            read = next(self._reads_in_parent(receiver.cls, attribute), None)
            if read is not None:
                yield attribute, read[0]

    def _is_filled_by_parent(self, cls: Class, attribute: str) -> bool:
        for item in classes.project_classes(self.outline, cls):
            for bindings in item.scope.bindings.values():
                for binding in bindings:
                    method = item.scope.module.scopes.get(binding.node) if binding.kind == "def" else None
                    if method is None or method.name == "__init__" or self.workers.runs(method):
                        continue
                    if any(name == attribute for _, name in self.own_changes(method)):
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
            or _is_made_plain(value)
            or (_made_by(value) in TENSORS and "fork" in crossing.methods)
        ]
        is_shared = any(_may_be_shared(value) for value in values) or self._is_shared_later(given, crossing.module)
        return bool(kept) and not is_shared

    @staticmethod
    def _is_shared_later(given: ast.expr, module: Module) -> bool:
        text = ast.unparse(given)
        return any(
            isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == text
            for call in module.calls.get("share_memory_", ())
        )

    def _changes(self, function: Function, name: str, depth: int = 2) -> bool:
        """Whether a function changes a parameter, or a function does to which it hands that on."""
        for call in body_nodes(function.node) if depth else ():
            if isinstance(call, ast.Call) and any(isinstance(a, ast.Name) and a.id == name for a in call.args):
                place = next(n for n, a in enumerate(call.args) if isinstance(a, ast.Name) and a.id == name)
                for value in self.outline.values(call.func, self.outline.frame_at(call, function.scope.module)):
                    for inner, shift in _function(value):
                        names = [p.name for p in parameters(inner.node).values() if p.index is not None][shift:]
                        if place < len(names) and self._changes(inner, names[place], depth - 1):
                            return True
        changes = [c for c in function.scope.module.changes.get(name, ()) if c.name not in TAKING]
        if any(self.state._is_parameter(name, change, function.scope) for change in changes):
            return True
        return any(  # `out += x` on a list, array or tensor works in place
            change.kind == "augmented" and function.scope.module.scope_of(change.node) is function.scope
            for change in changes
            if isinstance(change.target, ast.Subscript | ast.Attribute)
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


def _made_where(crossing: Crossing, frame: Frame) -> Making | None:
    """The call that makes a process, or that of a helper which does, in the function that gives an argument."""
    call: ast.AST = crossing.call
    around, wanted = crossing.frame, frame.scope.enclosing_function()
    while around.module.scope_of(call).enclosing_function() is not wanted:
        if around.arguments is None:
            return None
        call, around = around.arguments.call, around.arguments.frame
    return Making(call, frame.module, frame, crossing.methods)


def _keys_set(function: Function, name: str) -> set[object] | None:
    """The keys under which a function puts something into a parameter, if all are spelled out."""
    module = function.scope.module
    changes = [
        c for c in module.changes.get(name, ()) if module.scope_of(c.node).enclosing_function() is function.scope
    ]
    keys = [getattr(c.node, "slice", None) if c.kind == "item" else None for c in changes]
    constants = [key.value for key in keys if isinstance(key, ast.Constant)]
    return set(constants) if changes and len(constants) == len(keys) else None


def _key_read(node: ast.AST) -> object:
    """The key of `given["key"]` or `given.get("key")`, or None."""
    holder: Any = up(node)
    key = holder.slice if isinstance(holder, ast.Subscript) and holder.value is node else None
    if isinstance(holder, ast.Attribute) and holder.attr == "get":
        call = up(holder)
        key = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return key.value if isinstance(key, ast.Constant) else None


def _changed_inside(change: Change, held: str) -> str:
    """What is changed of an object that an attribute holds: `failed` of `self.stats.failed.append(x)`."""
    target: ast.expr = change.target
    while isinstance(target, ast.Subscript):
        target = target.value
    if change.kind == "attribute":
        return change.name if dotted(target) == held else ""
    is_inside = change.kind in ("method", "item") and isinstance(target, ast.Attribute) and change.name not in TAKING
    return last_name(target) if is_inside and dotted(target).rpartition(".")[0] == held else ""


def _unset(fact: Condition, receiver: str) -> str:
    """The attribute of an object which a test finds to be None or False, if it finds one to be."""
    test: ast.expr = fact.test
    holds = fact.holds
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is | ast.Eq):
        compared = test.comparators[0]
        if not isinstance(compared, ast.Constant) or compared.value not in (None, False):
            return ""
        test, holds = test.left, not holds
    is_own = isinstance(test, ast.Attribute) and dotted(test.value) == receiver
    return last_name(test) if is_own and not holds else ""


def _asks_for_none(node: ast.AST) -> bool:
    """`x.cache is None`, `x.cache[0] = None`: tells nothing of what is in there."""
    test = up(node)
    if isinstance(test, ast.Subscript) and test.value is node:
        return not isinstance(test.ctx, ast.Load)
    return isinstance(test, ast.Compare) and all(
        isinstance(side, ast.Constant) and side.value is None for side in test.comparators
    )


def _function(value: Value) -> Iterator[tuple[Function, int]]:
    if isinstance(value, Function):
        yield value, 0
    elif isinstance(value, Method):
        yield value.function, 1


def is_mutable(value: Value) -> bool:
    """A list, dict, set, array or tensor."""
    if isinstance(value, Collection):
        return isinstance(value.node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)
    return _is_made_plain(value) or _made_by(value) in TENSORS


def _made_by(value: Value) -> str:
    return value.name.removesuffix("()") if isinstance(value, Result) else ""


def _is_made_plain(value: Value) -> bool:
    return _made_by(value) in PLAIN


def _may_be_shared(value: Value) -> bool:
    """A queue, a manager's proxy, shared memory, or something that a library has made of it."""
    if not isinstance(value, Result):
        return not isinstance(value, Constant | Collection | Function | Class | Unknown)
    name = qualified(value)
    if "share_memory_" in name or "Manager" in name or "SharedMemory" in name:
        return True
    is_plain = _is_made_plain(value) or _made_by(value) in TENSORS or _made_by(value) in NUMBERS
    return mp_name(value.callee) in apis.PRIMITIVES or not is_plain
