"""Draws in worker code from a generator whose state every worker has a copy of: one that is an object."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple

from flake8_torchmp.boundary.crossing.bound_parameters import argument_of
from flake8_torchmp.boundary.crossing.task_items import frames_of_tasks
from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.boundary.working.called_functions import ITERATION_METHODS
from flake8_torchmp.boundary.working.workers import RANKS, TARGETS, WorkerFunction, Workers
from flake8_torchmp.semantics import attributes, classes
from flake8_torchmp.semantics.calls import Frame, has_receiver, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import LOOPS
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import (
    COMPREHENSIONS,
    FUNCTIONS,
    ancestors,
    body_nodes,
    dotted,
    last_name,
    root_name,
)
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import (
    UNKNOWN,
    Class,
    Constant,
    Function,
    Instance,
    Result,
    Source,
    Unknown,
    Value,
)

from .another_try import is_for_another_try
from .made_generators import kept_as
from .seeding import Seeds
from .sharding import Sharding
from .worker_taint import Taint


class Draw(NamedTuple):
    """A call that draws what other workers draw as well."""

    node: ast.Call
    made: ast.AST | None
    """Where the generator is made; nothing for a global one of a library."""
    module: Module | None
    text: str


class Streams:
    def __init__(
        self, outline: Evaluator, evaluator: Evaluator, workers: Workers, seeds: Seeds, sharding: Sharding
    ) -> None:
        self.outline = outline
        self.evaluator = evaluator
        self.workers = workers
        self.seeds = seeds
        self.sharding = sharding

    def copied(self, worker: WorkerFunction, user: Module) -> Iterator[Draw]:
        """Draws from a generator that the parent, or each import alike, has made.

        `user` is the module that brings the function to workers.
        """
        scope = worker.scope
        if worker.kind in RANKS and self.workers.train_together(user):
            return
        for node in body_nodes(scope.node):
            if not isinstance(node, ast.Call) or is_for_another_try(node):
                continue
            for used in _generators_of(node):
                value = self._generator(used, worker, user)
                if value is None or not self._is_made_once(value, worker, user):
                    continue
                name = last_name(used) or kept_as(value.arguments.call).rpartition(".")[2]
                if self._is_reseeded(name, scope.module, user, _parents(worker)):
                    continue
                if self._is_reseeded_at_start(name, user):
                    continue
                if self._is_for_order(worker) and not self._is_noise_in_part(node, worker):
                    continue
                yield Draw(node, value.arguments.call, value.arguments.frame.module, ast.unparse(used))

    def _generator(self, node: ast.expr, worker: WorkerFunction, user: Module) -> Result | None:
        frame = self._frame(worker)
        inner = self.outline.frame_in(worker.scope.module.scope_of(node), frame)
        values = [
            UNKNOWN if self._is_overridden(v, worker.scope, user) else v for v in self.outline.values(node, inner)
        ]
        found = next((made for value in values if (made := _made(value)) is not None), None)
        if found is not None or not any(isinstance(value, Unknown) or _is_none(value) for value in values):
            return found
        if worker.kind == "task" and (shared := self._shared_by_tasks(node, worker)) is not None:
            return shared
        if isinstance(node, ast.Attribute):
            given = self._given_to_objects(node, worker)
            if given is None and worker.kind not in TARGETS:
                return self._given_to_dataset(node, worker) or self._put_on_dataset(node, worker, user)
            return given
        if not isinstance(node, ast.Name):
            return None
        if node.id in worker.scope.module.scope.bindings and node.id not in worker.scope.bindings:
            return next(filter(None, map(_made, self._given_to_initializers(node.id, worker.scope.module))), None)
        scope = worker.scope.module.scope_of(node)
        self.evaluator.steps = 0  # what is hard to follow must not hide the rest
        for context in self.evaluator.contexts(worker.scope):
            if self._is_run_by_parent(context, user):
                continue
            for value in self.evaluator.values(node, self.evaluator.frame_in(scope, context)):
                made = _made(value)
                if made is not None:
                    return made
        return None

    def _is_overridden(self, value: Value, scope: Scope, user: Module) -> bool:
        """Whether something is a default for which every call of its function in worker code gives something else."""
        defaults = [hop for hop in value.way if hop.text.startswith("default of ")]
        own = parameters(scope.node) if defaults and isinstance(scope.node, FUNCTIONS) else {}
        left = next((p for p in own.values() if any(hop.node is p.default for hop in defaults)), None)
        if left is None:
            return False
        index = -1 if left.index is None else left.index - has_receiver(scope)
        calls = list(self._calls_in_workers(scope, user))
        return bool(calls) and all(argument_of(call, index, left.name) is not None for call in calls)

    def _calls_in_workers(self, scope: Scope, user: Module) -> Iterator[ast.Call]:
        """The calls of a function by its name that worker code makes."""
        codebase = self.outline.codebase
        for path in codebase.mentioning(scope.name, scope.module.path):
            module = codebase.module(path)
            calls = module.calls.get(scope.name, ()) if module is not None else ()
            yield from (call for call in calls if module is not None and self.runs(call, module, user))

    def _given_to_objects(self, node: ast.Attribute, worker: WorkerFunction) -> Result | None:
        """The one generator that objects are made with whose methods processes run: `Actor(rank, rng)`."""
        made_class = self._class_of_objects(worker)
        if made_class is None or dotted(node.value) != receiver_name(worker.scope) or not self._are_several(worker):
            return None
        found: list[Result | None] = []
        for cls, arguments in self.evaluator.callers.constructions(made_class.scope):
            values = attributes.attribute(self.evaluator, Instance(cls, arguments), node.attr)
            found.append(next(filter(None, map(_made, values)), None))
        is_one = len({id(made.arguments.call) if made is not None else 0 for made in found}) == 1
        return found[0] if is_one else None

    def _given_to_dataset(self, node: ast.Attribute, worker: WorkerFunction) -> Result | None:
        """The generator that a dataset, or what it keeps, is made with: `Crops(images, default_rng(seed))`."""
        if not isinstance(worker.receiver, Instance) or root_name(node) != receiver_name(worker.scope):
            return None
        frame = self.evaluator.frame_in(worker.scope.module.scope_of(node), self.workers.frame_of(worker))
        return next(filter(None, map(_made, self.evaluator.values(node, frame))), None)

    def _put_on_dataset(self, node: ast.Attribute, worker: WorkerFunction, user: Module) -> Result | None:
        """The generator that a dataset, or what it keeps, gets once it is made: `crops.rng = default_rng(seed)`."""
        receiver = worker.receiver
        if not isinstance(receiver, Instance) or dotted(node.value) != receiver_name(worker.scope):
            return None
        objects = [hanging.value for crossing in self.workers.crossings.of(user) for hanging in crossing.hanging]
        for value in objects:
            if isinstance(value, Instance) and value.cls.scope is receiver.cls.scope:
                for extra in value.added_attributes(node.attr):
                    made = next(filter(None, map(_made, self.evaluator.of(extra.source))), None)
                    if made is not None:
                        return made
        return None

    def _class_of_objects(self, worker: WorkerFunction) -> Class | None:
        """The class whose objects, one for each process or task, run a method in workers."""
        receiver = worker.receiver
        if worker.kind not in ("process", "task") or not isinstance(receiver, Instance):
            return None
        is_task = worker.kind == "task" and receiver.arguments is None
        return receiver.cls if is_task or self.workers.crossings.is_process(receiver.cls) else None

    def _are_several(self, worker: WorkerFunction) -> bool:
        return worker.kind == "task" or self.seeds.company.several(worker.scope.module, receiver=worker.receiver)

    def _given_to_initializers(self, name: str, module: Module) -> Iterator[Value]:
        """What a global of the workers is that an initializer binds to one of its arguments."""
        crossings = [c for c in self.workers.crossings.of(module) if c.parameter.keyword in ("initializer", "initargs")]
        for binding in module.scope.bindings[name] if crossings else ():
            function = module.scope_of(binding.node).enclosing_function()
            if function is None or not _is_given(binding.value, module):
                continue
            place = list(parameters(function.node)).index(last_name(binding.value))  # type: ignore[arg-type]
            calls = [c.call for c in crossings if any(_is_function(h.value, function) for h in c.hanging)]
            for crossing in crossings:
                if crossing.parameter.keyword == "initargs" and any(crossing.call is call for call in calls):
                    for given in self.evaluator.of(crossing.source):
                        for _, source in list(self.evaluator.items(given))[place : place + 1]:
                            yield from self.evaluator.of(source)

    def _is_run_by_parent(self, frame: Frame, user: Module) -> bool:
        """Whether a frame is that of a plain call which no worker makes."""
        call = frame.arguments.call if frame.arguments is not None else None
        if frame.arguments is None or not isinstance(call, ast.Call) or self.evaluator.callers.is_deferred(call):
            return False
        return not self.runs(call, frame.arguments.frame.module, user)

    def _shared_by_tasks(self, node: ast.expr, worker: WorkerFunction) -> Result | None:
        """The one generator that the elements hold which a pool's workers are handed."""
        module = worker.scope.module
        if random_sources.MAKER_NAMES.isdisjoint(module.calls):
            return None
        for frames in frames_of_tasks(self.workers.crossings, worker.scope, module):
            inner = [self.evaluator.frame_in(module.scope_of(node), frame) for frame in frames]
            made = [
                [one for v in self.evaluator.values(node, frame) if (one := _made(v)) is not None] for frame in inner
            ]
            if all(made) and len({id(found[0].arguments.call) for found in made}) == 1:
                return made[0][0]
        return None

    def _frame(self, worker: WorkerFunction) -> Frame:
        open_frame = self.outline.frame_of(worker.scope)
        if worker.receiver is None or not has_receiver(worker.scope):
            return open_frame
        return self.outline.frame(worker.scope, None, open_frame.closure, worker.receiver)

    def _is_made_once(self, value: Result, worker: WorkerFunction, user: Module) -> bool:
        call = value.arguments.call
        module = value.arguments.frame.module
        function = module.scope_of(call).enclosing_function()
        cls = self._class_of_objects(worker)
        if cls is not None and function is not None and function.enclosing_class() is not None:
            seeds = [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
            alike = bool(seeds) and all(self.seeds.sameness.is_same_for_objects(seed, function, cls) for seed in seeds)
            return alike and self._are_several(worker) and not self.workers.runs(function)  # each object makes its own
        owner = worker.receiver.arguments if isinstance(worker.receiver, Instance) else None
        made = [call, owner.call] if owner is not None and worker.kind in TARGETS else [call]
        given = value.arguments.positional
        is_copied_alike = worker.kind not in TARGETS and bool(given) and all(map(_is_literal, given))
        for item in (item for place in made for item in ancestors(place)):
            if isinstance(item, (*LOOPS, *COMPREHENSIONS)) and not is_copied_alike:
                return False  # perhaps one for each
        if function is None:
            is_seeded = bool(value.arguments.positional or value.arguments.keywords) or "manual_seed" in value.name
            return is_seeded or "torch" in value.name or "fork" in worker.methods
        return not self.runs(call, module, user, _parents(worker))

    def _is_reseeded(self, name: str, home: Module, user: Module, besides: Sequence[str] = ()) -> bool:
        """Whether worker code makes a generator of that name anew, or seeds it, in a module or one that uses it."""
        codebase = self.outline.codebase
        modules = map(codebase.module, codebase.mentioning(name, home.path))
        return any(
            self.runs(node, module, user, besides)
            for module in modules
            if module is not None
            for node in _reseedings(name, module)
        )

    def _is_reseeded_at_start(self, name: str, user: Module) -> bool:
        """Whether what the workers of a module begin with does so, wherever that is."""
        starting = {worker.scope for worker in self.workers.of(user) if worker.kind == "initializer"}
        return any(
            scope.module.scope_of(node).enclosing_function() is scope
            for scope in starting
            for node in _reseedings(name, scope.module)
        )

    def runs(self, node: ast.AST, module: Module, user: Module, besides: Sequence[str] = ()) -> bool:
        """Whether a place is in worker code, by what the user of a generator brings to workers or by anything else."""
        function: Scope | None = module.scope_of(node).enclosing_function()
        if function is None:
            return False
        kinds = {other.kind for other in self.workers.of(user) if other.scope is function}
        return not (kinds | self.workers.kinds_of(function)).issubset(besides)

    def _is_for_order(self, worker: WorkerFunction) -> bool:
        """An order that all workers agree on, of which each takes its part."""
        receiver = worker.receiver
        if not isinstance(receiver, Instance) or not worker.reached_from.endswith(ITERATION_METHODS):
            return False
        return self.sharding.shards(receiver.cls)

    def _is_noise_in_part(self, draw: ast.Call, worker: WorkerFunction) -> bool:
        """Whether numbers are drawn for each element of the part that a worker has taken already."""
        if last_name(draw.func) not in random_sources.NOISE or not isinstance(worker.receiver, Instance):
            return False
        if any(isinstance(above, ast.Compare | ast.Subscript) for above in _expression_around(draw)):
            return False  # it chooses
        iteration = classes.find_method(self.outline, worker.receiver.cls, "__iter__")
        if iteration is None or not iteration.scope.is_generator:
            return False
        taint = Taint(self.sharding, iteration, worker.receiver)
        scope, module = iteration.scope, iteration.scope.module
        places: list[ast.AST] = [draw]
        if worker.scope is not scope:
            loads = module.loads(worker.scope.name)
            places = [load for load in loads if module.scope_of(load).enclosing_function() is scope]
        return bool(places) and all(
            any(isinstance(above, ast.For) and taint.depends(above.iter) for above in ancestors(place))
            or any(
                isinstance(above, ast.Call) and _maps_part(above, place, taint) for above in _expression_around(place)
            )
            for place in places
        )


def _is_none(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None


def _is_literal(seed: Source) -> bool:
    return isinstance(seed.node, ast.Constant)


def _is_function(value: Value, scope: Scope) -> bool:
    return isinstance(value, Function) and value.scope is scope


def _is_given(value: ast.expr | None, module: Module) -> bool:
    """Whether a value is a parameter: what an initializer is given is a copy of the same in each worker."""
    function = module.scope_of(value).enclosing_function() if isinstance(value, ast.Name) else None
    bound = function.bindings.get(value.id, ()) if function is not None and isinstance(value, ast.Name) else ()
    return bool(bound) and all(binding.kind == "parameter" for binding in bound)


def _is_part_of(name: str, target: ast.expr) -> bool:
    """`self.rng.bit_generator`, whose state is that of `rng`."""
    return isinstance(target, ast.Attribute) and target.attr == "bit_generator" and last_name(target.value) == name


def _reseedings(name: str, module: Module) -> Iterator[ast.AST]:
    """Where a module makes or seeds something of a name: by calls, as an attribute, as a variable of its own."""
    for method in random_sources.RESEEDING:
        for call in module.calls.get(method, ()):
            owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            if last_name(owner) == name:
                yield call
    for change in chain.from_iterable(list(module.changes.values())):
        is_set = change.name == name or (change.name == "state" and _is_part_of(name, change.target))
        if change.kind == "attribute" and is_set:
            yield change.node
    for binding in module.scope.bindings.get(name, ()):
        if not _is_given(binding.value, module):
            yield binding.node


def _generators_of(call: ast.Call) -> Iterator[ast.expr]:
    """The expressions in a call that can be the generator which it draws from."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in random_sources.DRAWING_METHODS:
        yield function.value
    for keyword in call.keywords:
        if keyword.arg in ("generator", "random_state", "rng") and isinstance(keyword.value, ast.Name | ast.Attribute):
            yield keyword.value


def _expression_around(node: ast.AST) -> list[ast.AST]:
    return list(takewhile(lambda above: not isinstance(above, ast.stmt), ancestors(node)))


def _maps_part(call: ast.Call, function: ast.AST, taint: Taint) -> bool:
    """`map(self.add_noise, mine)`"""
    rest = call.args[1:] if last_name(call.func) == "map" and call.args[:1] == [function] else []
    return any(map(taint.depends, rest))


def _parents(worker: WorkerFunction) -> tuple[str, ...]:
    """The kinds of worker code that may be a parent of such workers: a rank that makes a loader."""
    return () if worker.kind in TARGETS else RANKS


def _made(value: Value) -> Result | None:
    """The making of a generator, also where it is seeded at once."""
    if not isinstance(value, Result):
        return None
    for maker in random_sources.MAKERS:
        if value.name == maker or value.name == f"{maker}().manual_seed":
            return value
    return None
