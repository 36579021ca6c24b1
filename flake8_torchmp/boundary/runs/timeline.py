"""The runs of programs that come to a place, and what may have happened there before by all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.methods import ALL, StartMethods
from flake8_torchmp.boundary.starting.starts import Starts
from flake8_torchmp.boundary.starting.threads import THREAD_NAMES, ThreadStarts
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics.answers import keep_empty
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name, position
from flake8_torchmp.semantics.program_order import Mark
from flake8_torchmp.semantics.scopes import Place, Scope

from .events import AllEvents, OnlyThreads
from .program_runs import Moment, ProgramRun, add

MAIN = re.compile(rb"__main__")
PROCESSES = re.compile(rb"multiprocessing|\bProcess|Loader|\.spawn\b|\bTrainer\b")
MOST_CALLERS = 40
MOST_STEPS = 5_000
"""Nodes that all the runs which come to some functions visit: no further run is begun then."""


class Timeline:
    def __init__(
        self, evaluator: Evaluator, outline: Evaluator, methods: StartMethods, starts: Starts, workers: Workers
    ) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.methods = methods
        self.starts = starts
        self.workers = workers
        self._runs: dict[tuple[Place, bool], dict[int, Moment]] = {}
        self._steps: dict[tuple[Place, bool], int] = {}
        self.threads = OnlyThreads(ThreadStarts(self.outline, self.starts))
        self.all_events = {
            with_loaders: AllEvents(self.evaluator, self.outline, self.starts, self.workers)
            for with_loaders in (False, True)
        }

    def forget(self) -> None:
        keep_empty(self._runs)
        for watch in (self.threads, *self.all_events.values()):
            watch.forget()

    def of(self, scopes: list[Scope], *, in_tests: bool = True) -> dict[int, Moment]:
        """The moments of all runs that come to some functions, by the node at which they are."""
        found: dict[int, Moment] = {}
        steps = 0
        roots = [root for root in self._roots(scopes) if in_tests or not is_called_test(root[0].module.path)]
        for root, is_main in sorted(roots, key=_of_function):
            if steps > MOST_STEPS:
                break
            for moment in self._run(root, is_main).values():
                add(found, moment)
            steps += self._steps[root.place, is_main]
        return found

    def _run(self, root: Scope, is_main: bool) -> dict[int, Moment]:
        """The moments of one run that begins with a module, or with a function of it."""
        key = (root.place, is_main)
        known = self._runs.get(key)
        if known is None:
            known = self._runs[key] = {}
            self._steps[key] = 0
            if self.evaluator.codebase.leads_to(root.module.path, PROCESSES):
                self.starts.start_afresh()
                run = ProgramRun(self, known, root.module)
                state = run.module(root.module, frozenset(), is_main=is_main)
                if root.is_function and not run.has_entered(root):
                    run.function(self.evaluator.frame_of(root), state)
                self._steps[key] = run.steps
        return known

    def _roots(self, scopes: list[Scope]) -> list[tuple[Scope, bool]]:
        """Where runs begin that come to a function: modules, and functions that nobody calls."""
        found: dict[int, tuple[Scope, bool]] = {}
        pending = list(scopes)
        seen: set[int] = set()
        while pending and len(seen) < MOST_CALLERS:
            scope = pending.pop(0)
            if id(scope) in seen:
                continue
            seen.add(id(scope))
            function = scope.enclosing_function()
            if function is None:
                found[id(scope.module)] = (scope.module.scope, True)
                continue
            callers = [
                arguments.frame.scope
                for arguments, _ in self.evaluator.callers.of(function)
                if isinstance(arguments.call, ast.Call)
            ]
            owner = function.enclosing_class()
            makers: list[Scope] = []
            if owner is not None and function.name in ("__enter__", "__call__", "__post_init__"):
                makers = [arguments.frame.scope for _, arguments in self.evaluator.callers.constructions(owner)]
            if not callers and not (makers and function.name == "__post_init__"):
                found[id(function)] = (function, False)
                pending += self._keepers(function)
            pending += [*callers, *makers]
        return list(found.values())

    def _keepers(self, function: Scope) -> Iterator[Scope]:
        """Where a function is named and not called: whoever keeps it in a list or table may call it from there."""
        codebase = self.evaluator.codebase
        paths = codebase.mentioning(function.name, function.module.path)
        reading = (path for path in paths if codebase.reads(path, function.name))
        for module in map(codebase.module, reading if len(paths) <= MOST_CALLERS else ()):
            for load in module.loads(function.name) if module is not None else ():
                assert module is not None
                scope = module.scope_of(load)
                if scope.enclosing_function() is not function:
                    yield scope

    def forked_after_threads(self, module: Module) -> Iterator[tuple[Moment, Mark]]:
        """Where processes are, or may by default be, forked while a thread of a module runs."""
        scopes = list(self._threading_scopes(module))
        if any(is_main and root.module is module for root, is_main in self._roots(scopes)):
            scopes += self._programs_with(module)
        moments = self.of(scopes, in_tests=False).values() if scopes else ()
        either = {id(moment.node) for moment in moments if moment.start is not None}
        """Where `kind(target=…)` starts a process, or a thread where that is chosen: all of one kind, then."""
        for moment in moments:
            start = moment.start
            if (
                start is None
                or "fork" not in start.methods
                or (not start.by_default and len(start.methods) == len(ALL))
            ):
                continue
            threads = [
                mark
                for mark in moment.before
                if mark.kind == "thread" and mark.made_in is module and id(mark.node) not in either
            ]
            if threads:
                yield moment, min(threads, key=lambda mark: position(mark.node))

    def _programs_with(self, module: Module) -> Iterator[Scope]:
        """The modules that import one and run something themselves, as far as names say."""
        codebase = self.evaluator.codebase
        paths = [path for path in codebase.users([module.path]) if codebase.matches(path, MAIN) and path != module.path]
        for program in map(codebase.module, paths if len(paths) <= MOST_CALLERS else ()):
            if program is not None:
                yield program.scope

    def _threading_scopes(self, module: Module) -> Iterator[Scope]:
        """The functions that make threads of a module's, as far as names say."""
        for name in THREAD_NAMES:
            for call in module.calls_of(name):
                yield module.scope_of(call)
        for node in module.classes:
            scope = module.scopes[node]
            if any(last_name(base) in module.names_of("Thread") for base in node.bases):
                for _, arguments in self.evaluator.callers.constructions(scope):
                    yield arguments.frame.scope


def _of_function(run: tuple[Scope, bool]) -> bool:
    """Whether a run begins with a function, which is less sure to be run than a module."""
    return not run[1]
