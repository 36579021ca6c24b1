"""Seeds in worker code: what seeds there, what with, and what its author thought of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.crossing.bound_parameters import argument_of, bound_by
from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.boundary.working.called_functions import ITERATION_METHODS
from flake8_torchmp.boundary.working.company import Company
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, dotted, last_name, position
from flake8_torchmp.semantics.reach import Reach
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Collection, External, Function, Instance, Method, Value, qualified

from .made_generators import draws_noise, is_of_own, kept_as
from .sameness import Sameness

NAMES = frozenset(name.rpartition(".")[2] for name in (*random_sources.SEEDERS, *random_sources.MAKERS))
"""The names of what seeds or makes a generator."""
_SEEDS = re.compile(rb"\b(?:%b)(?=\s*\(|$)" % "|".join(random_sources.SEEDER_NAMES).encode())
"""A call of a seeder, or an import of one."""


class Seeding(NamedTuple):
    """A call that seeds, and the expressions that it seeds with."""

    call: ast.Call
    seeds: tuple[ast.expr, ...]


class Seeds:
    def __init__(self, outline: Evaluator, workers: Workers, sameness: Sameness, company: Company) -> None:
        self.outline = outline
        self.workers = workers
        self.sameness = sameness
        self.company = company
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
            if not all(self.sameness.is_same(seed, worker, fixed) for seed in seeding.seeds):
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
            not self.sameness.is_same(seed, other, fixed.get(other.scope, frozenset()))
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
            if not all(self.sameness.is_same(seed, worker, everything) for seed in seeding.seeds):
                return frozenset()
            names = {node.id for seed in seeding.seeds for node in ast.walk(seed) if isinstance(node, ast.Name)}
            found |= names & everything
        return frozenset(found)

    def _is_chosen(self, seeding: Seeding, worker: WorkerFunction) -> bool:
        """Seeded under a switch of its own, or for some workers alone."""
        words = {dotted(n) for seed in seeding.seeds for n in ast.walk(seed) if isinstance(n, ast.Name | ast.Attribute)}
        own = kept_as(seeding.call)  # `if self.rng is None:` makes one a process
        words |= {"", "hasattr", receiver_name(worker.scope), own}
        return any(
            not words.issuperset(dotted(n) for n in ast.walk(condition.test) if isinstance(n, ast.Name | ast.Attribute))
            for condition in conditions(seeding.call)
        )

    def seeding_initializers(self, module: Module) -> Iterator[tuple[ast.Call, str]]:
        """Pools whose initializer is a library's function that seeds, with the arguments that all workers share."""
        if b"initargs" not in module.data:
            return
        seeders = dict(self.seeders_as_initializers(module))
        for crossing in self.workers.crossings.of(module):
            if (
                crossing.parameter.keyword != "initargs"
                or crossing.call not in seeders
                or self.company.makes_one(crossing)
            ):
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
