"""What worker code changes on a dataset and the parent reads there, and what worker code keeps for itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from flake8_torchmp.boundary.circumstances.construction import is_part_of_construction
from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.boundary.crossing.crossings import Crossings
from flake8_torchmp.boundary.crossing.plain_values import (
    LAYOUT,
    NUMBERS,
    TENSORS,
    is_made_plain,
    made_by,
    may_be_shared,
)
from flake8_torchmp.boundary.loading.datasets import Datasets, stays_in_its_function
from flake8_torchmp.boundary.module_state.mutations import CHANGING
from flake8_torchmp.boundary.module_state.state import State
from flake8_torchmp.boundary.working.sides import is_left_to_parent
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics import attributes, classes, stores
from flake8_torchmp.semantics.calls import Arguments, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import Condition, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, dotted, last_name, up, without_keys
from flake8_torchmp.semantics.scopes import Change, Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    Instance,
    Member,
    Result,
    Value,
)

NOT_READING = frozenset("__init__ __getstate__ __setstate__ __repr__ __str__ __del__ __post_init__".split())
"""Methods whose reads tell nothing of what a worker has changed."""

STATEFUL = dict.fromkeys(("state_dict", "load_state_dict"), "StatefulDataLoader")
"""Methods of datasets that a loader calls in its workers, by what the project has to name for that."""

DICTS = frozenset("builtins.dict collections.defaultdict collections.OrderedDict collections.Counter".split())
FILLING = frozenset(name.rpartition(".")[2] for name in CHANGING if name.startswith(("heapq.", "bisect.")))
"""Functions of heapq and bisect, which change the list that they are given."""

TELLING_ALL = frozenset("vars asdict astuple".split())
"""What makes a dict or tuple of all that an object has."""

TAKING = frozenset("put put_nowait pop popitem popleft remove discard clear".split())
"""What fills no container: it hands on what is in a queue, or takes out what was given."""


class LostChange(NamedTuple):
    node: ast.AST
    attribute: str
    read: ast.AST
    read_in: Module


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
        """Changes that worker code makes to its dataset, with each place where the parent reads its own copy."""
        receiver = worker.receiver
        if not isinstance(receiver, Instance) or worker.kind not in ("dataset", "collate"):
            return
        if not self.datasets.is_dataset(receiver.cls):
            yield from self._lost_on_carried(worker, receiver)
            return
        if worker.scope.name in ("__init__", "__post_init__"):
            return  # of a dataset that the worker makes for itself
        for change, attribute in self.own_changes(worker.scope):
            is_copied = self.is_plain(receiver, attribute) or (
                "fork" in worker.methods and change.kind != "attribute" and self._is_own_tensor(receiver, attribute)
            )
            is_bound = change.kind == "attribute" and isinstance(change.target, ast.Name)
            is_property = classes.find_method(self.outline, receiver.cls, attribute) is not None
            is_copied = is_copied or (is_bound and not is_property and _is_number(change.value))
            is_lost = is_copied and not is_left_to_parent(change.node, worker)
            if is_lost and not self._is_done_once(change, worker.scope, receiver.cls):
                for read, module in self.reads_in_parent(receiver.cls, attribute):
                    if module.scope_of(read).enclosing_function() is worker.scope:
                        continue  # it reads what it has changed itself, in whichever process
                    if is_bound or not (
                        _asks_for_none(read) or self._asks_for_length(read, change, receiver, attribute)
                    ):
                        yield LostChange(change.node, attribute, read, module)
        yield from self._lost_on_parts(worker)
        yield from self._lost_in_parts(worker, receiver)

    def _lost_on_carried(self, worker: WorkerFunction, carried: Instance) -> Iterator[LostChange]:
        """`self.applied += 1` in a transform or collator, where the parent asks the one that it has made."""
        scope = worker.scope
        copied = [one for one in self.own_changes(scope) if self.is_plain(carried, one[1])]
        if not copied or scope.name in NOT_READING:
            return
        made = self.evaluator.callers.constructions(carried.cls.scope)
        only = made[0][1] if len(made) == 1 and self._is_made_by_parent(made[0][1]) else None
        maker = carried.arguments or (None if worker.calls_away else only)
        if maker is None or self._is_global(maker):
            return
        for change, attribute in copied:
            if not self._is_done_once(change, scope, carried.cls):
                asked = self._asked_of(carried, attribute, scope.name)
                asking = self._asked_by_itself(carried.cls, attribute, scope.name) if only is not None else ()
                for read, module in chain(asked, asking):
                    yield LostChange(change.node, attribute, read, module)

    def _is_made_by_parent(self, made: Arguments) -> bool:
        """Whether the parent makes an object, and no dataset for itself: its sample method is what changes that."""
        module = made.frame.module
        owner = module.scope_of(made.call).enclosing_class()
        is_part = owner is not None and self.datasets.is_dataset(Class(owner, None))
        return not is_part and self.state.runs_in_parent(made.call, module, self.workers)

    def _asked_by_itself(self, cls: Class, attribute: str, changing: str) -> Iterator[tuple[ast.AST, Module]]:
        """Where methods of an object that the parent runs ask for an attribute: `print(self.tokens)` in `fit`."""
        module = cls.scope.module
        for node in module.loads(attribute):
            method = module.scope_of(node).enclosing_function()
            if method is None or method.parent is not cls.scope or method.name in (*NOT_READING, changing):
                continue
            if not isinstance(node, ast.Attribute) or dotted(node.value) != receiver_name(method):
                continue
            is_read = not self.state.is_changed_by_read(node, module) and not _does_it_too(node.value, changing, module)
            if is_read and not _asks_for_none(node) and self.state.runs_in_parent(node, module, self.workers):
                yield node, module

    def _is_global(self, made: Arguments) -> bool:
        """Whether an object is made by each import of a module: what is lost there is a change of a global."""
        scope = made.frame.scope
        return scope.is_module and not is_guarded(self.outline, made.call, scope.module)

    def _asked_of(self, made: Instance, attribute: str, changing: str) -> Iterator[tuple[ast.AST, Module]]:
        """Where the parent asks an object for an attribute, and does not itself do with it what changes that."""
        codebase = self.outline.codebase
        for path in codebase.mentioning(attribute, made.cls.scope.module.path):
            module = codebase.module(path) if codebase.reads(path, attribute) else None
            for node in module.loads(attribute) if module is not None else ():
                assert module is not None
                if not isinstance(node, ast.Attribute) or self.state.is_changed_by_read(node, module):
                    continue
                function = module.scope_of(node).enclosing_function()
                if function is not None and self.workers.runs(function):
                    continue
                if self._is_made_there(node.value, made, module) and not _does_it_too(node.value, changing, module):
                    yield node, module

    def _is_made_there(self, node: ast.expr, made: Instance, module: Module) -> bool:
        made_by = made.arguments.call if made.arguments is not None else None
        return made_by is not None and any(
            isinstance(value, Instance) and value.arguments is not None and value.arguments.call is made_by
            for value in self.evaluator.values(node, self.evaluator.frame_at(node, module))
        )

    def _lost_in_parts(self, worker: WorkerFunction, receiver: Instance) -> Iterator[LostChange]:
        """`self.stats.read += 1` in a sample method, where the parent reads the `read` of its own stats."""
        for change, held in self.own_changes(worker.scope):
            inner = changed_inside(change, f"{receiver_name(worker.scope)}.{held}")
            if not inner or (change.kind == "attribute" and change.value is not None and facts_at(change.node)):
                continue
            for part in attributes.stored(self.outline, receiver, held, frozenset(("__getitem__", "__iter__"))):
                if not isinstance(part, Instance) or not self.is_plain(part, inner):
                    continue
                for read, module in self.reads_in_parent(receiver.cls, held):
                    if self.tells_of(part, read, {inner}):
                        yield LostChange(change.node, f"{held}.{inner}", read, module)

    def _lost_on_parts(self, worker: WorkerFunction) -> Iterator[LostChange]:
        """`self.meter.update(x)` in a sample method, where the parent asks its own copy of the meter."""
        receiver, scope = worker.receiver, worker.scope
        if not isinstance(receiver, Instance):
            return
        name = receiver_name(scope)
        for node in body_nodes(scope.node) if name else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            held = node.func.value
            if not isinstance(held, ast.Attribute) or dotted(held.value) != name or facts_at(node):
                continue
            for part in attributes.stored(self.outline, receiver, held.attr, frozenset(("__getitem__", "__iter__"))):
                changed = self.changed_on_part(part, node.func.attr)
                for read, module in self.reads_in_parent(receiver.cls, held.attr) if changed else ():
                    if isinstance(part, Instance) and self.tells_of(part, read, changed):
                        yield LostChange(node, held.attr, read, module)

    def changed_on_part(self, part: Value, name: str) -> set[str]:
        """What a method of an object that is copied to each process changes on it, run without a test."""
        method = classes.find_method(self.outline, part.cls, name) if isinstance(part, Instance) else None
        if method is None or not isinstance(part, Instance):
            return set()
        own = [(change, attribute) for change, attribute in self.own_changes(method.scope)]
        return {a for change, a in own if not facts_at(change.node) and self.is_plain(part, a)}

    def tells_of(self, part: Instance, read: ast.AST, changed: set[str]) -> bool:
        """Whether `dataset.meter.mean()` or `dataset.meter.total` shows what was changed."""
        holder = up(read)
        if isinstance(holder, ast.Call) and read in holder.args:
            return last_name(holder.func) in TELLING_ALL
        if not isinstance(holder, ast.Attribute):
            return False
        if holder.attr in changed:
            return isinstance(holder.ctx, ast.Load) and not _is_for_its_effect(holder)
        method = classes.find_method(self.outline, part.cls, holder.attr)
        if method is None or _is_for_its_effect(holder):
            return False
        name = receiver_name(method.scope)
        return any(
            isinstance(n, ast.Attribute) and n.attr in changed and dotted(n.value) == name
            for n in body_nodes(method.node)
        )

    def _is_done_once(self, change: Change, scope: Scope, cls: Class, depth: int = 3) -> bool:
        """Whether each process does it for itself, when it is first needed: `if self.x is None: self.x = …`.

        Or `if not self.is_read: self.read()`, where worker code calls the method nowhere else.
        """
        own = {attribute for other, attribute in self.own_changes(scope) if other.kind == "attribute"}
        if any(_unset(fact, receiver_name(scope)) in own for fact in facts_at(change.node)):
            return True
        owners = classes.project_classes(self.outline, cls)
        return stores.holds_always(owners, change) or self._is_called_once(scope, cls, depth)

    def _is_called_once(self, scope: Scope, cls: Class, depth: int) -> bool:
        stored = {
            name
            for item in classes.project_classes(self.outline, cls)
            for name, changes in stores.by_attribute(item).items()
            if any(method.name not in NOT_READING for _, method in changes)
        }
        calls = [
            (call, caller)
            for item in classes.project_classes(self.outline, cls)
            for call in item.scope.module.calls.get(scope.name, ())
            if (caller := item.scope.module.scope_of(call).enclosing_function()) is not None
            and caller.enclosing_class() is item.scope
            and dotted(call.func) == f"{receiver_name(caller)}.{scope.name}"
            and caller is not scope
            and self.workers.runs(caller)
        ]
        return bool(calls) and all(
            any(_unset(fact, receiver_name(caller)) in stored for fact in facts_at(call))
            or (depth > 0 and self._is_called_once(caller, cls, depth - 1))
            for call, caller in calls
        )

    def cached(self, worker: WorkerFunction) -> Iterator[tuple[ast.AST, str]]:
        """Entries that worker code makes in a container of its dataset, for worker code alone."""
        receiver = worker.receiver
        if not isinstance(receiver, Instance) or not self.datasets.is_dataset(receiver.cls):
            return
        for change, attribute in self.own_changes(worker.scope):
            is_entry = change.kind == "item" or (change.kind == "method" and change.name == "setdefault")
            is_entry = is_entry or (change.name == "update" and _gives_dict(change.node))
            if not is_entry or not self._matters(receiver.cls, attribute):
                continue
            reads = (read for read, _ in self.reads_in_parent(receiver.cls, attribute))
            if all(self._asks_for_length(read, change, receiver, attribute) for read in reads):
                yield change.node, attribute

    def _asks_for_length(self, read: ast.AST, change: Change, receiver: Instance, attribute: str) -> bool:
        """`len(self.images)`, which `self.images[i] = image` leaves as it is, where that is no dict."""
        holder = up(read)
        if change.kind != "item" or not isinstance(holder, ast.Call) or last_name(holder.func) != "len":
            return False
        held = attributes.stored(self.outline, receiver, attribute, frozenset(("__getitem__", "__iter__")))
        return not any(
            made_by(value) in DICTS or (isinstance(value, Collection) and value.kind == "dict") for value in held
        )

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
        for call in (call for name in FILLING if receiver for call in scope.module.calls.get(name, ())):
            given = call.args[0] if call.args else None
            is_own = isinstance(given, ast.Attribute) and dotted(given.value) == receiver
            if (
                isinstance(given, ast.Attribute)
                and is_own
                and scope.module.scope_of(call).enclosing_function() is scope
            ):
                yield Change("method", given, call, last_name(call.func), None), given.attr

    def is_plain(self, receiver: Instance, attribute: str) -> bool:
        """Whether an attribute holds what is copied to each process: numbers, texts, containers, arrays."""
        method = classes.find_method(self.outline, receiver.cls, attribute)
        if method is not None:  # a property holds what its setter stores
            inner = {name for _, name in self.own_changes(method.scope)}
            plain = (name for name in inner if classes.find_method(self.outline, receiver.cls, name) is None)
            return any(self.is_plain(receiver, name) for name in plain)
        values = list(attributes.stored(self.outline, receiver, attribute, frozenset(("__getitem__", "__iter__"))))
        for cls in classes.project_classes(self.outline, receiver.cls):
            if attribute in classes.fields(self.outline, cls):
                values += list(attributes.field(self.outline, receiver, attribute))
                continue
            for binding in cls.scope.bindings.get(attribute, ()):
                if binding.value is not None:
                    values += self.outline.values(binding.value, self.outline.frame_of(cls.scope))
        known = [
            value
            for value in values
            if (isinstance(value, Constant) and value.value is not None)
            or isinstance(value, Collection)
            or is_made_plain(value)
        ]
        return bool(known) and not any(may_be_shared(value) for value in values)

    def _is_own_tensor(self, receiver: Instance, attribute: str) -> bool:
        """Whether an attribute holds a tensor that a fork copies; pickling would have moved it to shared memory."""
        values = list(attributes.stored(self.outline, receiver, attribute, frozenset(("__getitem__", "__iter__"))))
        is_tensor = bool(values) and all(made_by(value) in TENSORS for value in values)
        sharing = receiver.cls.scope.module.calls.get("share_memory_", ()) if is_tensor else ()
        owners = [call.func.value for call in sharing if isinstance(call.func, ast.Attribute)]
        return is_tensor and all(last_name(owner) != attribute for owner in owners)

    def reads_in_parent(self, cls: Class, attribute: str) -> Iterator[tuple[ast.AST, Module]]:
        owners = [item.scope for item in classes.project_classes(self.outline, cls)]
        codebase = self.outline.codebase
        for path in codebase.mentioning(attribute, cls.scope.module.path):
            module = codebase.module(path) if codebase.reads(path, attribute) else None
            for node in module.loads(attribute) if module is not None else ():
                assert module is not None
                if not isinstance(node, ast.Attribute) or self.state.is_changed_by_read(node, module):
                    continue
                function = module.scope_of(node).enclosing_function()
                if function is not None and (function.name in NOT_READING or self.workers.runs(function)):
                    continue
                if function is not None and self._is_asked_for_in_worker(function):
                    continue
                if function is not None and is_part_of_construction(function, codebase):
                    continue
                if self._is_of(node.value, owners, module) and not stays_in_its_function(
                    node.value, module, self.evaluator
                ):
                    yield node, module

    def _is_asked_for_in_worker(self, function: Scope) -> bool:
        """`state_dict` of a dataset, which torchdata's loader asks for where the samples are made."""
        loader = STATEFUL.get(function.name, "")
        codebase = self.outline.codebase
        paths = codebase.mentioning(loader, function.module.path) if loader else ()
        return any(loader.encode() in codebase.data(path) for path in paths)

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
                found += self._given(value)
        return found

    def _given(self, value: Value, depth: int = 3) -> list[Value]:
        """What a loader or subset was made with, for its `dataset`."""
        if not isinstance(value, Member) or value.name != "dataset" or not depth:
            return [value]
        sources = [
            owner.arguments.get(0, "dataset")
            for owner in self._given(value.owner, depth - 1)
            if isinstance(owner, Result)
        ]
        return [inner for source in sources if source is not None for inner in self.evaluator.of(source)]


def _is_for_its_effect(method: ast.Attribute) -> bool:
    """`dataset.meter.reset()` as a statement of its own, of which nobody has the result."""
    call = up(method)
    return isinstance(call, ast.Call) and call.func is method and isinstance(up(call), ast.Expr)


def _does_it_too(node: ast.expr, method: str, module: Module) -> bool:
    """Whether a module also calls the object of a name or attribute, or that method of it."""
    name = dotted(node)
    for load in module.loads(last_name(node)) if name else ():
        asked = up(load) if dotted(load) == name else None
        if isinstance(asked, ast.Attribute) and asked.attr == method:
            asked = up(asked)
        if isinstance(asked, ast.Call) and load not in asked.args:
            return True
    return not name


def changed_inside(change: Change, held: str) -> str:
    """What is changed of an object that an attribute holds: `failed` of `self.stats.failed.append(x)`."""
    target = without_keys(change.target)
    if change.kind == "attribute":
        return change.name if dotted(target) == held else ""
    is_inside = change.kind in ("method", "item") and isinstance(target, ast.Attribute) and change.name not in TAKING
    return last_name(target) if is_inside and dotted(target).rpartition(".")[0] == held else ""


def _unset(fact: Condition, receiver: str) -> str:
    """The attribute of an object which a test finds to be None, False or empty, if it finds one to be."""
    test: ast.expr = fact.test
    holds = fact.holds
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is | ast.Eq):
        compared = test.comparators[0]
        if not isinstance(compared, ast.Constant) or compared.value not in (None, False, 0):
            return ""
        test, holds = test.left, not holds
    if isinstance(test, ast.Call) and dotted(test.func) == "len" and len(test.args) == 1:
        test = test.args[0]
    is_own = isinstance(test, ast.Attribute) and dotted(test.value) == receiver
    return last_name(test) if is_own and not holds else ""


def _gives_dict(node: ast.AST) -> bool:
    """`cache.update({key: value})`"""
    return isinstance(node, ast.Call) and bool(node.args) and isinstance(node.args[0], ast.Dict)


def _is_number(node: ast.AST | None) -> bool:
    """`len(row)`, `image.shape[-1]`, `loss.item()`: worked out, and bound to an attribute, it stays in its process."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) or _is_number(node.right)
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        return f"builtins.{name}" in NUMBERS or ("." in name and last_name(node.func) in (*LAYOUT, "item"))
    return isinstance(node, ast.Attribute) and node.attr in LAYOUT


def _asks_for_none(node: ast.AST) -> bool:
    """`x.cache is None`, `x.cache[0] = None`, `x.cache.shape`: tells nothing of what is in there."""
    test = up(node)
    if isinstance(test, ast.Attribute) and test.attr in LAYOUT:
        return True
    if isinstance(test, ast.Subscript) and test.value is node:
        return not isinstance(test.ctx, ast.Load)
    return isinstance(test, ast.Compare) and all(
        isinstance(side, ast.Constant) and side.value is None for side in test.comparators
    )
