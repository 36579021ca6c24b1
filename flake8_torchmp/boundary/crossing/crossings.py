"""Crossings: the calls that hand something to a worker, and all that hangs on what they hand over."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.circumstances.methods import ALL, StartMethods, mp_name
from flake8_torchmp.boundary.tables import apis, ecosystem
from flake8_torchmp.boundary.tables.apis import Api, Parameter
from flake8_torchmp.boundary.tables.ecosystem import has_no_workers, is_no_count
from flake8_torchmp.semantics import callees, classes, keywords
from flake8_torchmp.semantics.answers import keep_empty
from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.evaluate import Evaluator, Values
from flake8_torchmp.semantics.flow import facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import dotted
from flake8_torchmp.semantics.values import (
    Class,
    External,
    Hop,
    Instance,
    Member,
    Partial,
    Result,
    Source,
    Unknown,
    Value,
)

from .aliases import MAKERS, Aliases
from .hanging import Hanging, Hangings
from .worker_counts import WorkerCounts

API_NAMES = MAKERS | set(apis.POOL_TASKS) | set(apis.EXECUTOR_TASKS) | {"__init__", "run_in_executor"}

SET_LATER = {
    "multiprocessing_context": (),
    **{p.keyword: (p,) for p in apis.KEYWORD_LOADER if p.role == "function"},
}
"""What a loader may be given by its attributes as well."""


class Crossing(NamedTuple):
    """One argument of one call that goes from the parent to a worker."""

    api: Api
    parameter: Parameter
    source: Source
    call: ast.Call
    module: Module
    frame: Frame
    methods: frozenset[str]
    """The start methods under which it can happen."""
    by_default: bool
    """Whether the program chose no context for it."""
    has_workers: bool
    """Not of a loader that is known to work in the parent alone; nothing crosses then."""
    values: Values
    """What the argument may be."""
    hanging: tuple[Hanging, ...]
    """All that goes over with the argument, the nearest first."""
    callee: Value | None = None
    """What is called, if a name for it is looked up."""

    @property
    def text(self) -> str:
        return f"{self.api.name}({self.parameter.keyword}=)"


class Call(NamedTuple):
    """A call of the tables, in one frame."""

    api: Api
    node: ast.Call
    module: Module
    frame: Frame
    arguments: Arguments
    methods: frozenset[str]
    by_default: bool
    """Whether the program chose no context for it."""
    callee: Value | None = None
    """What is called, if a name for it is looked up."""


class Crossings:
    def __init__(
        self, evaluator: Evaluator, outline: Evaluator, methods: StartMethods, loaders: tuple[str, ...]
    ) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.hangings = Hangings(evaluator)
        self.methods = methods
        self.loaders = {**apis.LOADERS, **dict.fromkeys(loaders, apis.KEYWORD_LOADER)}
        self._names = API_NAMES | {name.rpartition(".")[2] for name in loaders}
        self.aliases = Aliases(outline.codebase)
        self._own_loaders = tuple(name.rpartition(".")[2] for name in loaders)
        self._may_make_loaders: dict[str, bool] = {}
        self._calls: dict[str, list[Call]] = {}
        self._crossings: dict[str, list[Crossing]] = {}

    def forget(self) -> None:
        keep_empty(self._calls)
        keep_empty(self._crossings)

    def names_loaders(self, path: str) -> bool:
        """Whether a file names what makes loaders."""
        codebase = self.outline.codebase
        return codebase.matches(path, apis.LOADER_WORDS) or any(
            name.encode() in codebase.data(path) for name in self._own_loaders
        )

    def may_make_loaders(self, path: str) -> bool:
        """Whether a file can make a loader, or something that derives from one, going by names."""
        known = self._may_make_loaders.get(path)
        if known is None:
            codebase = self.outline.codebase
            names = (*codebase.derived_names(apis.LOADER_WORDS), *self._own_loaders)
            known = self._may_make_loaders[path] = (
                codebase.matches(path, apis.LOADER_WORDS)
                or self.aliases.imported_by(path)
                or any(name.encode() in codebase.data(path) and codebase.uses(path, name) - {"given"} for name in names)
            )
        return known

    def of(self, module: Module) -> list[Crossing]:
        """Every crossing of a module's calls, in each of the ways that the project runs them."""
        known = self._crossings.get(module.path)
        if known is None:
            self._crossings[module.path] = []
            known = self._crossings[module.path] = self.evaluator.alone(lambda: list(self._cross(module)))
        return known

    def _cross(self, module: Module) -> Iterator[Crossing]:
        for call in self.calls(module):
            has_workers = call.api.kind != "loader" or not has_no_workers(
                self.evaluator, call.arguments, call.api.workers
            )
            for parameter, source in self._crossing_arguments(call):
                if not has_workers and parameter.role != "dataset":
                    continue
                self.evaluator.steps = 0  # what is hard to follow must not hide the rest
                values = self.evaluator.of(source)
                if parameter.role == "values":
                    values = tuple(self.evaluator.elements(values))
                elif call.api.kind == "loader" and parameter.keyword == "dataset":
                    values = tuple(value for value in values if not self._gives_no_samples(value))
                for together, have_workers in self._by_workers(call, values, has_workers):
                    if not have_workers and parameter.role != "dataset":
                        continue
                    self.evaluator.steps = 0
                    yield Crossing(
                        call.api,
                        parameter,
                        source,
                        call.node,
                        call.module,
                        call.frame,
                        call.methods,
                        call.by_default,
                        have_workers,
                        together,
                        tuple(
                            hanging
                            for hanging in self.hangings.on(list(together), source.frame)
                            if not excludes(call.callee, hanging.value, hanging.way)
                        ),
                        call.callee,
                    )

    def _gives_no_samples(self, value: Value) -> bool:
        """Whether an object of the project is no dataset: it was on another way to where a loader is made."""
        if not isinstance(value, Instance) or set(classes.library_bases(self.outline, value.cls)) - {"builtins.object"}:
            return False
        methods = (classes.find_method(self.outline, value.cls, name) for name in ("__getitem__", "__getitems__"))
        steps = classes.find_method(self.outline, value.cls, "__next__")
        return steps is not None and not any(methods)

    def _by_workers(self, call: Call, values: tuple[Value, ...], has_workers: bool) -> Iterator[tuple[Values, bool]]:
        """What a loader may be given, apart: what it has workers for, and what it works on alone."""
        dataset = call.arguments.get(0, "dataset")
        if not (has_workers and values and call.api.workers == "num_workers" and dataset is not None):
            yield values, has_workers
            return
        given = keywords.sources(self.evaluator, call.arguments, apis.LOADER_POSITIONS["num_workers"], "num_workers")
        counts = WorkerCounts(self.evaluator, call.arguments, given, dataset)
        alone: list[Value] = []
        accompanied: list[Value] = []
        for value in values:
            left = counts.of(value)
            if left is not None:
                is_alone = 0 < len(left) < len(counts.all()) and all(map(is_no_count, left))
                (alone if is_alone else accompanied).append(value)
        yield from ((tuple(together), together is accompanied) for together in (accompanied, alone) if together)

    @staticmethod
    def _crossing_arguments(call: Call) -> Iterator[tuple[Parameter, Source]]:
        for parameter in call.api.parameters:
            source = call.arguments.get(parameter.position, parameter.keyword)
            if source is not None:
                yield parameter, source
        if call.api in apis.EXECUTOR_TASKS.values():
            for label, source in call.arguments.all():
                if label not in ("0", "fn"):
                    yield Parameter(label, None, "values" if call.api.name.endswith("map") else "value"), source
        if call.api is apis.RUN_IN_EXECUTOR:
            for index, source in enumerate(call.arguments.positional[2:], 2):
                yield Parameter(str(index), None, "value"), source

    def calls(self, module: Module) -> list[Call]:
        """The calls of the tables that a module makes."""
        known = self._calls.get(module.path)
        if known is None:
            self._calls[module.path] = []
            known = self._calls[module.path] = self.evaluator.alone(lambda: list(self._find(module)))
        return known

    def _find(self, module: Module) -> Iterator[Call]:
        names = self._names | self.aliases.names | self._aliases(module)
        for name in sorted(module.calls):
            for node in module.calls[name]:
                is_kept = name not in names and callees.is_kept(self.outline, node.func, module)
                if (name in names or is_kept) and self._may_match(node, module):
                    self.evaluator.steps = 0
                    for frame in self.evaluator.contexts(module.scope_of(node)):
                        self.evaluator.steps = 0
                        yield from self._matches(node, module, frame)
        yield from self._objects(module)
        yield from self._set_later(module)

    def _may_match(self, node: ast.Call, module: Module) -> bool:
        """Whether what is called is of the tables, or something that only its callers know."""
        function = node.func
        outlined = self.outline.values(function, self.outline.frame_at(node, module))
        if any(self._api(value) is not None for value in outlined):
            return True
        if not any(isinstance(value, Unknown) for value in outlined):
            return False
        frame = self.evaluator.frame_at(node, module)
        return any(self._api(value) is not None for value in self.evaluator.values(function, frame))

    def _matches(self, node: ast.Call, module: Module, frame: Frame) -> Iterator[Call]:
        if self.evaluator.never(node, frame):
            return
        for value in self.evaluator.values(node.func, frame):
            found = self._api(value)
            if found is None:
                continue
            self.evaluator.steps = 0
            arguments = self.evaluator.arguments(node, frame)
            if found is apis.RUN_IN_EXECUTOR and not is_given_executor(self.evaluator, arguments):
                continue
            if isinstance(value, Partial):
                arguments = self.evaluator.argument_lists.joined(value.arguments, arguments)
            if isinstance(value, External) and value.name.endswith(".__init__") and is_bare_init(node, value):
                arguments = self.evaluator.argument_lists.without_first(arguments)
            methods, by_default = self._methods(found, value, arguments, module)
            yield Call(found, node, module, frame, arguments, methods, by_default, value)
            return

    def _api(self, callee: Value) -> Api | None:
        if isinstance(callee, Partial):
            return self._api(callee.callee)
        if isinstance(callee, Class):
            return self._class_api(callee)
        if isinstance(callee, External):
            name = callee.name.removesuffix(".__init__")
            if name in self.loaders:
                return Api("DataLoader", "loader", self.loaders[name])
            if name in ecosystem.CALLS:
                return ecosystem.CALLS[name]
            if name in apis.EXECUTORS:
                return apis.EXECUTOR
        name = mp_name(callee).removesuffix(".__init__")
        if name in apis.PROCESS_CLASSES:
            return apis.MULTIPROCESSING_CALLS["Process"]
        if name in apis.MULTIPROCESSING_CALLS:
            return apis.MULTIPROCESSING_CALLS[name]
        if isinstance(callee, External) and callee.name.endswith(".Process.__init__"):
            return apis.MULTIPROCESSING_CALLS["Process"] if mp_process(callee.name.removesuffix(".__init__")) else None
        if isinstance(callee, Member):
            if is_pool(callee.owner) or self.is_own_pool(callee.owner):
                return apis.POOL_TASKS.get(callee.name)
            if is_executor(callee.owner):
                return apis.EXECUTOR_TASKS.get(callee.name)
            if callee.name == "run_in_executor":
                return apis.RUN_IN_EXECUTOR
        return None

    def _class_api(self, cls: Class) -> Api | None:
        """A subclass that has no `__init__` of its own takes the arguments of torch's."""
        if classes.find_method(self.outline, cls, "__init__") is not None:
            return None
        for base in classes.library_bases(self.outline, cls):
            if base in self.loaders:
                return Api(cls.scope.name, "loader", self.loaders[base])
            if base in ecosystem.CALLS:
                return ecosystem.CALLS[base]._replace(name=cls.scope.name)
            if mp_process(base):
                return apis.MULTIPROCESSING_CALLS["Process"]
        return None

    def _methods(self, api: Api, callee: Value, arguments: Arguments, module: Module) -> tuple[frozenset[str], bool]:
        """The start methods of a call, and whether the program chose none of them."""
        methods = self.methods
        if isinstance(callee, Partial):
            callee = callee.callee
        if api.kind == "spawn":
            return methods.of_start_processes(api.name, arguments), False
        if api.kind in ("process", "pool"):
            found = methods.of_callee(callee, module, arguments.call)
            return found, methods.is_default(callee) or isinstance(callee, Class)
        owner = callee.owner if isinstance(callee, Member) else None
        if isinstance(owner, Instance) and api.kind == "task":
            return methods.of_program(module, arguments.call), True
        if isinstance(owner, Result) and is_pool(owner):
            return methods.of_callee(owner.callee, module), methods.is_default(owner.callee)
        source = None
        if api.kind == "loader":
            source = arguments.get(apis.LOADER_POSITIONS["multiprocessing_context"], "multiprocessing_context")
        elif api.kind == "executor":
            source = arguments.get(1, "mp_context")
        elif isinstance(owner, Result) and api is not apis.RUN_IN_EXECUTOR:
            source = owner.arguments.get(1, "mp_context")
        return methods.of_contexts(source, module), methods.is_default_context(source)

    def _aliases(self, module: Module) -> set[str]:
        """Other names under which a module calls what the tables list."""
        elsewhere = self.aliases.names | self.outline.codebase.derived_names(apis.WORDS)
        return set(elsewhere.intersection(module.calls)) | {  # `utils.SizedLoader(…)` is bound in another module
            name
            for scope in list(module.scopes.values())
            for name, bindings in scope.bindings.items()
            if name not in self._names and any(self._may_be_alias(binding, elsewhere) for binding in bindings)
        }

    def _may_be_alias(self, binding: Any, elsewhere: frozenset[str]) -> bool:
        if binding.kind == "from":
            return binding.node.name in self._names or binding.node.name in elsewhere
        if binding.kind == "class":
            return bool(binding.node.bases)
        if binding.kind == "assign" and binding.value is not None:
            value = binding.value
            if isinstance(value, ast.Call):
                inner = dotted(value.func).rpartition(".")[2]
                return inner == "partial" and bool(value.args) and _last(value.args[0]) in self._names
            if isinstance(value, ast.IfExp):
                return _last(value.body) in self._names or _last(value.orelse) in self._names
            return _last(value) in self._names
        return False

    def _objects(self, module: Module) -> Iterator[Call]:
        """Objects of Process subclasses: what they hold crosses when they are started."""
        process = Api("Process", "process", (Parameter("self", 0, "object"),))
        for cls in self.process_classes(module):
            for made, arguments in self.evaluator.callers.constructions(cls.scope):
                if not isinstance(arguments.call, ast.Call):
                    continue
                holder = Arguments(arguments.call, arguments.frame)
                holder.positional = [Source(arguments.call, arguments.frame)]
                methods = self.process_methods(made, module)
                yield Call(process, arguments.call, arguments.frame.module, arguments.frame, holder, *methods)
        for node in module.calls.get("start", ()):
            if isinstance(node.func, ast.Attribute):
                yield from self._started(node, node.func.value, module, process)

    def _started(self, node: ast.Call, receiver: ast.expr, module: Module, process: Api) -> Iterator[Call]:
        """`x.start()`: what was put on the object before goes along."""
        frame = self.evaluator.frame_at(node, module)
        for value in self.evaluator.values(receiver, frame):
            if isinstance(value, Instance) and self.is_process(value.cls):
                holder = Arguments(node, frame)
                holder.positional = [Source(receiver, frame)]
                yield Call(process, node, module, frame, holder, *self.process_methods(value.cls, module))
                return

    def _set_later(self, module: Module) -> Iterator[Call]:
        """`loader.collate_fn = pad`: what is put on a loader once it is made."""
        for change in (change for found in list(module.changes.values()) for change in found):
            parameters = SET_LATER.get(change.name) if change.kind == "attribute" and not change.path else None
            if parameters is None or change.value is None:
                continue
            frame = self.evaluator.frame_at(change.node, module)
            for loader in self.evaluator.values(change.target, frame):
                call = loader.arguments.call if isinstance(loader, Result) else None
                if isinstance(loader, Result) and isinstance(call, ast.Call) and loader.name in self.loaders:
                    api = Api("DataLoader", "loader", parameters)
                    given = Arguments(call, loader.arguments.frame)
                    given.positional = loader.arguments.positional
                    given.keywords = {**loader.arguments.keywords, change.name: Source(change.value, frame)}
                    given.open_keywords = loader.arguments.open_keywords
                    methods = self._methods(api, loader.callee, given, given.frame.module)
                    yield Call(api, call, given.frame.module, given.frame, given, *methods)

    def process_classes(self, module: Module) -> Iterator[Class]:
        for node in module.classes:
            scope = module.scopes[node]
            assert scope.parent is not None
            cls = Class(scope, self.outline.frame_of(scope.parent))
            if self.is_process(cls):
                yield cls

    def is_process(self, cls: Class) -> bool:
        return any(
            isinstance(base, Member | External) and mp_name(base) in apis.PROCESS_CLASSES
            for base in self.outline.mro(cls)
        )

    def is_own_pool(self, value: Value) -> bool:
        """Whether a value is an object of a class of the project that derives from Pool: `class MyPool(Pool)`."""
        return isinstance(value, Instance) and any(
            isinstance(base, External) and mp_name(base) == "Pool" for base in self.outline.mro(value.cls)
        )

    def process_methods(self, cls: Class, module: Module) -> tuple[frozenset[str], bool]:
        """The methods by which a subclass of Process starts, and whether the program chose none of them."""
        for base in self.evaluator.mro(cls):
            if isinstance(base, Class) and "_Popen" in base.scope.bindings:
                return ALL, False  # it has a way of its own to start
            if isinstance(base, Member | External) and (mp_name(base) in apis.PROCESS_CLASSES):
                return self.methods.of_callee(base, module), self.methods.is_default(base)
        return self.methods.of_program(module), True


def excludes(callee: Value | None, value: Value, way: Iterable[Hop]) -> bool:
    """Whether one test chose what is called, and for its other outcome what would cross: threads and their queue."""
    if not isinstance(callee, External):
        return False
    chosen = {(id(fact.test), not fact.holds) for fact in facts_at(callee.node)}
    maker = value.callee if isinstance(value, Result) else None
    places = [hop.node for hop in way] + ([maker.node] if isinstance(maker, External) else [])
    return bool(chosen) and any((id(f.test), f.holds) in chosen for place in places for f in facts_at(place))


def is_bare_init(node: ast.Call, callee: External) -> bool:
    """`DataLoader.__init__(self, …)`, not `super().__init__(…)`."""
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and not isinstance(function.value, ast.Call)
        and callee.name.endswith(".__init__")
    )


def mp_process(name: str) -> bool:
    return apis.bare(name) in apis.PROCESS_CLASSES


def is_pool(value: Value) -> bool:
    return isinstance(value, Result) and mp_name(value.callee) == "Pool"


def is_executor(value: Value) -> bool:
    return isinstance(value, Result) and value.name.removesuffix("()") in apis.EXECUTORS


def is_given_executor(evaluator: Evaluator, arguments: Arguments) -> bool:
    """Whether `run_in_executor` is given an executor of processes, not of threads."""
    source = arguments.get(0, "executor")
    return source is not None and any(is_executor(value) for value in evaluator.of(source))


def _last(node: ast.expr) -> str:
    return dotted(node).rpartition(".")[2]
