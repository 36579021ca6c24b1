"""Worker code: the functions that run behind the boundary, and how they are reached."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flake8_torchmp.boundary.circumstances.methods import StartMethods
from flake8_torchmp.boundary.crossing.crossings import Crossings
from flake8_torchmp.boundary.crossing.hanging import Hanging
from flake8_torchmp.boundary.loading.datasets import Datasets
from flake8_torchmp.boundary.tables import apis, random_sources
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.answers import keep_empty
from flake8_torchmp.semantics.calls import Frame, has_receiver, is_property, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.switches import Switches
from flake8_torchmp.semantics.values import Class, Function, Instance, Method, Value

from .called_functions import ITERATION_METHODS, Called, CalledFunctions
from .daemons import Daemons
from .worker_datasets import methods_called

RANKS = ("process", "spawn")
TARGETS = (*RANKS, "task")
SAMPLE_METHODS = ("__getitem__", "__getitems__")
MOST_FUNCTIONS = 400
_HOLLOW = frozenset(
    f"torch.utils.data.{module}{name}" for module in ("", "dataset.") for name in ("Dataset", "IterableDataset")
) | {"builtins.object", "abc.ABC", "typing.Generic"}
"""Bases that read nothing of an object."""
_INITIALIZING = re.compile(rb"\binitializer\b|worker_init_fn|\bPool\b|Executor")
"""What a file holds that prepares workers."""
_TRAIN_TOGETHER = re.compile(rb"\b(?:" + "|".join(sorted(random_sources.DISTRIBUTED)).encode() + rb")\b")


class WorkerFunction(NamedTuple):
    """A function that runs in worker processes."""

    scope: Scope
    kind: str
    """dataset, collate, initializer, task, process: what it is reached from"""
    reached_from: str
    """In words: `Pairs.__getitem__`, `Pool.map(func=)`."""
    methods: frozenset[str]
    """The start methods under which the workers may be made."""
    is_daemon: bool
    """Whether the workers may not have children."""
    receiver: Value | None = None
    """The object whose method it is, where that is known."""
    calls_away: int = 0
    """How many calls lie between what was handed over and it."""
    switches: Switches = ()
    """What the first call of it gives for parameters that it tests."""

    @property
    def is_far(self) -> bool:
        """Whether it lies behind what workers begin with, and what that calls: a program keeps its books wherever."""
        return self.calls_away > 1


class Root(NamedTuple):
    function: Function
    receiver: Value | None
    kind: str
    text: str
    methods: frozenset[str]
    is_daemon: bool
    call: ast.AST | None = None
    """The call that hands it over, by itself or with the arguments of another one."""
    run: Scope | None = None
    """Of what a Process object holds: the method that works with it."""
    role: str = "function"
    """What it hangs on: the function that workers begin with, its arguments, the object of a process."""


class Workers:
    def __init__(
        self,
        evaluator: Evaluator,
        outline: Evaluator,
        crossings: Crossings,
        methods: StartMethods,
        datasets: Datasets,
        named: tuple[str, ...],
    ) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.crossings = crossings
        self.methods = methods
        self.daemons = Daemons(evaluator)
        self.datasets = datasets
        self.named = named
        self._of: dict[str, list[WorkerFunction]] = {}
        self._files_of_roots: dict[str, frozenset[str]] = {}
        self._kinds: dict[Place, frozenset[str]] = {}
        self._kinds_by_user: dict[str, dict[Place, set[str]]] = {}
        self.called = CalledFunctions(evaluator, outline, crossings)

    def forget(self) -> None:
        keep_empty(self._of)
        self.called.forget()

    def of(self, module: Module) -> list[WorkerFunction]:
        """The functions of the project that run in workers because of what a module does or defines."""
        known = self._of.get(module.path)
        if known is None:
            self._of[module.path] = []
            known = self._of[module.path] = self.evaluator.alone(lambda: list(self._reached(module)))
            self._kinds_by_user[module.path] = _by_place(known)
        return known

    def _reached(self, module: Module) -> Iterator[WorkerFunction]:
        seen: set[tuple[int, str, int, bool]] = set()
        followed: set[tuple[object, ...]] = set()
        roots = list(self.roots(module))
        pending = [
            WorkerFunction(root.function.scope, root.kind, root.text, root.methods, root.is_daemon, root.receiver)
            for root in roots
        ]
        loaders = {root.function.scope: root.call for root in roots if root.kind == "initializer"}
        targets = {current.scope for current in pending if current.kind in TARGETS}
        starting = {current.scope for current in pending}
        while pending and len(followed) < MOST_FUNCTIONS:
            current = pending.pop(0)
            key = (id(current.scope), current.kind, _class_of(current.receiver), current.is_daemon)
            as_called = (*key, _made_by(current.receiver), current.switches)
            if as_called in followed:
                continue
            followed.add(as_called)
            if key not in seen:  # the same method may call something else for another object, or with other options
                seen.add(key)
                yield current
            called = self.called.of(current.scope, current.receiver, current.switches)
            if current.scope in targets or current.calls_away:
                begin = None if current.scope in targets else starting
                called = [*called, *self.methods_of_arguments(current.scope, begin)]
            if current.scope in loaders:
                crossings = self.crossings.of(module)
                called = [*called, *methods_called(current.scope, loaders[current.scope], crossings, self.outline)]
            away = current.calls_away + 1
            pending += [
                current._replace(scope=f.scope, receiver=receiver, switches=switches, calls_away=away)
                for f, receiver, switches in called
            ]

    def methods_of_arguments(self, scope: Scope, starting: set[Scope] | None = None) -> Iterator[Called]:
        """What a target, or what some functions lead to, calls on the objects that it is given: `env.step()`."""
        called: dict[str, list[ast.Attribute]] = {}
        for node in body_nodes(scope.node):
            method = node.func if isinstance(node, ast.Call) else None
            if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name):
                continue
            if not self.outline.codebase.may_define(method.attr):
                continue
            if self.outline.scope_binding(method.value.id, scope.module.scope_of(node)) is scope:
                called.setdefault(method.value.id, []).append(method)
        for name in parameters(scope.node):  # type: ignore[arg-type]
            for frame in self._frames_by(scope, starting) if name in called and name != receiver_name(scope) else ():
                for value in self.evaluator.values(called[name][0].value, frame):
                    if not isinstance(value, Instance):
                        continue
                    for attribute in called[name]:
                        found = classes.find_method(self.outline, value.cls, attribute.attr)
                        if found is not None:
                            yield Called(found, value)

    def _frames_by(self, scope: Scope, starting: set[Scope] | None) -> list[Frame]:
        """The frames in which a function runs, or those alone that one of some functions leads to."""
        frames = self.evaluator.contexts(scope)
        return frames if starting is None else [f for f in frames if any(c in starting for c in _callers_of(f))]

    def runs(self, scope: Scope, kind: str = "") -> bool:
        """Whether a function runs in workers, or in those of a kind."""
        kinds = self.kinds_of(scope)
        return kind in kinds if kind else bool(kinds)

    def kinds_of(self, scope: Scope) -> frozenset[str]:
        """The kinds of worker code that a function is, by what the modules do which can bring it to workers."""
        known = self._kinds.get(scope.place)
        if known is None:
            known = self._kinds[scope.place] = self._kinds_by_users(scope)
        return known

    def _kinds_by_users(self, scope: Scope, words: re.Pattern[bytes] | None = None) -> frozenset[str]:
        codebase = self.evaluator.codebase
        named = (user for user in codebase.mentions.of(scope) if codebase.matches(user, apis.OWN_WORDS))
        users = [user for user in named if words is None or codebase.matches(user, words)]
        asked = codebase.worth_parsing(users, scope.module.path)
        return frozenset().union(*(self._kinds_by(user).get(scope.place, ()) for user in asked))

    def _kinds_by(self, user: str) -> dict[Place, set[str]]:
        """The kinds of worker code that functions are because of what one file does or defines."""
        module = self.evaluator.codebase.module(user) if user not in self._kinds_by_user else None
        if module is not None:
            self.of(module)
        return self._kinds_by_user.get(user, {})

    def train_together(self, module: Module) -> bool:
        """Whether the processes that a module starts train one model: each runs the program, and starts alike."""
        return any(
            self.outline.codebase.matches(worker.scope.module.path, _TRAIN_TOGETHER)
            for worker in self.of(module)
            if worker.kind in RANKS
        )

    def is_of_program(self, worker: WorkerFunction, module: Module) -> bool:
        """Whether worker code is the program itself, which each rank runs whole: far from where ranks are started."""
        if worker.kind not in RANKS or worker.scope.module is module or not self.train_together(module):
            return False
        if module.path not in self._files_of_roots:
            files = frozenset(root.function.scope.module.path for root in self.roots(module))
            self._files_of_roots[module.path] = files
        return worker.scope.module.path not in self._files_of_roots[module.path]

    def sets_up(self, scope: Scope) -> bool:
        """Whether a function prepares each worker: an initializer, or called by one."""
        return "initializer" in (self._kinds.get(scope.place) or self._kinds_by_users(scope, _INITIALIZING))

    def may_run_in_parent(self, node: ast.AST, module: Module) -> bool:
        """Whether a place is in sampling or collating code, which the parent runs too, not in what prepares workers."""
        function = module.scope_of(node).enclosing_function()
        while function is not None:
            kinds = self.kinds_of(function)
            if kinds:
                return bool(kinds & {"dataset", "collate"})
            owner = function.parent
            if owner is not None and owner.is_class and function.name in (*SAMPLE_METHODS, *ITERATION_METHODS):
                assert owner.parent is not None
                return self.datasets.is_dataset(Class(owner, self.outline.frame_of(owner.parent)))
            function = owner.enclosing_function() if owner is not None else None
        start = module.scope_of(node).enclosing_function()
        return start is not None and any(self.sampling_by(start))

    def sampling_by(self, scope: Scope, depth: int = 3) -> Iterator[Class]:
        """The datasets whose sample methods call a function, or read it as a property, directly or not."""
        for caller in self._readers(scope) if is_property(scope.node) else self._callers(scope):
            owner = caller.parent
            if owner is not None and owner.is_class and caller.name in (*SAMPLE_METHODS, *ITERATION_METHODS):
                assert owner.parent is not None
                cls = Class(owner, self.outline.frame_of(owner.parent))
                if self.datasets.is_dataset(cls):
                    yield cls
            elif depth and caller is not scope:
                yield from self.sampling_by(caller, depth - 1)

    def _callers(self, scope: Scope) -> Iterator[Scope]:
        for arguments, _ in self.evaluator.callers.of(scope):
            caller = arguments.frame.module.scope_of(arguments.call).enclosing_function()
            if caller is not None:
                yield caller

    def _readers(self, scope: Scope) -> Iterator[Scope]:
        codebase = self.evaluator.codebase
        for path in codebase.mentioning(scope.name, scope.module.path):
            module = codebase.module(path) if codebase.reads(path, scope.name) else None
            for node in module.loads(scope.name) if module is not None else ():
                assert module is not None
                reader = module.scope_of(node).enclosing_function()
                base = node.value if isinstance(node, ast.Attribute) else None
                if reader is not None and isinstance(base, ast.Name) and base.id == receiver_name(reader):
                    yield reader

    def frame_of(self, worker: WorkerFunction) -> Frame:
        """The frame in which a function runs in a worker, whatever it is called with."""
        scope = worker.scope
        open_frame = self.evaluator.frame_of(scope)
        if worker.receiver is None or not has_receiver(scope):
            return open_frame
        return self.evaluator.frame(scope, None, open_frame.closure, worker.receiver)

    def frames_of(self, worker: WorkerFunction) -> list[Frame]:
        """The ways in which worker code calls a function, which may ask it for less than the parent does."""
        found = []
        for frame in self.evaluator.contexts(worker.scope) if worker.calls_away else ():
            caller = _caller(frame)
            if caller is not None and self.runs(caller):
                found.append(frame)
        return found or [self.frame_of(worker)]

    # where it begins

    def roots(self, module: Module) -> Iterator[Root]:
        for crossing in self.crossings.of(module):
            kind = "collate" if crossing.api.kind == "loader" else crossing.api.kind
            if crossing.parameter.keyword in ("worker_init_fn", "initializer"):
                kind = "initializer"
            is_dataset = crossing.parameter.role == "dataset"
            is_daemon = self.daemons.of_crossing(crossing)
            is_called = crossing.api.kind != "loader" and crossing.parameter.role == "function"
            given = crossing.values if is_called else ()
            samples: dict[int, Class] = {}
            worked_by = self._run_of(crossing.values) if crossing.parameter.role == "object" else None
            for hanging in crossing.hanging if crossing.has_workers else ():
                if hanging.is_receiver or (is_called and not self._may_be_called(hanging, given)):
                    continue  # only comes along with a method or a partial
                if is_dataset and isinstance(hanging.value, Instance) and hanging.value.arguments is not None:
                    samples.setdefault(id(hanging.value.arguments.call), hanging.value.cls)
                if samples and self._is_for_parent(hanging, samples):
                    continue
                if is_dataset and isinstance(hanging.value, Instance):
                    yield from self._sample_roots(hanging.value.cls, crossing.methods)
                for function, receiver, _ in self.called.functions_of(hanging.value):
                    kind = "dataset" if is_dataset else kind
                    text, call, role = crossing.text, crossing.call, crossing.parameter.role
                    yield Root(function, receiver, kind, text, crossing.methods, is_daemon, call, worked_by, role)
        for cls in self.crossings.process_classes(module):
            run = classes.find_method(self.outline, cls, "run")
            if run is not None:
                text, (methods, _) = f"{cls.scope.name}.run", self.crossings.process_methods(cls, module)
                yield Root(run, Instance(cls, None), "process", text, methods, self.daemons.of_class(cls))
        for cls in self.datasets.of(module):
            if not self.datasets.are_used_in_parent_alone(cls):
                yield from self._sample_roots(cls, self.methods.of_program(module))
        for node in module.functions if self.named else ():
            scope = module.scopes[node]
            name = f"{module.name}.{scope.name}"
            if any(fnmatch.fnmatch(name, pattern) for pattern in self.named):
                assert scope.parent is not None
                function = Function(scope, self.evaluator.frame_of(scope.parent))
                yield Root(function, None, "task", name, self.methods.of_program(module), False)

    def _run_of(self, processes: Sequence[Value]) -> Scope | None:
        for value in processes:
            if isinstance(value, Instance) and self.crossings.is_process(value.cls):
                run = classes.find_method(self.outline, value.cls, "run")
                return run.scope if run is not None else None
        return None

    def _may_be_called(self, hanging: Hanging, given: Sequence[Value]) -> bool:
        """Whether what hangs on a function that is handed over is that function, or one that it may call.

        A method calls what hangs on its object only if it, or what it calls, reads the attribute.
        """
        if any(hanging.value.key == value.key for value in given):
            return True
        attribute = next((hop.text for hop in hanging.way if hop.text.startswith(".")), "")[1:]
        if isinstance(hanging.value, Instance):
            return False
        if not attribute.isidentifier() or not all(isinstance(value, Method) for value in given):
            return True
        return self._reads([(v.function.scope, v.receiver) for v in given if isinstance(v, Method)], attribute)

    def _is_for_parent(self, hanging: Hanging, samples: dict[int, Class]) -> bool:
        """Whether no sample method reads the attribute by which something hangs on its dataset: a filter of files."""
        hop = next((hop for hop in reversed(hanging.way) if id(hop.node) in samples), None)
        attribute = hop.text[1:] if hop is not None and hop.text.startswith(".") else ""
        if hop is None or not attribute.isidentifier():
            return False
        cls = samples[id(hop.node)]
        if not _HOLLOW.issuperset(classes.library_bases(self.outline, cls)):
            return False  # a library's methods read what they keep
        methods = [classes.find_method(self.outline, cls, name) for name in (*SAMPLE_METHODS, *ITERATION_METHODS)]
        found: list[tuple[Scope, Value | None]] = [(m.scope, Instance(cls, None)) for m in methods if m is not None]
        return bool(found) and not self._reads(found, attribute)

    def _reads(self, pending: list[tuple[Scope, Value | None]], attribute: str) -> bool:
        """Whether functions, or what they call, read an attribute of a name."""
        reached: set[Scope] = set()
        while pending and len(reached) < MOST_FUNCTIONS:
            scope, receiver = pending.pop()
            if scope in reached:
                continue
            reached.add(scope)
            if any(_names_attribute(node, attribute) for node in body_nodes(scope.node)):
                return True
            pending += [(called.function.scope, called.receiver) for called in self.called.of(scope, receiver)]
        return bool(pending)

    def _sample_roots(self, cls: Class, methods: frozenset[str]) -> Iterator[Root]:
        names = [*SAMPLE_METHODS]
        bases = classes.library_bases(self.outline, cls)
        if any(base in apis.ITERABLE_DATASETS for base in bases):
            names += ITERATION_METHODS
        if any(base in apis.GRAPH_DATASETS for base in bases):
            names.append("get")
        for name in names:
            method = classes.find_method(self.outline, cls, name)
            if method is not None:
                text = f"{cls.scope.name}.{name}"
                yield Root(method, Instance(cls, None), "dataset", text, methods, True)
                for wrapper in self.called.wrappers(method):
                    yield Root(wrapper, None, "dataset", text, methods, True)


def _caller(frame: Frame) -> Scope | None:
    """The function in which the call is that a frame is for."""
    made = frame.arguments
    return made.frame.module.scope_of(made.call).enclosing_function() if made is not None else None


def _callers_of(frame: Frame) -> Iterator[Scope]:
    """The functions through which the calls come that a frame is for, the nearest first."""
    inner: Frame | None = frame
    while inner is not None:
        caller = _caller(inner)
        if caller is not None:
            yield caller
        inner = inner.arguments.frame if inner.arguments is not None else None


def _names_attribute(node: ast.AST, attribute: str) -> bool:
    """Whether an attribute is read, or one whose name only running tells."""
    if isinstance(node, ast.Attribute):
        return node.attr in (attribute, "__dict__")
    return isinstance(node, ast.Name) and node.id in ("getattr", "vars")


def _by_place(workers: Iterable[WorkerFunction]) -> dict[Place, set[str]]:
    kinds: dict[Place, set[str]] = {}
    for worker in workers:
        kinds.setdefault(worker.scope.place, set()).add(worker.kind)
    return kinds


def _made_by(receiver: Value | None) -> int:
    """What tells objects of a class apart: the call that makes them."""
    return id(receiver.arguments.call) if isinstance(receiver, Instance) and receiver.arguments is not None else 0


def _class_of(receiver: Value | None) -> int:
    return id(receiver.cls.scope) if isinstance(receiver, Instance) else 0
