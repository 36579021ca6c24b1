"""What a function opens once and keeps, where the parent asks for it before there are workers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_torchmp.boundary.circumstances.construction import CONSTRUCTION
from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.crossing.crossings import Crossings
from flake8_torchmp.boundary.module_state.state import State
from flake8_torchmp.boundary.tables.openers import Handle, Openers, is_open
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics.calls import remembers_results
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class

from .lifetimes import asks_in_which_process

MOST_FUNCTIONS = 20
PREPARATIONS = frozenset((*CONSTRUCTION, "setup"))
"""What an object with loaders does before it makes them."""


class EarlyOpenings:
    def __init__(
        self, evaluator: Evaluator, crossings: Crossings, workers: Workers, state: State, openers: Openers
    ) -> None:
        self.evaluator = evaluator
        self.crossings = crossings
        self.workers = workers
        self.state = state
        self.openers = openers

    def by(self, worker: WorkerFunction) -> Iterator[tuple[Global, Handle]]:
        """The variables, or functions by their caches, in which forked workers find what the parent had opened."""
        scope = worker.scope
        if worker.kind != "dataset" or "fork" not in worker.methods or asks_in_which_process(scope):
            return
        kept = _kept_by_its_cache(scope)
        stored: dict[str, Sequence[ast.expr]] = {**_put_in(scope), **kept}
        for name, values in stored.items():
            variable = Global(scope.module, name)
            handles = [handle for value in values for handle in self._opened_by(value, scope.module)]
            if not handles or not (name in kept or self.state.keeps_its_own(scope, variable)):
                continue
            if self._is_asked_early(scope):
                yield variable, handles[0]

    def _opened_by(self, made: ast.expr, module: Module) -> Iterator[Handle]:
        for value in self.evaluator.values(made, self.evaluator.frame_at(made, module)):
            for handle in self.openers.handles(value):
                if handle.opener.is_opened_at_once and not handle.opener.forks and is_open(handle, ()):
                    yield handle

    def _is_asked_early(self, scope: Scope) -> bool:
        """Whether what makes the datasets or their loaders calls a function before."""
        sampled = list(self.workers.sampling_by(scope))
        seen = {scope.place}
        pending = [scope] if sampled else []
        while pending and len(seen) < MOST_FUNCTIONS:
            for arguments, _ in self.evaluator.callers.of(pending.pop(0)):
                module = arguments.frame.module
                around = module.scope_of(arguments.call).enclosing_function()
                if around is None or around.place in seen or self.workers.runs(around):
                    continue
                if self._prepares(around, sampled) or self._makes_loader_behind(arguments.call, around, sampled):
                    return True
                seen.add(around.place)
                pending.append(around)
        return False

    def _prepares(self, function: Scope, sampled: Sequence[Class]) -> bool:
        """Whether it makes one of the datasets, or the object whose methods make their loaders."""
        owner = function.parent
        if owner is None or not owner.is_class or function.name not in PREPARATIONS:
            return False
        if any(cls.scope is owner for cls in sampled):
            return function.name in CONSTRUCTION
        return any(scope.parent is owner for _, scope in self._loaders(function.module, sampled))

    def _makes_loader_behind(self, call: ast.AST, function: Scope, sampled: Sequence[Class]) -> bool:
        loaders = self._loaders(function.module, sampled)
        return any(scope is function and position(made) > position(call) for made, scope in loaders)

    def _loaders(self, module: Module, sampled: Sequence[Class]) -> Iterator[tuple[ast.Call, Scope]]:
        """The loaders with workers that a module which names one of the datasets makes, and where."""
        codebase = self.evaluator.codebase
        if not any(cls.scope.module is module or codebase.reads(module.path, cls.scope.name) for cls in sampled):
            return
        for crossing in self.crossings.of(module):
            around = module.scope_of(crossing.call).enclosing_function() if crossing.module is module else None
            if crossing.api.kind == "loader" and crossing.has_workers and around is not None:
                yield crossing.call, around


def _kept_by_its_cache(scope: Scope) -> dict[str, list[ast.expr]]:
    """What a function under `functools.cache` returns, by its name."""
    if not remembers_results(scope.node):
        return {}
    return {scope.name: [statement.value for statement in scope.returns if statement.value is not None]}


def _put_in(scope: Scope) -> dict[str, list[ast.Call]]:
    """The calls whose results a function puts into variables of its module, by their names."""
    module = scope.module
    key = ("put into globals",)
    if key not in module.memo:
        found: dict[Scope, dict[str, list[ast.Call]]] = {}
        for name, bindings in module.scope.bindings.items():
            changes = [(c.value, c.target) for c in module.changes.get(name, ()) if c.kind in ("item", "method")]
            for value, place in [*changes, *((binding.value, binding.node) for binding in bindings)]:
                around = module.scope_of(place).enclosing_function() if isinstance(value, ast.Call) else None
                if isinstance(value, ast.Call) and around is not None and name not in around.bindings:
                    found.setdefault(around, {}).setdefault(name, []).append(value)
        module.memo[key] = found
    known: dict[Scope, dict[str, list[ast.Call]]] = module.memo[key]
    return known.get(scope, {})
