"""Draws from a library's global generator in forked processes, all of which have inherited one state of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.boundary.working.workers import MOST_FUNCTIONS, WorkerFunction, Workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, last_name, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.switches import are_off
from flake8_torchmp.semantics.values import External, Instance, Member, Value, qualified

from .another_try import is_for_another_try, is_for_waiting
from .drawn_numbers import DrawnNumbers
from .seeding import Seeds
from .streams import Draw, Streams

_IN_PLACE = frozenset(("shuffle",))


class InheritedStreams:
    def __init__(self, outline: Evaluator, workers: Workers, seeds: Seeds, streams: Streams) -> None:
        self.outline = outline
        self.workers = workers
        self.seeds = seeds
        self.streams = streams
        self.drawn_numbers = DrawnNumbers(workers)

    def of(self, module: Module) -> Iterator[tuple[WorkerFunction, Draw]]:
        """Draws from a library's global generator in forked processes that nobody seeds."""
        workers = [w for w in self.workers.of(module) if w.kind in ("process", "task") and "fork" in w.methods]
        if not workers or self.workers.train_together(module):
            return
        if any(w.kind == "initializer" and self.seeds.seeds(w.scope) for w in self.workers.of(module)):
            return
        if any(self.seeds.seeders_as_initializers(module)):
            return
        drawing = [(w, draws) for w in workers if (draws := list(self._global_draws(w)))]
        unseeded = self._unseeded(module) if drawing else []
        for worker, draws in drawing:
            together = [reached for reached in unseeded if any(s.place == worker.scope.place for s in reached)]
            alike = (draw for draw in draws if together and self._is_alike(draw, worker, module, together))
            yield from ((worker, draw) for draw in islice(alike, 1))

    def _is_alike(self, draw: Draw, worker: WorkerFunction, module: Module, together: list[list[Scope]]) -> bool:
        if is_for_another_try(draw.node) or is_for_waiting(draw.node):
            return False
        if draw.text.startswith("numpy") and not self._is_used_by_parent(worker.scope.module, module):
            return False
        if last_name(draw.node.func) not in _IN_PLACE and not self.drawn_numbers.leave(draw.node, worker, module):
            return False
        return not all(_library(draw.text) in self._moved_on(reached, module) for reached in together)

    def _unseeded(self, module: Module) -> list[list[Scope]]:
        """What processes reach without seeding anything, by what they begin with.

        A target seeds for its arguments as well, the `run` of a process for all that its object carries.
        """
        reached_by: dict[object, list[Scope]] = {}
        for root in self.workers.roots(module):
            if root.kind not in ("process", "task"):
                continue
            if root.kind == "process" and not self.seeds.company.several(module, receiver=root.receiver):
                continue
            begins = root.run.place if root.run is not None else root.call or root.function.scope.place
            reached = reached_by.setdefault(begins, [])
            pending = [(root.function.scope, root.receiver)]
            pending += [(f.scope, owner) for f, owner, _ in self.workers.methods_of_arguments(root.function.scope)]
            pending += self._making_of(root.receiver)
            reached += [scope for scope, _ in self.workers.called.reached_from(pending, MOST_FUNCTIONS)]
        return [reached for reached in reached_by.values() if not any(map(self.seeds.seeds, reached))]

    def _making_of(self, process: Value | None) -> list[tuple[Scope, Value | None]]:
        """What makes an object of a Process subclass: seeded there, its process has that state when it is forked."""
        if not isinstance(process, Instance) or not self.workers.crossings.is_process(process.cls):
            return []
        init = classes.find_method(self.outline, process.cls, "__init__")
        return [(init.scope, process)] if init is not None else []

    def _moved_on(self, reached: list[Scope], module: Module) -> set[str]:
        """The libraries whose generator a process moves on by who it is: `torch.randn(rank)`, which nobody gets."""
        alike = self.seeds.sameness.shared_parameters(module)
        places = {scope.place for scope in reached}
        return {
            _library(name)
            for worker in self.workers.of(module)
            if worker.scope.place in places
            for node in body_nodes(worker.scope.node)
            if isinstance(node, ast.Call) and _is_thrown_away(node)
            for name in self._drawn_by(node, worker.scope.module)
            if not all(self.seeds.sameness.is_same(a, worker, alike.get(worker.scope, frozenset())) for a in node.args)
        }

    def _global_draws(self, worker: WorkerFunction) -> Iterator[Draw]:
        module = worker.scope.module
        if b"random" not in module.data and b"torch" not in module.data:
            return
        for node in body_nodes(worker.scope.node):
            if not isinstance(node, ast.Call) or any(k.arg == "generator" for k in node.keywords):
                continue
            if are_off(node, worker.switches) or _is_thrown_away(node):
                continue
            yield from (Draw(node, None, None, name) for name in self._drawn_by(node, module))

    def _drawn_by(self, call: ast.Call, module: Module) -> Iterator[str]:
        """The functions of a library that draw from its global generator, if a call is of one."""
        for value in self.outline.values(call.func, self.outline.frame_at(call, module)):
            name = qualified(value) if isinstance(value, External | Member) else ""
            is_numpy = isinstance(value, External) and name.startswith(random_sources.NUMPY_RANDOM)
            if random_sources.draws_by_torch(name) or (is_numpy and random_sources.draws(name)):
                yield name

    def _is_used_by_parent(self, *modules: Module) -> bool:
        if any(self.outline.codebase.leads_to(m.path, random_sources.LOADS_NUMPY_RANDOM) for m in modules):
            return True
        for module in modules:
            for node in module.loads("random"):
                if isinstance(node, ast.Attribute):
                    values = self.outline.values(node, self.outline.frame_at(node, module))
                    is_numpy = any(isinstance(v, External) and v.name == "numpy.random" for v in values)
                    if is_numpy and not self.streams.runs(node, module, module):
                        return True
        return False


def _library(name: str) -> str:
    return name.partition(".")[0]


def _is_thrown_away(call: ast.Call) -> bool:
    """Whether nobody gets the numbers that a call draws, neither by what it gives nor in what it is given."""
    return isinstance(up(call), ast.Expr) and last_name(call.func) not in _IN_PLACE
