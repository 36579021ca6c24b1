"""What rules ask: one object with the knowledge about a project's boundary."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flake8_torchmp import source
from flake8_torchmp.findings import Finding, Repair, Step
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.answers import keep_empty
from flake8_torchmp.semantics.codebase import Codebase
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.module import Module, is_reference
from flake8_torchmp.semantics.nodes import DEFINITIONS, ancestors
from flake8_torchmp.semantics.program_order import imported_files
from flake8_torchmp.semantics.values import Class, Function, Hop, Instance, Value
from flake8_torchmp.settings import Settings

from .circumstances.methods import StartMethods
from .circumstances.phases import Phases
from .crossing.context_arguments import ContextArguments
from .crossing.crossings import Crossings
from .crossing.hanging import Hangings
from .crossing.loader_options import LoaderOptions
from .crossing.method_names import MethodNames
from .crossing.restarts import Restarts
from .crossing.target_arguments import TargetArguments
from .drawing.inherited_streams import InheritedStreams
from .drawing.same_streams import SameStreams
from .drawing.sameness import Sameness
from .drawing.seeding import Seeds
from .drawing.sharding import Sharding
from .drawing.streams import Streams
from .failures.exceptions import Exceptions
from .files.dataset_arguments import DatasetArgument, DatasetArguments
from .files.listings import Listings
from .files.paths import Paths
from .loading.datasets import UNSEEN_LOADER, Datasets
from .loading.loaders import Loaders
from .module_state.own_copies import OwnCopies
from .module_state.random_globals import RandomGlobals
from .module_state.state import State
from .objects.devices import CudaUses
from .objects.early_openings import EarlyOpenings
from .objects.filled_arguments import FilledArguments
from .objects.gpu_state import GpuState
from .objects.kept_workers import KeptWorkers
from .objects.lifetimes import Lifetimes
from .objects.object_lists import ObjectLists
from .objects.object_state import ObjectState
from .objects.resources import HeldOver, Resources
from .objects.unpicklables import Unpicklables
from .runs.aftermath import Aftermath
from .runs.programs import Programs
from .runs.timeline import Timeline
from .starting.import_time import ImportTime, has_tests
from .starting.starts import Starts
from .tables.apis import DEFERRED, Api
from .tables.ecosystem import FLUENT
from .tables.openers import Openers
from .working import samples
from .working.company import Company
from .working.worker_infos import WorkerInfos
from .working.workers import Workers


class HandedOver(NamedTuple):
    """A value that crosses, or hangs on one that does."""

    value: Value
    way: tuple[Hop, ...]
    place: tuple[ast.AST, Module, str]
    """Where it crosses: the argument, its module, and the call in words."""
    api: Api
    methods: frozenset[str]

    @property
    def is_pickled(self) -> bool:
        return self.api.pickles == "always" or bool(self.methods - {"fork"})

    @property
    def is_imported_again(self) -> bool:
        """Whether the worker imports the program's modules anew."""
        return bool(self.methods - {"fork"})


class Model:
    def __init__(self, codebase: Codebase, settings: Settings) -> None:
        self.codebase = codebase
        self.settings = settings
        self.evaluator = Evaluator(codebase, DEFERRED, FLUENT)
        self.outline = Evaluator(codebase, DEFERRED, FLUENT, asks_callers=False)
        """Answers from definitions alone: enough for what a name is, and cheap enough for every function."""
        self.methods = StartMethods(self.evaluator, settings)
        self.crossings = Crossings(self.evaluator, self.outline, self.methods, settings.loaders)
        self.loaders = Loaders(self.crossings)
        self.datasets = Datasets(self.outline, self.loaders, settings.dataset_bases)
        self.workers = Workers(
            self.evaluator, self.outline, self.crossings, self.methods, self.datasets, settings.worker_functions
        )
        self.starts = Starts(self.evaluator, self.outline, self.crossings, self.methods)
        self.timeline = Timeline(self.evaluator, self.outline, self.methods, self.starts, self.workers)
        self.context_arguments = ContextArguments(self.evaluator, self.crossings)
        self.phases = Phases(self.outline)
        self.programs = Programs(self.phases, self.crossings, self.loaders)
        self.state = State(self.outline, self.phases)
        self.own_copies = OwnCopies(self.evaluator, self.crossings, self.workers, self.phases, self.state)
        self.import_time = ImportTime(self.evaluator, self.starts, self.phases)
        self.aftermath = Aftermath(self.evaluator, self.starts.possible, self.state)
        self.random_globals = RandomGlobals(self.state)
        self.company = Company(self.workers)
        self.sameness = Sameness(self.outline, self.workers)
        self.seeds = Seeds(self.outline, self.workers, self.sameness, self.company)
        self.sharding = Sharding(self.outline, self.evaluator, self.workers, self.loaders)
        self.same_streams = SameStreams(self.seeds, self.sharding, self.loaders)
        self.streams = Streams(self.outline, self.evaluator, self.workers, self.seeds, self.sharding)
        self.inherited_streams = InheritedStreams(self.outline, self.workers, self.seeds, self.streams)
        self.object_state = ObjectState(
            self.outline, self.evaluator, self.crossings, self.workers, self.datasets, self.state
        )
        self.filled_arguments = FilledArguments(
            self.outline, self.evaluator, self.crossings, self.workers, self.state, self.object_state
        )
        self.object_lists = ObjectLists(self.outline, self.object_state)
        self.kept_workers = KeptWorkers(self.outline, self.evaluator, self.crossings, self.workers, self.object_state)
        self.paths = Paths(self.evaluator, self.outline)
        self._dataset_arguments = DatasetArguments(self.evaluator, self.outline, self.datasets, self.paths)
        self.listings = Listings(self.evaluator, self.outline, self.datasets)
        self.restarts = Restarts(self.evaluator, self.crossings)
        self.loader_options = LoaderOptions(self.evaluator, self.crossings)
        self.openers = Openers(self.evaluator, settings.resource_openers)
        self.unpicklables = Unpicklables(self.evaluator, settings.unpicklable_types)
        self.lifetimes = Lifetimes(self.evaluator, self.outline, self.workers)
        self.early_openings = EarlyOpenings(self.evaluator, self.crossings, self.workers, self.state, self.openers)
        self.resources = Resources(
            self.evaluator, self.crossings, self.datasets, self.methods, self.lifetimes, self.openers
        )
        self.gpu_state = GpuState(self.evaluator, self.resources, self.lifetimes)
        self.target_arguments = TargetArguments(self.evaluator, self.crossings)
        self.exceptions = Exceptions(self.evaluator, self.outline, self.workers)
        self.method_names = MethodNames(self.evaluator, self.crossings)
        self.worker_infos = WorkerInfos(self.outline)
        self.cuda_uses = CudaUses(self.evaluator)
        self._handed_over: dict[str, list[HandedOver]] = {}

    def start_afresh(self) -> None:
        """Before each rule looks at a file: what it finds never depends on what was asked before."""
        self.evaluator.start_afresh()
        self.starts.start_afresh()

    def forget(self) -> None:
        """Drops the modules and all that holds on to them; what is known of places and files is kept."""
        keep_empty(self._handed_over)
        for part in vars(self).values():
            forget = getattr(part, "forget", None)
            if forget is not None:
                forget()

    def handed_over(self, module: Module) -> list[HandedOver]:
        """All that goes from the parent to workers because of what a module does or defines."""
        known = self._handed_over.get(module.path)
        if known is None:
            known = self._handed_over[module.path] = self.evaluator.alone(
                lambda: [*self._by_calls(module), *self._by_datasets(module)]
            )
        return known

    def _by_calls(self, module: Module) -> Iterator[HandedOver]:
        for crossing in self.crossings.of(module):
            place = (crossing.source.node, crossing.source.frame.module, crossing.text)
            for hanging in crossing.hanging if crossing.has_workers else ():
                if isinstance(hanging.value, Function) and self._is_made_behind(hanging.value):
                    continue
                yield HandedOver(hanging.value, hanging.way, place, crossing.api, crossing.methods)

    def _is_made_behind(self, value: Function) -> bool:
        """Whether a function is made in a method that runs in workers alone."""
        around = value.scope.parent.enclosing_function() if value.scope.parent is not None else None
        if around is None or around.enclosing_class() is None or around.name.startswith("__"):
            return False
        return self.lifetimes.runs_behind(around)

    def _by_datasets(self, module: Module) -> Iterator[HandedOver]:
        """What a dataset class itself keeps, though the loaders that the project shows are not given it."""
        for cls in self.datasets.of(module):
            yield from self._given_out(cls, module)
            have_workers = self.loaders.have_workers(cls.scope)
            is_found_by_base = not have_workers and self.loaders.take_any_like(cls)
            if not _defines_inside(cls) and not is_found_by_base:
                continue
            if not any(have_workers) if have_workers else self.is_test(module):
                continue  # whether a test that shows no loader hands it to workers, is seen by running it
            evaluator = self.evaluator if have_workers or is_found_by_base else self.outline
            place = (cls.node, module, f"the dataset {cls.scope.name}")
            for hanging in Hangings(evaluator).on([Instance(cls, None)], evaluator.frame_of(module.scope)):
                if not isinstance(hanging.value, Function | Class):
                    continue
                node = hanging.value.node
                if not is_found_by_base and not any(item is cls.node for item in ancestors(node)):
                    continue
                is_default = module.scope_of(node) is cls.scope
                if is_default and not self._is_left_in_force(node, cls):
                    continue
                if is_default or not have_workers:
                    yield HandedOver(hanging.value, hanging.way, place, UNSEEN_LOADER, self.methods.of_program(module))

    def _given_out(self, cls: Class, module: Module) -> Iterator[HandedOver]:
        """Objects of a dataset class that the function around it returns, for loaders that are not shown."""
        function = cls.scope.parent.enclosing_function() if cls.scope.parent is not None else None
        if function is None or self.is_test(module) or self.loaders.have_workers(cls.scope):
            return
        place = (cls.node, module, f"the dataset {cls.scope.name}")
        frame = self.outline.frame_of(function)
        for returned in function.returns:
            for value in self.outline.values(returned.value, frame) if returned.value is not None else ():
                if isinstance(value, Instance) and value.cls.scope is cls.scope:
                    yield HandedOver(value, value.way, place, UNSEEN_LOADER, self.methods.of_program(module))

    def _is_left_in_force(self, default: ast.AST, cls: Class) -> bool:
        """Whether a default of `__init__` goes into one of the objects that the project makes, if it makes any."""
        inits = [node for node in classes.own(cls, "__init__") if any(item is node for item in ancestors(default))]
        frame = self.evaluator.frame_of(cls.scope.module.scope)
        made = [
            Instance(cls, arguments)
            for node in inits
            for arguments, _ in self.evaluator.callers.of(cls.scope.module.scopes[node])
        ]
        return not made or any(
            getattr(hanging.value, "node", None) is default
            for instance in made
            for hanging in Hangings(self.evaluator).on([instance], frame)
        )

    def dataset_arguments(self, module: Module) -> Iterator[DatasetArgument]:
        """The path arguments with which a module makes datasets, their own defaults included."""
        yield from self._dataset_arguments.of(module)
        for crossing in self.crossings.of(module):
            if crossing.parameter.role == "dataset":
                given = samples.given_to(self.evaluator, crossing.values)
                yield from self._dataset_arguments.of_instances(given, module)

    def keeps_workers(self, module: Module) -> bool:
        """Whether a loader of the module keeps its workers, so that they miss even what a fork would show."""
        return any("persistent_workers" in call.arguments.keywords for call in self.crossings.calls(module))

    def finding(
        self,
        code: str,
        message: str,
        node: ast.AST,
        module: Module,
        way: Iterable[Step] = (),
        cause: str = "",
        repair: Repair | None = None,
    ) -> Finding:
        line, column, end_line, end_column = _place(node, module)
        return Finding(module.path, line, column, code, message, end_line, end_column, "", tuple(way), cause, repair)

    def repair(self, codemod: str, node: ast.AST, module: Module, **notes: str) -> Repair:
        """What mends a finding: a codemod, the node that it works on, and what it cannot know from the text."""
        return Repair(codemod, module.path, *_place(node, module), tuple(notes.items()))

    def reference(self, handed: HandedOver, definition: Function | Class) -> tuple[ast.AST, Module]:
        """The expression by which a function or class leaves its place on the way to a worker."""
        value = handed.value
        way = value.cls.way if isinstance(value, Instance) else handed.way
        for hop in way:
            if is_reference(hop.node):
                break  # a decorator gets it right there
            if isinstance(hop.node, ast.Name | ast.Attribute):
                return hop.node, hop.module
        return definition.node, definition.scope.module

    def imported(self, module: Module) -> dict[str, str]:
        """A note for codemods: the modules of the project that import this one, if any."""
        importers = self.codebase.importers(module.path)
        return {"imported": "\n".join(importers)} if importers else {}

    def own_imports(self, module: Module) -> dict[str, str]:
        """A note for codemods: the lines that import modules of the project, which may do more than define."""
        lines = [
            str(node.lineno)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Import | ast.ImportFrom) and imported_files(self.codebase, node, module)
        ]
        return {"own_imports": " ".join(lines)}

    @staticmethod
    def notes(handed: HandedOver, definition: Function | Class) -> dict[str, str]:
        """What a codemod cannot see of a function or class: as what, and where, it is handed over."""
        node, module, text = handed.place
        notes: dict[str, str] = {}
        steps = [hop.text for hop in handed.way if not hop.text.startswith("[")]
        first = steps[0] if steps else text
        role = first.rpartition("(")[2].removesuffix("=)") if first.endswith("=)") else first.removeprefix(".")
        if role.isidentifier():
            notes["role"] = role
        if handed.value is definition and not any(step.startswith(".") for step in steps):
            notes["direct"] = "yes"
        if module is definition.scope.module:
            notes["crosses"] = str(getattr(node, "lineno", 0))
        return notes

    def pickled_under(self, handed: HandedOver) -> str:
        """The start methods under which pickling fails, in words."""
        if handed.api.pickles == "always":
            return "every start method"
        return ", ".join(name for name in ("spawn", "forkserver") if name in handed.methods)

    def is_test(self, module: Module) -> bool:
        """Whether a module has tests and says so by its name, or only files that are called so import it."""
        if has_tests(module):
            return True
        importers = self.codebase.importers(module.path)
        return all(map(is_called_test, importers)) and any(
            one is not None and has_tests(one) for one in map(self.codebase.module, importers)
        )

    def is_left_to_test(self, finding: Finding, handed: HandedOver | HeldOver) -> bool:
        """Whether a test gives code of another file what it defines itself: running it tells more than reading it."""
        module = self.codebase.module(finding.path)
        return finding.path != handed.place[1].path and module is not None and has_tests(module)

    def steps(self, way: Iterable[Hop], last: tuple[ast.AST, Module, str]) -> tuple[Step, ...]:
        """A value's way in words, from where it is made to where it crosses."""
        found: list[Step] = []
        for hop in (*way, Hop(*last)):
            step = Step(hop.module.path, getattr(hop.node, "lineno", 1), hop.text)
            if not found or found[-1] != step:
                found.append(step)
        return tuple(found)


def _defines_inside(cls: Class) -> bool:
    """Whether a class's own text holds lambdas, or functions and classes inside its methods."""
    module = cls.scope.module
    return any(isinstance(node, ast.Lambda) for node in ast.walk(cls.node)) or any(
        (function := scope.parent.enclosing_function()) is not None and function.enclosing_class() is cls.scope
        for node, scope in module.scopes.items()
        if isinstance(node, DEFINITIONS) and scope.parent is not None
    )


def _place(node: ast.AST, module: Module) -> tuple[int, int, int, int]:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line = getattr(node, "end_lineno", None) or line
    end_column = getattr(node, "end_col_offset", None) or column
    return line, _characters(module, line, column), end_line, _characters(module, end_line, end_column)


def _characters(module: Module, line: int, column: int) -> int:
    lines = module.lines
    return source.character_column(lines[line - 1], column) if column and line <= len(lines) else column
