"""Seeds in worker code: what a generator is seeded with there, and whether that is the same in every worker."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.crossing.alike_arguments import are_alike, given_to_processes
from flake8_torchmp.boundary.crossing.crossings import Crossing
from flake8_torchmp.boundary.tables import apis, random_sources
from flake8_torchmp.boundary.working.called_functions import ITERATION_METHODS
from flake8_torchmp.boundary.working.worker_datasets import is_own_dataset
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics import classes, stores
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import is_property, parameters, receiver_name
from flake8_torchmp.semantics.command_line import is_choice
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, body_nodes, dotted, last_name, position
from flake8_torchmp.semantics.reach import Reach
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Function,
    Instance,
    Method,
    Value,
    qualified,
)

from .bound_parameters import argument_of, bound_by, left_out
from .made_generators import draws_noise, is_of_own, kept_as
from .torch_seeds import seed_given_to_torch
from .turns import are_several, take_turns

NAMES = frozenset(name.rpartition(".")[2] for name in (*random_sources.SEEDERS, *random_sources.MAKERS))
"""The names of what seeds or makes a generator."""
_SEEDS = re.compile(rb"\b(?:%b)(?=\s*\(|$)" % "|".join(random_sources.SEEDER_NAMES).encode())
"""A call of a seeder, or an import of one."""


class Seeding(NamedTuple):
    """A call that seeds, and the expressions that it seeds with."""

    call: ast.Call
    seeds: tuple[ast.expr, ...]


class Seeds:
    def __init__(self, outline: Evaluator, workers: Workers) -> None:
        self.outline = outline
        self.workers = workers
        self._parameters: dict[int, frozenset[str]] = {}
        self._of_workers: dict[tuple[int, bool, bool], list[Seeding]] = {}
        self._seeders = Reach(outline.codebase, _SEEDS)

    def forget(self) -> None:
        self._parameters.clear()
        self._of_workers.clear()

    def constant(self, worker: WorkerFunction, fixed: frozenset[str]) -> ast.Call | None:
        """The first call by which worker code seeds each worker alike; `fixed` are the parameters that are the same."""
        found = None
        for seeding in self._of_worker(worker):
            if not all(self.is_same(seed, worker, fixed) for seed in seeding.seeds):
                return None  # seeded by who it is as well: that one counts
            if found is None and not self._is_chosen(seeding, worker):
                found = seeding.call
        return None if found is not None and _is_meant(worker) else found

    def is_seeded_by_caller(
        self, worker: WorkerFunction, others: Iterable[WorkerFunction], fixed: dict[Scope, frozenset[str]]
    ) -> bool:
        """Whether what calls a function in a process seeds by who it is as well: `model = build(); seed(rank)`."""
        callers = {
            arguments.frame.scope.enclosing_function()
            for arguments, _ in self.workers.evaluator.callers.of(worker.scope)
        }
        return any(
            not self.is_same(seed, other, fixed.get(other.scope, frozenset()))
            for other in others
            if other.scope in callers and other.kind == worker.kind
            for seeding in self._of_worker(other)
            for seed in seeding.seeds
        )

    def remedy(self, worker: WorkerFunction, module: Module) -> dict[str, str] | None:
        """What a fix has to know: the seeds of a function, and what it is given that differs between workers."""
        scope = worker.scope
        seedings = self._of_worker(worker)
        places = [f"{s.lineno}:{s.col_offset}:{type(s).__name__}" for seeding in seedings for s in seeding.seeds]
        own = [p.name for p in parameters(scope.node).values() if p.kind == "positional"]  # type: ignore[arg-type]
        own = [name for name in own if name != receiver_name(scope)]
        of_loader = "worker_init_fn" in worker.reached_from
        given, where = "", "loader" if of_loader else "process"
        if worker.kind == "dataset" and scope.name == "__getitem__":
            given = own[0] if own else ""
        elif worker.kind == "dataset" and scope.name == "__iter__":
            where = "loader"
        elif worker.kind in ("dataset", "collate"):
            where = "sample"
            if any(isinstance(self._project_function(seeding.call, scope.module), Function) for seeding in seedings):
                return None  # it may do more than seed
        elif of_loader or worker.kind == "spawn":
            bound = self._bound_in(module, scope)
            rest = [name for name in own if bound is not None and name not in bound]
            given = rest[0] if rest else ""
        changed = [b for b in scope.bindings.get(given, ()) if b.kind != "parameter"]
        notes = {"seeds": " ".join(places), "given": given, "where": where, "default": self._default(seedings, scope)}
        return None if changed else notes

    def _default(self, seedings: list[Seeding], scope: Scope) -> str:
        """`seed=42` where the only call leaves the seed to the default of a function of the project."""
        call, seeds = seedings[0] if len(seedings) == 1 else (None, ())
        if call is None or len(seeds) != 1 or any(node is seeds[0] for node in ast.walk(call)):
            return ""
        function = self._project_function(call, scope.module)
        if not isinstance(function, Function) or not isinstance(seeds[0], ast.Constant):
            return ""
        return f"{next(iter(self.seeding_parameters(function.scope)))}={seeds[0].value!r}"

    def _project_function(self, call: ast.Call, module: Module) -> Value | None:
        values = self.outline.values(call.func, self.outline.frame_at(call, module))
        return next(
            (v.function if isinstance(v, Method) else v for v in values if isinstance(v, Function | Method)), None
        )

    def _bound_in(self, module: Module, scope: Scope) -> set[str] | None:
        """The parameters that a partial has bound of a function which is itself handed over; None for another."""
        found: set[str] | None = None
        for crossing in self.workers.crossings.of(module):
            if crossing.parameter.keyword == "worker_init_fn" or crossing.api.kind == "spawn":
                for hanging in crossing.hanging:
                    if isinstance(hanging.value, Instance) and scope.name == "__call__":
                        found = found or set() if scope.parent is hanging.value.cls.scope else found
                    for function, names in bound_by(hanging.value):
                        if function.scope is scope:
                            found = (found or set()) | names
        return found

    def of(self, scope: Scope, *, makes: bool = False, for_samples: bool = False) -> list[Seeding]:
        """The calls of a function that seed, also through a function of the project, or that make a generator."""
        module = scope.module
        if isinstance(scope.node, ast.ClassDef):
            return []
        found: list[Seeding] = []
        for node in body_nodes(scope.node, nested=False):
            if isinstance(node, ast.Call):
                own = self._own_seeded_by(node, module) if makes and for_samples else ()
                seeds = self._seeded_by(node, module, makes) or own
                if seeds:
                    found.append(Seeding(node, seeds))
        return sorted(found, key=lambda item: position(item.call))

    def _of_worker(self, worker: WorkerFunction) -> list[Seeding]:
        """The seedings that count: for each sample one may make a generator alike to choose, but not to make noise."""
        scope, is_dataset = worker.scope, worker.kind == "dataset"
        for_samples = is_dataset or worker.kind == "collate"
        makes = not (for_samples and worker.reached_from.endswith(ITERATION_METHODS))
        key = (id(scope), makes, for_samples)
        if key not in self._of_workers:  # many files bring the same functions to workers
            self._of_workers[key] = self.of(scope, makes=makes, for_samples=for_samples)
        found = self._of_workers[key]
        if not for_samples:
            return found
        return [s for s in found if not is_of_own(s.call, scope, any_maker=is_dataset) or draws_noise(s.call, scope)]

    def seeds(self, scope: Scope) -> bool:
        """Whether a function seeds a global generator, be it with what the system gives: `numpy.random.seed()`."""
        module = scope.module
        return bool(self.of(scope)) or any(
            isinstance(value, External) and value.name in random_sources.SEEDERS
            for name in random_sources.SEEDER_NAMES
            for call in module.calls.get(name, ())
            if module.scope_of(call).enclosing_function() is scope
            for value in self.outline.values(call.func, self.outline.frame_at(call, module))
        )

    def _seeded_by(self, call: ast.Call, module: Module, makes: bool) -> tuple[ast.expr, ...]:
        name = last_name(call.func)
        if not (name in module.all_names_of(NAMES) or may_run_project(self.outline, call.func, module)):
            return ()
        for value in self.outline.values(call.func, self.outline.frame_at(call, module)):
            if isinstance(value, External):
                is_maker = makes and value.name in random_sources.MAKERS
                if value.name in random_sources.SEEDERS or is_maker:
                    seed = argument_of(call, 0, random_sources.SEEDERS.get(value.name, "seed"))
                    return (seed,) if seed is not None else ()
            function = value.function if isinstance(value, Method) else value
            if isinstance(value, Class):
                function = classes.find_method(self.outline, value, "__init__") or value
            if isinstance(function, Function) and name != "<lambda>":
                return self._handed_to(function, call, shift=isinstance(value, Method | Class))
        return ()

    def _own_seeded_by(self, call: ast.Call, module: Module) -> tuple[ast.expr, ...]:
        """`torch.Generator().manual_seed(0)`."""
        if last_name(call.func) != "manual_seed":
            return ()
        values = self.outline.values(call.func, self.outline.frame_at(call, module))
        return tuple(call.args[:1]) if any(qualified(v) == "torch.Generator().manual_seed" for v in values) else ()

    def _handed_to(self, function: Function, call: ast.Call, *, shift: bool) -> tuple[ast.expr, ...]:
        """What a function of the project is given to seed with."""
        names = self.seeding_parameters(function.scope)
        found: list[ast.expr] = []
        for name in sorted(names):
            parameter = parameters(function.node).get(name)
            if parameter is None or parameter.index is None:
                given = argument_of(call, -1, name)
            else:
                given = argument_of(call, parameter.index - shift, name)
            if given is None:
                given = parameter.default if parameter is not None else None
            if given is None:
                return ()
            found.append(given)
        return tuple(found)

    def seeding_parameters(self, scope: Scope) -> frozenset[str]:
        """The parameters with which alone a function seeds."""
        known = self._parameters.get(id(scope))
        if known is None:
            self._parameters[id(scope)] = frozenset()
            known = self._parameters[id(scope)] = self._find_parameters(scope) if self._may_seed(scope) else frozenset()
        return known

    def _may_seed(self, scope: Scope) -> bool:
        """Whether a function's own definition, or the class that it is part of, leads to a call that seeds."""
        return self._seeders.comes_to(scope.outermost().name.encode(), scope.module.path)

    def _find_parameters(self, scope: Scope) -> frozenset[str]:
        own = parameters(scope.node)  # type: ignore[arg-type]
        everything = frozenset(own) - {receiver_name(scope)}
        worker = WorkerFunction(scope, "helper", "", frozenset(), False)
        found: set[str] = set()
        for seeding in self.of(scope):
            if not all(self.is_same(seed, worker, everything) for seed in seeding.seeds):
                return frozenset()
            names = {node.id for seed in seeding.seeds for node in ast.walk(seed) if isinstance(node, ast.Name)}
            found |= names & everything
        return frozenset(found)

    # the same in every worker

    def is_same(self, node: ast.AST, worker: WorkerFunction, fixed: frozenset[str], depth: int = 0) -> bool:
        if depth > 12:
            return False
        if isinstance(node, ast.Constant):
            return node.value is not None
        if isinstance(node, ast.Name):
            return self._is_same_name(node, worker, fixed, depth)
        if isinstance(node, ast.Attribute):
            return self._is_same_attribute(node, worker, fixed)
        if isinstance(node, ast.Call):
            return self._is_same_call(node, worker, fixed, depth)
        if isinstance(node, ast.Subscript):  # `seeds[rank]` is another one for each
            return all(self.is_same(part, worker, fixed, depth + 1) for part in (node.value, node.slice))
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp | ast.BoolOp | ast.Compare):
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            tests = [node.test] if isinstance(node, ast.IfExp) else []
            return all(self.is_same(part, worker, fixed, depth + 1) for part in parts if part not in tests)
        return False

    def _is_same_name(self, name: ast.Name, worker: WorkerFunction, fixed: frozenset[str], depth: int) -> bool:
        module = worker.scope.module
        scope = self.outline.scope_binding(name.id, module.scope_of(name))
        if scope is None:
            return False
        if scope.is_module:
            values = self.outline.values(name, self.outline.frame_at(name, module))
            bound_inside = any(
                module.scope_of(b.node).enclosing_function() is not None for b in scope.bindings[name.id]
            )
            return not bound_inside and all(isinstance(v, Constant) and v.value is not None for v in values)
        if scope.enclosing_function() is not worker.scope:
            return not scope.is_class  # of the function around: made in the parent, once
        return all(
            name.id in fixed
            if b.kind == "parameter"
            else b.kind in ("assign", "augmented", "walrus")
            and b.value is not None
            and self.is_same(b.value, worker, fixed, depth + 1)
            for b in scope.bindings[name.id]
        )

    def _is_same_attribute(self, node: ast.Attribute, worker: WorkerFunction, fixed: frozenset[str]) -> bool:
        if is_own_dataset(node.value, worker.scope.module):
            return self._is_left_alone(node.attr, worker)
        parts = dotted(node).split(".")
        if len(parts) < 2 or parts[-1] == "value":
            return False
        if parts[0] == receiver_name(worker.scope) and worker.scope.parent is not None:
            return self._is_same_on_object(parts[1], worker)
        module = worker.scope.module
        scope = self.outline.scope_binding(parts[0], module.scope_of(node))
        if scope is None:
            return False
        if not scope.is_module:
            is_around = scope.enclosing_function() is not worker.scope
            return is_around or (parts[0] in fixed and self._is_left_alone(parts[-1], worker))
        if all(b.kind == "assign" for b in scope.bindings[parts[0]]):
            return parts[-1].endswith("seed") or _is_constant(self.outline, node, module)
        return _is_constant(self.outline, node, module)

    def _is_same_on_object(self, name: str, worker: WorkerFunction) -> bool:
        """An attribute that the parent sets, and no worker."""
        if isinstance(worker.receiver, Instance) and worker.kind == "process":
            return self._is_same_in_processes(name, worker.receiver.cls)
        if not isinstance(worker.receiver, Instance) or worker.kind not in ("dataset", "collate", "initializer"):
            return False
        stored = False
        for cls in classes.project_classes(self.outline, worker.receiver.cls):
            for change, method in stores.by_attribute(cls).get(name, ()):
                stored = True
                if method.name != "__init__" and self.workers.runs(method):
                    return False
                if any(isinstance(n, ast.Call) and not _is_plain(n) for n in ast.walk(change.value or ast.Pass())):
                    return False
            stored = stored or any(b.kind == "assign" for b in cls.scope.bindings.get(name, ()))
            stored = stored or name in classes.fields(self.outline, cls)
        return stored and not self._is_set_by_initializer(name, worker)

    def _is_left_alone(self, name: str, worker: WorkerFunction) -> bool:
        """Whether no worker code of a module sets, or works out, an attribute of that name."""
        module = worker.scope.module
        functions = [f for f in module.functions if self.workers.runs(module.scopes[f])]
        stored = [c.node for changes in module.changes.values() for c in changes if c.name == name]
        return not any(getattr(f, "name", "") == name and is_property(f) for f in module.functions) and not any(
            ancestor in functions for node in stored for ancestor in ancestors(node)
        )

    def _is_same_in_processes(self, name: str, cls: Class) -> bool:
        """An attribute that each object gets alike: a constant, or a parameter that is one everywhere."""
        stored = [
            pair
            for item in classes.project_classes(self.outline, cls)
            for pair in stores.by_attribute(item).get(name, ())
        ]
        if not self.workers.crossings.is_process(cls) or len(stored) != 1 or stored[0][1].name != "__init__":
            return False
        value, init = stored[0][0].value, stored[0][1]
        return value is not None and self.is_same_for_objects(value, init, cls)

    def is_same_for_objects(self, node: ast.expr, init: Scope, cls: Class) -> bool:
        """Whether what an `__init__` works out is one for all objects of a class that the project makes."""
        if isinstance(node, ast.List | ast.Tuple | ast.BinOp):
            parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node.left, node.right]
            return all(self.is_same_for_objects(part, init, cls) for part in parts)
        if not isinstance(node, ast.Name):
            return isinstance(node, ast.Constant) and node.value is not None
        parameter = parameters(init.node).get(node.id)  # type: ignore[arg-type]
        if parameter is None:
            return False
        index = parameter.index - 1 if parameter.index is not None else None
        seeds: set[object] = set()
        constructions = self.workers.evaluator.callers.constructions(cls.scope)
        for _, arguments in constructions:
            source = arguments.get(index, parameter.name)
            if len(constructions) == 1 and source is not None and are_alike([source.node], arguments.call):
                return True
            values = self.workers.evaluator.of(source) if source is not None else ()
            default = parameter.default.value if isinstance(parameter.default, ast.Constant) else None
            given = [v.value if isinstance(v, Constant) else None for v in values] if source is not None else [default]
            seeds |= {None} if arguments.is_open or not given else set(given)
        return len(seeds) == 1 and None not in seeds

    def _is_set_by_initializer(self, name: str, worker: WorkerFunction) -> bool:
        codebase = self.outline.codebase
        for path in codebase.users([worker.scope.module.path]):
            if b"worker_init_fn" not in codebase.data(path):
                continue
            module = codebase.module(path)
            for change in [c for changes in module.changes.values() for c in changes] if module is not None else ():
                assert module is not None
                function = module.scope_of(change.node).enclosing_function()
                is_named = change.kind == "attribute" and change.name == name
                if is_named and function is not None and self.workers.sets_up(function):
                    return True
        return False

    def _is_same_call(self, call: ast.Call, worker: WorkerFunction, fixed: frozenset[str], depth: int) -> bool:
        module = worker.scope.module
        values = self.outline.values(call.func, self.outline.frame_at(call, module))
        of_loader = worker.kind in ("dataset", "collate", "helper") or "worker_init_fn" in worker.reached_from
        for value in values:
            if isinstance(value, Function) and self._gives_same(value, worker, depth):
                continue
            name = value.name if isinstance(value, External) else ""
            if name in random_sources.SEEDS_OF_TORCH:
                given = seed_given_to_torch(self.outline, call, worker.scope)
                if given is not None and self.is_same(given, worker, fixed, depth + 1):
                    continue
            if name not in random_sources.SAME_IN_LOADER or (name.startswith("torch.") and not of_loader):
                return False
        parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        return bool(values) and all(self.is_same(part, worker, fixed, depth + 1) for part in parts)

    def _gives_same(self, function: Function, worker: WorkerFunction, depth: int) -> bool:
        """Whether a function without parameters, such as `get_rank()`, gives the same in all workers."""
        scope = function.scope
        if parameters(function.node) or scope.is_generator or not scope.returns:
            return False
        inner = worker._replace(scope=scope, receiver=None)
        return all(r.value is not None and self.is_same(r.value, inner, frozenset(), depth + 1) for r in scope.returns)

    # what its author thought of

    def _is_chosen(self, seeding: Seeding, worker: WorkerFunction) -> bool:
        """Seeded under a switch of its own, or for some workers alone."""
        words = {dotted(n) for seed in seeding.seeds for n in ast.walk(seed) if isinstance(n, ast.Name | ast.Attribute)}
        own = kept_as(seeding.call)  # `if self.rng is None:` makes one a process
        words |= {"", "hasattr", receiver_name(worker.scope), own}
        return any(
            not words.issuperset(dotted(n) for n in ast.walk(condition.test) if isinstance(n, ast.Name | ast.Attribute))
            for condition in conditions(seeding.call)
        )

    def shared_parameters(self, module: Module) -> dict[Scope, frozenset[str]]:
        """Of functions that set workers up: the parameters that are the same in each of them."""
        found: dict[Scope, frozenset[str]] = {}
        for crossing in self.workers.crossings.of(module):
            if crossing.parameter.keyword not in ("worker_init_fn", "initializer"):
                continue
            for hanging in crossing.hanging:
                for function, names in bound_by(hanging.value):
                    own = set(parameters(function.node))
                    if crossing.parameter.keyword == "initializer":
                        names = own
                    elif not names and isinstance(hanging.value, Function):
                        names = set(left_out(function))
                    found[function.scope] = found.get(function.scope, frozenset()) | frozenset(names)
        for target, alike in given_to_processes(self.workers.crossings.of(module)):
            found[target] = found.get(target, alike) & alike
        return found

    def has_company(self, module: Module, target: Scope | None = None, receiver: Value | None = None) -> bool:
        """Whether more than one process runs a target, as far as the module shows.

        A function asks for itself alone, a method of a Process subclass for the objects of that class.
        """
        is_own = isinstance(receiver, Instance) and self.workers.crossings.is_process(receiver.cls)
        return (not is_own and self._is_spawned(module)) or are_several(self._made(module, target, receiver))

    def take_turns(self, module: Module, receiver: Value | None = None) -> bool:
        """Whether each of those processes ends before the next one begins, like calls of a function."""
        return not self._is_spawned(module) and take_turns(self._made(module, None, receiver))

    def _is_spawned(self, module: Module) -> bool:
        return any(crossing.api.kind == "spawn" for crossing in self.workers.crossings.of(module))

    def _made(self, module: Module, target: Scope | None, receiver: Value | None) -> set[ast.AST]:
        """The calls that make processes."""
        crossings = self.workers.crossings
        if isinstance(receiver, Instance) and crossings.is_process(receiver.cls):
            made = self.workers.evaluator.callers.constructions(receiver.cls.scope)
            return {arguments.call for _, arguments in made}
        found = (c for c in crossings.of(module) if c.api.kind == "process")
        return {c.call for c in found if target is None or runs(c, target)}

    def has_one_worker(self, worker: WorkerFunction, module: Module) -> bool:
        """Whether what an initializer prepares is known to be one process: there is no other to draw the same."""
        made = [c for c in self.workers.crossings.of(module) if c.text == worker.reached_from]
        return worker.kind == "initializer" and bool(made) and all(self._makes_one(crossing) for crossing in made)

    def _makes_one(self, crossing: Crossing) -> bool:
        index, name = (apis.LOADER_POSITIONS["num_workers"], "num_workers")
        if crossing.api.kind != "loader":
            index, name = 0, "max_workers" if crossing.api is apis.EXECUTOR else "processes"
        evaluator = self.workers.evaluator
        count = evaluator.arguments(crossing.call, crossing.frame).get(index, name)
        values = evaluator.of(count) if count is not None else ()
        return bool(values) and all(isinstance(v, Constant) and v.value == 1 and not is_choice(v) for v in values)

    def seeding_initializers(self, module: Module) -> Iterator[tuple[ast.Call, str]]:
        """Pools whose initializer is a library's function that seeds, with the arguments that all workers share."""
        if b"initargs" not in module.data:
            return
        seeders = dict(self.seeders_as_initializers(module))
        for crossing in self.workers.crossings.of(module):
            if crossing.parameter.keyword != "initargs" or crossing.call not in seeders or self._makes_one(crossing):
                continue
            given = [value for value in self.workers.evaluator.of(crossing.source) if isinstance(value, Collection)]
            if any(value.entries for value in given):
                yield crossing.call, seeders[crossing.call]

    def seeders_as_initializers(self, module: Module) -> Iterator[tuple[ast.Call, str]]:
        """Calls that are given a library's function that seeds, to set each worker up with."""
        for crossing in self.workers.crossings.of(module):
            for hanging in crossing.hanging if crossing.parameter.keyword == "initializer" else ():
                name = qualified(hanging.value)
                if name in random_sources.SEEDERS or name in random_sources.SEEDING_BY_ENTROPY:
                    yield crossing.call, name

    def is_in_order(self, worker: WorkerFunction, shards: bool) -> bool:
        """Whether an iteration seeds to have one order in all workers, of which each takes its part."""
        return worker.kind == "dataset" and shards and worker.reached_from.endswith(ITERATION_METHODS)


def _is_meant(worker: WorkerFunction) -> bool:
    """Whether a function puts back the state that it found."""
    nodes = body_nodes(worker.scope.node)
    calls = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    return bool(calls & random_sources.SAVING)


def runs(crossing: Crossing, target: Scope) -> bool:
    """Whether what is handed over is a function itself, and not what it calls."""
    return any(function.scope is target for hanging in crossing.hanging for function, _ in bound_by(hanging.value))


def _is_constant(evaluator: Evaluator, node: ast.expr, module: Module) -> bool:
    values = evaluator.values(node, evaluator.frame_at(node, module))
    return all(isinstance(v, Constant) and v.value is not None for v in values)


def _is_plain(call: ast.Call) -> bool:
    return last_name(call.func) in ("int", "abs", "len", "getattr", "get", "hash")
