"""Endless streams of samples that are drawn by a generator which every worker seeds alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.crossing.bound_parameters import argument_of
from flake8_torchmp.boundary.loading.loaders import Loaders
from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.boundary.working.called_functions import ITERATION_METHODS
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.semantics.flow import is_endless
from flake8_torchmp.semantics.nodes import body_nodes, last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, External, Instance

from .seeding import Seeds
from .sharding import Sharding


class Made(NamedTuple):
    """A generator that a function makes for itself, and where it gets its seed."""

    name: str
    call: ast.Call
    seed: ast.expr


class SameStreams:
    def __init__(self, seeds: Seeds, sharding: Sharding, loaders: Loaders) -> None:
        self.seeds = seeds
        self.sharding = sharding
        self.loaders = loaders

    def seeded_alike(self, worker: WorkerFunction) -> Made | None:
        """What seeds the generator of an endless iteration, where loaders have several workers do so alike.

        One that asks which worker it is for takes its part of the stream, and that has to be one for all.
        """
        receiver, scope = worker.receiver, worker.scope
        if worker.kind != "dataset" or scope.name not in ITERATION_METHODS or not isinstance(receiver, Instance):
            return None
        loops = [node for node in body_nodes(scope.node, nested=False) if _never_ends(node)]
        for made in self._made_in(scope) if loops else ():
            if any(_draws(loop, made.name) for loop in loops) and self._is_alike(made.seed, worker):
                cls = receiver.cls
                is_divided = self.sharding.shards(cls) or self.sharding.is_divided_by_others(cls)
                is_given = self.loaders.are_given(cls) and not self.loaders.have_one_worker(cls)
                return made if is_given and not is_divided else None
        return None

    def _is_alike(self, seed: ast.expr, worker: WorkerFunction) -> bool:
        """Whether a seed is one for all workers; None, which asks the system, is not."""
        workers = self.seeds.workers
        values = workers.evaluator.values(seed, workers.frame_of(worker))
        may_be_none = any(isinstance(value, Constant) and value.value is None for value in values)
        return not may_be_none and self.seeds.sameness.is_same(seed, worker, frozenset())

    def _made_in(self, scope: Scope) -> Iterator[Made]:
        evaluator, module = self.seeds.outline, scope.module
        for name, bindings in scope.bindings.items():
            made = bindings[0].value if len(bindings) == 1 else None
            if bindings[0].kind != "assign" or not isinstance(made, ast.Call):
                continue
            values = evaluator.values(made.func, evaluator.frame_at(made, module))
            if not any(isinstance(value, External) and value.name in random_sources.MAKERS for value in values):
                continue
            later = [
                node
                for node in body_nodes(scope.node, nested=False)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == name
                and node.func.attr in random_sources.RESEEDING
            ]
            seeding = later[0] if later else made
            seed = argument_of(seeding, 0, "seed")
            if seed is not None and len(later) < 2:
                yield Made(name, seeding, seed)


def _never_ends(node: ast.AST) -> bool:
    counts = isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "count"
    return counts or is_endless(node)


def _draws(loop: ast.AST, name: str) -> bool:
    """Whether a loop calls a generator's method that draws, or hands the generator to something."""
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        method = node.func
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id == name:
            if method.attr in random_sources.DRAWING_METHODS:
                return True
        elif any(isinstance(argument, ast.Name) and argument.id == name for argument in given):
            return True
    return False
