"""Open resources on their way to workers: on datasets, in arguments, and in module-level variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.circumstances.methods import StartMethods
from flake8_torchmp.boundary.crossing.crossings import Crossing, Crossings, excludes
from flake8_torchmp.boundary.loading.datasets import UNSEEN_LOADER, Datasets, is_kept_to_itself
from flake8_torchmp.boundary.module_state.state import State
from flake8_torchmp.boundary.tables.apis import Api
from flake8_torchmp.boundary.tables.openers import Opener, Openers, appends, is_open
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.semantics.answers import keep_empty
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import LOOPS
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, dotted, last_name, position, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Constant, Hop, Instance, Value

from .holdings import Holding, Holdings
from .lifetimes import Lifetimes


class HeldOver(NamedTuple):
    """Something that an object holds, or is, when it goes to workers."""

    holding: Holding
    place: tuple[ast.AST, Module, str]
    """Where it crosses: the argument, its module, and the call in words."""
    api: Api
    role: str
    methods: frozenset[str]
    uses: tuple[ast.AST, ...]
    """Where it is used with what it holds: the crossing, and where its objects are made."""
    is_of_dataset: bool

    @property
    def value(self) -> Value:
        return self.holding.value

    @property
    def way(self) -> tuple[Hop, ...]:
        return self.holding.way

    @property
    def pickled_under(self) -> str:
        """The start methods under which it is pickled, in words; nothing where it is not."""
        if self.holding.is_dropped:
            return ""
        if self.api.pickles == "always":
            return "every start method"
        return ", ".join(name for name in ("spawn", "forkserver") if name in self.methods)


class OpenResource(NamedTuple):
    held: HeldOver
    opener: Opener
    node: ast.AST
    """The call that opens it."""
    module: Module
    pickled_under: str
    """The start methods under which it cannot be pickled, in words."""
    is_shared: bool
    """Whether forked workers use the one that the parent opened."""

    @property
    def what(self) -> str:
        kept = self.held.holding.text
        return f"the {self.opener.text} that {kept} keeps open" if kept else f"an open {self.opener.text}"

    @property
    def is_opened_by_process(self) -> bool:
        """Whether a method of the process object that keeps it opens it."""
        owners = self.held.holding.owners
        if self.held.role != "object" or not owners:
            return False
        scope = self.module.scope_of(self.node).enclosing_class()
        return scope is not None and scope.place == owners[-1].cls.scope.place

    @property
    def reason(self) -> str:
        """Why it cannot go to workers, by what applies under the start methods."""
        reasons = [f"cannot be pickled ({self.pickled_under})"] if self.pickled_under else []
        if self.is_shared and self.opener.pickles and "fork" not in self.held.methods:
            reasons.append("is shared by all workers, which take each other's data")
        elif self.is_shared:
            reasons.append("is shared by forked workers, which get each other's data")
        return " and ".join(reasons)


class Resources:
    def __init__(
        self,
        evaluator: Evaluator,
        crossings: Crossings,
        datasets: Datasets,
        methods: StartMethods,
        lifetimes: Lifetimes,
        openers: Openers,
    ) -> None:
        self.evaluator = evaluator
        self.crossings = crossings
        self.datasets = datasets
        self.methods = methods
        self.lifetimes = lifetimes
        self.openers = openers
        self.holdings = Holdings(evaluator, lifetimes)
        self._held: dict[str, list[HeldOver]] = {}

    def forget(self) -> None:
        keep_empty(self._held)
        self.lifetimes.forget()

    def held(self, module: Module) -> list[HeldOver]:
        """All that goes to workers because of what a module does or defines, as it is when they start."""
        known = self._held.get(module.path)
        if known is None:
            self._held[module.path] = []
            known = self._held[module.path] = self.evaluator.alone(
                lambda: [*self._by_calls(module), *self._by_datasets(module)]
            )
        return known

    def _by_calls(self, module: Module) -> Iterator[HeldOver]:
        for crossing in self.crossings.of(module):
            if not crossing.has_workers:
                continue
            role = crossing.parameter.role
            values = list(crossing.values)
            place = (crossing.source.node, crossing.source.frame.module, crossing.text)
            read_out = {value.key for value in values} if _is_read_out(crossing) else set()
            for holding in self.holdings.of(values):
                if holding.value.key in read_out and not holding.owners:
                    continue
                if _is_stored_later(holding, crossing.call, module) or _is_known_from_making(holding, crossing):
                    continue
                if excludes(crossing.callee, holding.value, holding.way):
                    continue
                is_of_dataset = role == "dataset" or any(self.datasets.is_dataset(o.cls) for o in holding.owners)
                uses = (crossing.call, *holding.uses)
                yield HeldOver(holding, place, crossing.api, role, crossing.methods, uses, is_of_dataset)

    def _by_datasets(self, module: Module) -> Iterator[HeldOver]:
        """Objects of the dataset classes for which the project shows no loader."""
        for cls in self.datasets.of(module):
            if self.datasets.loaders.have_workers(cls.scope):
                continue
            place = (cls.node, module, f"the dataset {cls.scope.name}")
            methods = self.methods.of_program(module)
            for holding in self.holdings.of([Instance(cls, None)], self.datasets.is_dataset):
                if not _is_given_to_kept_object(holding, cls, self.evaluator):
                    yield HeldOver(holding, place, UNSEEN_LOADER, "dataset", methods, (), True)

    def on_datasets(self, module: Module) -> Iterator[OpenResource]:
        for held in self.held(module):
            if held.is_of_dataset:
                yield from self._open(held)

    def in_arguments(self, module: Module) -> Iterator[OpenResource]:
        for held in self.held(module):
            if not held.is_of_dataset:
                yield from (found for found in self._open(held) if found.pickled_under)

    def globals_read(self, worker: WorkerFunction, state: State) -> Iterator[tuple[ast.expr, Global, Opener, str]]:
        """The resources of module-level variables that worker code reads, and what is wrong with that."""
        if worker.kind == "initializer":
            return
        for node, variable in state.names.read_by(worker.scope):
            if not any(isinstance(b.value, ast.Call) for b in variable.bindings) or not state.is_made_at_import(
                variable
            ):
                continue
            for value in state.names.values(variable):
                for handle in self.openers.handles(value):
                    if not is_open(handle, ()) or not handle.opener.is_opened_at_once:
                        continue
                    if appends(handle.node) and _is_flushed(node, worker.scope):
                        continue  # what each writes goes to the end, whoever else has the file
                    if is_in_memory(handle.node, self.evaluator, handle.module) and worker.methods - {"fork"}:
                        yield node, variable, handle.opener, "is another, empty one in each spawned worker"
                    elif "fork" in worker.methods and not handle.opener.forks:
                        yield node, variable, handle.opener, "is shared by forked workers, which get each other's data"

    def _open(self, held: HeldOver) -> Iterator[OpenResource]:
        holding = held.holding
        found = [
            (handle.opener, handle.node, handle.module)
            for handle in self.openers.handles(holding.value)
            if is_open(handle, held.uses)
        ]
        if not found and holding.node is not None and holding.module is not None:
            found = list(self.openers.unseen_file(holding.node, holding.module))
        for opener, node, module in found:
            if holding.owners and self._knows_process(holding):
                continue
            is_used = (
                bool(holding.owners)
                and not opener.forks
                and self.lifetimes.is_read_by_worker(holding.owners[0].cls, holding.attributes[0])
            )
            is_shared = is_used and ("fork" in held.methods or (opener.pickles and not holding.is_dropped))
            if not opener.is_opened_at_once and not self._is_used_before(holding):
                continue
            pickled = "" if opener.pickles else held.pickled_under
            if pickled or (is_shared and held.is_of_dataset):
                yield OpenResource(held, opener, node, module, pickled, is_shared)

    def _knows_process(self, holding: Holding) -> bool:
        """Whether the class asks in which process it is, to open its own."""
        kept = zip(holding.owners, holding.attributes, strict=True)
        return any(self.lifetimes.asks_for_process(owner.cls, attribute) for owner, attribute in kept)

    def _is_used_before(self, holding: Holding) -> bool:
        return any(
            self.lifetimes.calls_in_construction(owner.cls, attribute)
            for owner, attribute in zip(holding.owners[-1:], holding.attributes[-1:], strict=True)
        )


def _is_given_to_kept_object(holding: Holding, cls: Class, evaluator: Evaluator) -> bool:
    """Whether something was given to an object of a class which the function that made it keeps to itself."""
    for hop in holding.way:
        call = next((outer for outer in ancestors(hop.node) if not isinstance(outer, ast.keyword)), None)
        is_making = isinstance(call, ast.Call) and last_name(call.func) == cls.scope.name
        if is_making and call is not None and is_kept_to_itself(call, hop.module, evaluator):
            return True
    return False


def is_in_memory(node: ast.AST, evaluator: Evaluator, module: Module) -> bool:
    """`sqlite3.connect(":memory:")`: each process has its own, empty one."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    values = evaluator.values(node.args[0], evaluator.frame_at(node, module))
    return any(isinstance(value, Constant) and value.value == ":memory:" for value in values)


def _is_flushed(use: ast.expr, scope: Scope) -> bool:
    """Whether the function that uses a file hands on what it has written."""
    module = scope.module
    return any(
        isinstance(call.func, ast.Attribute)
        and dotted(call.func.value) == dotted(use)
        and module.scope_of(call).enclosing_function() is scope
        for call in module.calls.get("flush", ())
    )


def _is_read_out(crossing: Crossing) -> bool:
    """Whether the call makes a tuple or dict of its own of what it is given: `Process(args=order.keys())`."""
    return crossing.api.kind == "process" and crossing.parameter.keyword in ("args", "kwargs")


def _is_known_from_making(holding: Holding, crossing: Crossing) -> bool:
    """Whether `process.start()` hands over what the object's own methods store: told where the object is made."""
    if crossing.parameter.role != "object" or last_name(crossing.call.func) != "start":
        return False
    if not holding.owners or holding.owners[0].arguments is None or holding.node is None or holding.module is None:
        return False
    scope = holding.module.scope_of(holding.node).enclosing_class()
    return scope is not None and scope.place == holding.owners[0].cls.scope.place


def _is_stored_later(holding: Holding, call: ast.Call, module: Module) -> bool:
    """Whether the function that makes a process, or hands a task over, stores something only after that."""
    node = holding.node
    if node is None or holding.module is not module or module.scope_of(node) is not module.scope_of(call):
        return False
    if position(node) <= position(call) or any(outer is call for outer in ancestors(node)):
        return False
    holder = up(node)
    stored = {dotted(target) for target in holder.targets} if isinstance(holder, ast.Assign) else set()
    for start in module.calls.get("start", ()):
        is_here = module.scope_of(start) is module.scope_of(call) and position(start) > position(node)
        if is_here and isinstance(start.func, ast.Attribute) and dotted(start.func.value) not in stored:
            return False
    loops = [outer for outer in ancestors(node) if isinstance(outer, LOOPS)]
    return not any(outer in loops for outer in ancestors(call))
