"""Draws from a library's global generator in forked processes, all of which have inherited one state of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.boundary.working.workers import MOST_FUNCTIONS, WorkerFunction, Workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, body_nodes, last_name, up
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.switches import are_off
from flake8_torchmp.semantics.values import External, Instance, Member, Value, qualified

from .seeding import Seeds
from .streams import Draw, Streams


class InheritedStreams:
    def __init__(self, outline: Evaluator, workers: Workers, seeds: Seeds, streams: Streams) -> None:
        self.outline = outline
        self.workers = workers
        self.seeds = seeds
        self.streams = streams

    def of(self, module: Module) -> Iterator[tuple[WorkerFunction, Draw]]:
        """Draws from a library's global generator in forked processes that nobody seeds."""
        workers = [w for w in self.workers.of(module) if w.kind in ("process", "task") and "fork" in w.methods]
        if not workers or self.workers.train_together(module):
            return
        if any(w.kind == "initializer" and self.seeds.seeds(w.scope) for w in self.workers.of(module)):
            return
        if any(self.seeds.seeders_as_initializers(module)):
            return
        drawing = [(w, draw) for w in workers if (draw := self._global_draw(w)) is not None]
        if not drawing:
            return
        unseeded, moved_on = self._unseeded(module), self._moved_on(module, workers)
        for worker, draw in drawing:
            if worker.scope.place not in unseeded or _is_for_waiting(draw.node) or _library(draw.text) in moved_on:
                continue
            if draw.text.startswith("numpy") and not self._is_used_by_parent(worker.scope.module, module):
                continue
            yield worker, draw

    def _unseeded(self, module: Module) -> set[Place]:
        """The functions that processes reach without seeding anything; a target seeds for its arguments as well."""
        reached_by: dict[object, list[Scope]] = {}
        for root in self.workers.roots(module):
            if root.kind not in ("process", "task"):
                continue
            if root.kind == "process" and not self.seeds.has_company(module, receiver=root.receiver):
                continue
            scope = root.run or root.function.scope
            reached = reached_by.setdefault(root.call if root.run is None and root.call else scope.place, [])
            pending = [(root.function.scope, root.receiver)]
            pending += [(f.scope, owner) for f, owner, _ in self.workers.methods_of_arguments(root.function.scope)]
            pending += self._making_of(root.receiver)
            while pending and len(reached) < MOST_FUNCTIONS:
                scope, receiver = pending.pop()
                if scope not in reached:
                    reached.append(scope)
                    pending += [(f.scope, owner) for f, owner, _ in self.workers.called.of(scope, receiver)]
        unseeded = [reached for reached in reached_by.values() if not any(map(self.seeds.seeds, reached))]
        return {scope.place for reached in unseeded for scope in reached}

    def _making_of(self, process: Value | None) -> list[tuple[Scope, Value | None]]:
        """What makes an object of a Process subclass: seeded there, its process has that state when it is forked."""
        if not isinstance(process, Instance) or not self.workers.crossings.is_process(process.cls):
            return []
        init = classes.find_method(self.outline, process.cls, "__init__")
        return [(init.scope, process)] if init is not None else []

    def _moved_on(self, module: Module, workers: Sequence[WorkerFunction]) -> set[str]:
        """The libraries whose generator each process moves on by who it is: `torch.rand(rank)`, which nobody keeps."""
        alike = self.seeds.shared_parameters(module)
        return {
            _library(draw.text)
            for worker in workers
            for draw in self._global_draws(worker)
            if _is_dropped(draw.node)
            and not all(self.seeds.is_same(a, worker, alike.get(worker.scope, frozenset())) for a in draw.node.args)
        }

    def _global_draw(self, worker: WorkerFunction) -> Draw | None:
        return next((draw for draw in self._global_draws(worker) if not _is_dropped(draw.node)), None)

    def _global_draws(self, worker: WorkerFunction) -> Iterator[Draw]:
        module = worker.scope.module
        if b"random" not in module.data and b"torch" not in module.data:
            return
        for node in body_nodes(worker.scope.node):
            if not isinstance(node, ast.Call) or any(k.arg == "generator" for k in node.keywords):
                continue
            if are_off(node, worker.switches):
                continue
            for value in self.outline.values(node.func, self.outline.frame_at(node, module)):
                name = qualified(value) if isinstance(value, External | Member) else ""
                is_numpy = isinstance(value, External) and name.startswith(random_sources.NUMPY_RANDOM)
                if random_sources.draws_by_torch(name) or (is_numpy and random_sources.draws(name)):
                    yield Draw(node, None, None, name)

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


def _is_dropped(draw: ast.Call) -> bool:
    """Whether nobody keeps what is drawn; a list that is shuffled keeps it itself."""
    return isinstance(up(draw), ast.Expr) and last_name(draw.func) != "shuffle"


def _is_for_waiting(node: ast.AST) -> bool:
    """Whether a number is drawn for another try, or for how long to wait: no data comes of it."""
    return any(
        isinstance(outer, ast.ExceptHandler) or (isinstance(outer, ast.Call) and last_name(outer.func) == "sleep")
        for outer in ancestors(node)
    )
