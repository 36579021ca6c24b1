"""Starts: what starts processes, and what of it runs when a module is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.circumstances.guards import is_guarded, runs_at_import
from flake8_torchmp.boundary.circumstances.methods import StartMethods, mp_name
from flake8_torchmp.boundary.crossing.crossings import Crossings, is_executor, is_given_executor
from flake8_torchmp.boundary.crossing.iterations import CONSUMING, Iterations, iterated
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import classes, reading
from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions, facts
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, children, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    External,
    Function,
    Instance,
    Member,
    Method,
    Partial,
    Result,
    Value,
    qualified,
)

from . import managers
from .possible_starts import WITHS, PossibleStarts, is_put_aside

DEEPEST = 6


class Start(NamedTuple):
    """A place where processes are started."""

    node: ast.AST
    module: Module
    text: str
    methods: frozenset[str]
    by_default: bool
    """Whether the program chose no context for it."""
    loader: Result | Instance | None = None
    """The loader that is iterated, if that is what starts them."""


class Starts:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, crossings: Crossings, methods: StartMethods) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.crossings = crossings
        self.methods = methods
        self.iterations = Iterations(evaluator, outline, crossings.loaders)
        self.possible = PossibleStarts(outline, crossings, self.iterations)
        self._inside: dict[int, Start | None] = {}

    def start_afresh(self) -> None:
        self._inside.clear()

    def forget(self) -> None:
        self._inside.clear()
        self.possible.forget()

    def at_import(self, module: Module) -> Iterator[tuple[ast.AST, Start]]:
        """What starts processes when a module is imported: the node at module level, and the start it leads to."""
        self.possible.look_from(module)
        frame = self.evaluator.frame_of(module.scope)
        for node in import_nodes(module):
            runs = isinstance(node, ast.Attribute) and self.possible.may_run_property(node, module)
            if not (runs or self.possible.may_matter(node, module)) or is_guarded(self.evaluator, node, module):
                continue
            if self._is_switched_off(node, frame):
                continue
            if any(
                isinstance(a, ast.GeneratorExp) and is_put_aside(self.evaluator, a, module) for a in ancestors(node)
            ):
                continue
            self.evaluator.steps = 0  # what is hard to follow must not hide the rest
            inner = self.evaluator.frame_in(module.scope_of(node), frame)
            start = self.of_node(node, inner, 0)
            if start is not None:
                yield node, start
        yield from self._decorated(module)

    def _is_switched_off(self, node: ast.AST, frame: Frame) -> bool:
        """`if False:`, or a constant of the module that says so."""
        return any(
            self.evaluator.truth(fact.test, frame) is (not fact.holds)
            for condition in conditions(node)
            for fact in facts(condition)
            if isinstance(fact.test, ast.Constant | ast.Name)
        )

    def _reading(self, node: ast.Attribute, frame: Frame, depth: int) -> Start | None:
        """The start in a property of the project that is read, or in its `__getattr__`."""
        for value in () if depth >= DEEPEST else self.evaluator.values(node.value, frame):
            method = reading.reader(self.outline, value, node.attr)
            if method is not None:
                start = self.inside(reading.frame_of(self.evaluator, method, value, node, frame), depth + 1)
                if start is not None:
                    return start
        return None

    def _decorated(self, module: Module) -> Iterator[tuple[ast.AST, Start]]:
        """Functions that a decorator runs when the module is imported."""
        for node in module.functions:
            if isinstance(node, ast.Lambda) or not runs_at_import(node, module):
                continue
            frame = self.evaluator.frame_of(module.scope)
            for decorator in node.decorator_list:
                if not self._runs_its_function(decorator, frame) or is_guarded(self.evaluator, node, module):
                    continue
                scope = module.scopes[node]
                start = self.inside(self.evaluator.frame(scope, None, frame, None), 1)
                if start is not None:
                    yield decorator, start

    def is_run_by_decorator(self, scope: Scope) -> bool:
        """Whether a function runs when its module is imported because a decorator calls it."""
        module = scope.module
        if isinstance(scope.node, ast.Lambda) or not runs_at_import(scope.node, module):
            return False
        frame = self.evaluator.frame_of(module.scope)
        decorators: list[ast.expr] = getattr(scope.node, "decorator_list", [])
        return any(self._runs_its_function(d, frame) for d in decorators) and not is_guarded(
            self.evaluator, scope.node, module
        )

    def _runs_its_function(self, decorator: ast.expr, frame: Frame) -> bool:
        for value in self.evaluator.values(decorator, frame):
            if isinstance(value, External) and value.name in apis.IMPORT_TIME_DECORATORS:
                return True
            if isinstance(value, Function) and isinstance(value.node, ast.FunctionDef) and value.node.args.args:
                name = value.node.args.args[0].arg
                for node in body_nodes(value.node, nested=False):
                    called = isinstance(node, ast.Call) and _calls(node, name)
                    if called and not is_guarded(self.evaluator, node, value.scope.module):
                        return True
        return False

    def of_one(self, node: ast.AST, frame: Frame) -> Start | None:
        """The start that one node is, whatever the functions that it calls start."""
        if isinstance(node, ast.Call) and not self.possible.is_named_as_start(node.func, frame.module):
            return None
        return self.of_node(node, frame, DEEPEST)

    def of_node(self, node: ast.AST, frame: Frame, depth: int) -> Start | None:
        """The start that evaluating one node leads to, itself or in what it calls."""
        if isinstance(node, ast.Call):
            return self._of_call(node, frame, depth)
        if isinstance(node, ast.Attribute):
            return self._reading(node, frame, depth)
        if isinstance(node, WITHS):
            return self._entering(node, frame, depth)
        for expression in iterated(node):
            start = self._iterates(expression, frame, depth)
            if start is not None:
                return start
        return None

    def _entering(self, node: ast.With | ast.AsyncWith, frame: Frame, depth: int) -> Start | None:
        """The start in an `__enter__` of the project, or of a manager."""
        for item in node.items:
            for value in self.evaluator.values(item.context_expr, frame):
                start = self._of_manager(value, item.context_expr, frame)
                if start is not None:
                    return start
                method = self.possible.enter_of(value)
                if method is not None and depth < DEEPEST and self.possible.can_start(method.scope):
                    entered = self.evaluator.frame(method.scope, None, method.closure, value)
                    start = self.inside(entered, depth + 1)
                    if start is not None:
                        return start
        return None

    def _of_manager(self, value: Value, node: ast.AST, frame: Frame) -> Start | None:
        arguments = managers.made_with(self.evaluator, value)
        if arguments is None:
            return None
        context = managers.context_of(arguments)
        methods = self.methods.of_contexts(context, frame.module)
        return Start(node, frame.module, "a manager starts", methods, self.methods.is_default_context(context))

    def _iterates(self, expression: ast.expr, frame: Frame, depth: int = DEEPEST) -> Start | None:
        if not self.possible.may_be_iterated(expression, frame.module):
            return None
        if isinstance(expression, ast.IfExp):
            branches = (expression.body, expression.orelse)
            taken = [part for part in branches if not is_guarded(self.evaluator, part, frame.module, frame)]
            return next((start for part in taken if (start := self._iterates(part, frame, depth))), None)
        values = self.evaluator.values(expression, frame)
        if isinstance(up(expression), ast.Assign) and any(isinstance(value, Collection) for value in values):
            return None  # `train, test = loaders`: the list is taken apart, not the loader that it may be instead
        for value in values:
            loader = self.iterations.loader_in(value)
            if loader is not None:
                return self._loader_start(loader, expression, frame)
            for run in self.possible.run_by_iterating(value, self.evaluator) if depth < DEEPEST else ():
                start = self.inside(run, depth + 1) if self.possible.can_start(run.scope) else None
                if start is not None:
                    return start
        return None

    def _loader_start(self, loader: Result | Instance, node: ast.AST, frame: Frame) -> Start | None:
        arguments = self.iterations.arguments_of(loader)
        name = "multiprocessing_context"
        source = arguments.get(apis.LOADER_POSITIONS[name], name) if arguments is not None else None
        methods = self.methods.of_contexts(source, frame.module)
        by_default = self.methods.is_default_context(source)
        return Start(node, frame.module, "iterates a DataLoader with workers", methods, by_default, loader)

    def _of_call(self, node: ast.Call, frame: Frame, depth: int) -> Start | None:
        for callee in self.evaluator.values(node.func, frame):
            start = self._of_callee(callee, node, frame, depth)
            if start is not None:
                return start
            start = self._through(callee, node, frame, depth)
            if start is not None:
                return start
        return None

    def _of_callee(self, callee: Value, node: ast.Call, frame: Frame, depth: int) -> Start | None:
        module = frame.module
        name = mp_name(callee)
        if name in ("Pool", "Manager"):
            by_default = self.methods.is_default(callee)
            return Start(node, module, f"{name}() starts processes", self.methods.of_callee(callee, module), by_default)
        if isinstance(callee, Class) and self.crossings.is_own_pool(Instance(callee, None)):
            text = f"{callee.scope.name}() starts processes"
            return Start(node, module, text, self.methods.of_program(module, node), True)
        if name in ("spawn", "start_processes"):
            arguments = self.evaluator.arguments(node, frame)
            methods = self.methods.of_start_processes(name, arguments)
            return Start(node, module, f"{name}() starts processes", methods, False)
        if isinstance(callee, Member):
            owner = callee.owner
            if is_executor(owner) and callee.name in apis.EXECUTOR_TASKS:
                assert isinstance(owner, Result)
                context = owner.arguments.get(1, "mp_context")
                methods = self.methods.of_contexts(context, module)
                by_default = self.methods.is_default_context(context)
                return Start(node, module, f"the executor's {callee.name}() starts processes", methods, by_default)
            if callee.name == "run_in_executor" and is_given_executor(
                self.evaluator, self.evaluator.arguments(node, frame)
            ):
                return Start(node, module, "run_in_executor() starts processes", self.methods.of_program(module), True)
            if callee.name == "start" and isinstance(owner, Result) and mp_name(owner.callee) in apis.PROCESS_CLASSES:
                by_default = self.methods.is_default(owner.callee)
                return Start(node, module, "Process.start()", self.methods.of_callee(owner.callee, module), by_default)
            if callee.name == "start" and isinstance(owner, Instance) and self.crossings.is_process(owner.cls):
                methods, by_default = self.crossings.process_methods(owner.cls, module)
                return Start(node, module, f"{owner.cls.scope.name}.start()", methods, by_default)
            if callee.name == "start":
                return self._of_manager(owner, node, frame)
            if apis.LAUNCHERS.fullmatch(qualified(callee)):
                return self._launched(node, frame)
        if isinstance(callee, External) and callee.name in CONSUMING:
            for argument in node.args:
                start = self._iterates(argument, frame, depth)
                if start is not None:
                    return start
        return None

    def _launched(self, node: ast.Call, frame: Frame) -> Start | None:
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            for value in self.evaluator.values(argument, frame):
                inner = [v for _, s in self.evaluator.items(value) for v in self.evaluator.of(s)]
                for candidate in (value, *inner):
                    loader = self.iterations.loader_in(candidate)
                    if loader is not None:
                        return self._loader_start(loader, node, frame)
        return None

    def _through(
        self, callee: Value, node: ast.Call, frame: Frame, depth: int, arguments: Arguments | None = None
    ) -> Start | None:
        """The start inside a function of the project that is called."""
        for run in self.possible.run_by(callee, node, frame, self.evaluator):
            unseen = Arguments(node, frame)
            unseen.open_positional = unseen.open_keywords = True
            start = self._through(run, node, frame, depth, unseen)
            if start is not None:
                return start
        function = self.possible.function_of(callee)
        if depth >= DEEPEST or function is None or not self.possible.can_start(function.scope):
            return None
        if function.scope.is_generator and is_put_aside(self.evaluator, node, frame.module):
            return None
        arguments = arguments or self.evaluator.arguments(node, frame)
        if isinstance(callee, Partial):
            arguments = self.evaluator.argument_lists.joined(callee.arguments, arguments)
            callee = callee.callee
        if isinstance(callee, Member):
            receiver = callee.owner if isinstance(callee.owner, Instance) else None
            open_frame = self.evaluator.frame_of(function.scope)
            return self.inside(self.evaluator.frame(function.scope, None, open_frame.closure, receiver), depth + 1)
        if isinstance(callee, Class):
            inner = classes.making_frame(self.evaluator, Instance(callee, arguments))
            return self.inside(inner, depth + 1) if inner is not None else None
        if isinstance(callee, Instance):
            method = classes.find_method(self.evaluator, callee.cls, "__call__")
            if method is None:
                return None
            callee = Method(callee, method)
        if isinstance(callee, Function | Method):
            entered = self.evaluator.enter(callee, arguments)
            return self.inside(entered, depth + 1) if entered is not None else None
        return None

    def inside(self, frame: Frame, depth: int) -> Start | None:
        """The first start in a function's body, as one frame runs it."""
        key = id(frame)
        if key not in self._inside:
            self._inside[key] = None
            self._inside[key] = self._search(frame, depth)
        return self._inside[key]

    def _search(self, frame: Frame, depth: int) -> Start | None:
        scope = frame.scope
        if not self.possible.can_start(scope):
            return None
        assert isinstance(scope.node, FUNCTIONS)
        for node in body_nodes(scope.node, nested=False):
            is_read = isinstance(node, ast.Attribute)
            if not (self.possible.may_be_property(node) if is_read else self.possible.may_matter(node, scope.module)):
                continue
            if self.evaluator.never(node, frame):
                continue
            inner = self.evaluator.frame_in(scope.module.scope_of(node), frame)
            if is_guarded(self.evaluator, node, scope.module, inner):
                continue
            start = self.of_node(node, inner, depth)
            if start is not None:
                return start
        return None


def _calls(node: ast.Call, name: str) -> bool:
    """`name()`, or `partial(name, …)()`."""
    function = node.func
    if isinstance(function, ast.Call):
        return any(isinstance(argument, ast.Name) and argument.id == name for argument in function.args)
    return isinstance(function, ast.Name) and function.id == name


def import_nodes(module: Module) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported, in source order: no function bodies."""
    stack: list[ast.AST] = list(reversed(module.tree.body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stack.extend(reversed([*node.decorator_list, *node.args.defaults]))
            continue
        stack.extend(reversed(children(node)))
