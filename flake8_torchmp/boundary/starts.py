"""Starts: what starts processes, and what of it runs when a module is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from flake8_torchmp.semantics import classes, reading
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import Arguments, Frame, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions, facts
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, children, last_name, up
from flake8_torchmp.semantics.reach import Reach
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.spreading import Spreading
from flake8_torchmp.semantics.values import (
    Class,
    External,
    Function,
    Instance,
    Member,
    Method,
    Partial,
    Result,
    Unknown,
    Value,
    qualified,
)

from . import apis, managers
from .crossings import Crossings, is_executor, is_given_executor
from .guards import is_guarded, runs_at_import
from .iterations import CONSUMING, ITERATING, Iterations, iterated, may_be_loader
from .methods import StartMethods, mp_name

DEEPEST = 6
MOST_OVERRIDES = 40
THREAD_FUNCTIONS = {"threading.Thread": "target", "threading.Timer": "function"}
"""What a thread runs, by the name of its second parameter."""
WITHS = (ast.With, ast.AsyncWith)
START_NAMES = frozenset(
    "Pool Manager spawn start_processes start submit map run_in_executor fit validate test predict".split()
)
"""The names of all methods that start processes."""
THREAD_TASKS = frozenset((*apis.POOL_TASKS, *apis.EXECUTOR_TASKS))
"""Methods by which pools and executors of threads call what they are given."""
COUNTING_NAMES = (START_NAMES | THREAD_TASKS).union(name.rpartition(".")[2] for name in CONSUMING | apis.RUNNERS)
PROPERTY = re.compile(rb"property\b[^\n]*\n\s*def (\w+)")


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
        self.reach = Reach(evaluator.codebase, apis.STARTS)
        self._inside: dict[int, Start | None] = {}
        self._open: dict[Place, bool] = {}
        self._properties: dict[str, frozenset[bytes]] = {}
        self._methods_named: dict[tuple[Place, str], list[Scope]] = {}
        self._can_start = Spreading(self._looked_at, ("", "iterates", "starts"))
        self._makes_loaders: set[str] = set()
        self._no_loaders: set[str] = set()
        self._with_loaders = True

    def start_afresh(self) -> None:
        self._inside.clear()

    def forget(self) -> None:
        self._inside.clear()
        self._properties.clear()
        self._methods_named.clear()

    def at_import(self, module: Module) -> Iterator[tuple[ast.AST, Start]]:
        """What starts processes when a module is imported: the node at module level, and the start it leads to."""
        self.look_from(module)
        frame = self.evaluator.frame_of(module.scope)
        for node in import_nodes(module):
            runs = isinstance(node, ast.Attribute) and self._may_run_property(node, module)
            if not (runs or self.may_matter(node, module)) or is_guarded(self.evaluator, node, module):
                continue
            if self._is_switched_off(node, frame):
                continue
            if any(isinstance(a, ast.GeneratorExp) and self._is_put_aside(a, module) for a in ancestors(node)):
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

    def _may_run_property(self, node: ast.Attribute, module: Module) -> bool:
        """Whether reading an attribute runs a property that can start processes, from definitions alone."""
        if not reading.may_run(self.outline, node, module):
            return False
        frame = self.outline.frame_at(node, module)
        found = [reading.reader(self.outline, value, node.attr) for value in self.outline.values(node.value, frame)]
        return any(method and self.can_start(method.scope, self._with_loaders) for method in found)

    def _may_be_property(self, node: ast.AST) -> bool:
        """Whether a node reads what some file of the project that can start processes defines as a property."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return False
        codebase, name = self.evaluator.codebase, node.attr.encode()
        return any(name in self._properties_of(path) for path in codebase.definers(node.attr))

    def _properties_of(self, path: str) -> frozenset[bytes]:
        known = self._properties.get(path)
        if known is None:
            codebase = self.evaluator.codebase
            found = PROPERTY.findall(codebase.data(path)) if codebase.matches(path, apis.STARTS) else ()
            known = self._properties[path] = frozenset(found)
        return known

    def _reading(self, node: ast.Attribute, frame: Frame, depth: int) -> Start | None:
        """The start in a property of the project that is read, or in its `__getattr__`."""
        for value in () if depth >= DEEPEST else self.evaluator.values(node.value, frame):
            method = reading.reader(self.outline, value, node.attr)
            if method is not None:
                start = self.inside(reading.frame_of(self.evaluator, method, value, node, frame), depth + 1)
                if start is not None:
                    return start
        return None

    def look_from(self, module: Module) -> bool:
        """Before a run of a program that begins in a module: whether it can have loaders."""
        self._with_loaders = self.has_loaders(module)
        return self._with_loaders

    def may_matter(self, node: ast.AST, module: Module) -> bool:
        """Whether a node can start processes, from definitions alone."""
        if not isinstance(node, (ast.Call, *WITHS, *ITERATING)):
            return False
        key = ("may start", node, self._with_loaders)
        if key not in module.memo:
            module.memo[key] = self._may_matter(node, module)
        return bool(module.memo[key])

    def _may_matter(self, node: ast.AST, module: Module) -> bool:
        frame = self.outline.frame_at(node, module)
        if isinstance(node, WITHS):
            values = [value for item in node.items for value in self.outline.values(item.context_expr, frame)]
            return any(
                managers.made_with(self.outline, value) is not None
                or ((method := self._enter_of(value)) and self.can_start(method.scope, self._with_loaders))
                for value in values
            )
        if not isinstance(node, ast.Call):
            if self._with_loaders and self.iterations.may_be_by(node, module):
                return True
            return any(self._may_start_by_iterating(expression, module) for expression in iterated(node))
        if not self._may_count(node.func, module):
            return False
        for callee in self.outline.values(node.func, frame):
            if self._is_start(callee) or (isinstance(callee, Unknown) and self._may_be_start(node.func)):
                return True
            if isinstance(callee, Partial) and isinstance(callee.callee, Unknown):
                return True
            if self._with_loaders and self.iterations.may_be_consumed(callee, node, module):
                return True
            is_consumer = isinstance(callee, External) and callee.name in CONSUMING
            if is_consumer and any(self._may_start_by_iterating(argument, module) for argument in node.args):
                return True
            run = [self.function_of(callee), *map(self.function_of, self._run_by(callee, node, frame, self.outline))]
            if any(function and self.can_start(function.scope, self._with_loaders) for function in run):
                return True
        around = module.scope_of(node).enclosing_function()
        overrides = self._overrides(node.func, around) if around is not None else []
        return any(self.can_start(scope, self._with_loaders) for scope in overrides)

    def _may_start_by_iterating(self, expression: ast.expr, module: Module) -> bool:
        """Whether an expression gives an object of the project that may start processes when it is iterated."""
        if not may_be_loader(expression):
            return False
        values = self.outline.values(expression, self.outline.frame_at(expression, module))
        methods = [self._method(value, "__iter__") for value in values]
        return any(method and self.can_start(method.scope, self._with_loaders) for method in methods)

    def _may_count(self, callee: ast.expr, module: Module) -> bool:
        """Whether a call may start processes, iterate a loader, or run something of the project, going by names."""
        return last_name(callee) in module.all_names_of(COUNTING_NAMES) or may_run_project(self.outline, callee, module)

    def _may_be_start(self, callee: ast.expr) -> bool:
        """Whether something that definitions don't tell can start processes, going by its name."""
        if not isinstance(callee, ast.Attribute):
            return True
        return callee.attr in START_NAMES or self.evaluator.codebase.may_define(callee.attr)

    def has_loaders(self, module: Module) -> bool:
        """Whether a module, or one that it imports, also by way of others, makes a loader."""
        codebase = self.evaluator.codebase
        pending, seen = [module.path], {module.path}
        while pending:
            path = pending.pop()
            if path in self._makes_loaders or self.crossings.names_loaders(path):
                self._makes_loaders.add(module.path)
                return True
            new = [inner for inner in codebase.imports(path) if inner not in seen and inner not in self._no_loaders]
            seen.update(new)
            pending += new
        self._no_loaders |= seen
        return False

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
                method = self._enter_of(value)
                if method is not None and depth < DEEPEST and self.can_start(method.scope, self._with_loaders):
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

    def _enter_of(self, value: Value) -> Function | None:
        return self._method(value, "__enter__")

    def _method(self, value: Value, name: str) -> Function | None:
        return classes.find_method(self.outline, value.cls, name) if isinstance(value, Instance) else None

    def _iterates(self, expression: ast.expr, frame: Frame, depth: int = DEEPEST) -> Start | None:
        if not self.iterations.may_give_loader(expression, frame.module):
            return None
        for value in self.evaluator.values(expression, frame):
            loader = self.iterations.loader_in(value)
            if loader is not None:
                return self._loader_start(loader, expression, frame)
            method = self._method(value, "__iter__") if depth < DEEPEST else None
            if method is not None and self.can_start(method.scope, self._with_loaders):
                start = self.inside(self.evaluator.frame(method.scope, None, method.closure, value), depth + 1)
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

    def _run_by(self, callee: Value, node: ast.Call, frame: Frame, evaluator: Evaluator) -> tuple[Value, ...]:
        """What a library's function calls that is given it: `list(map(train, folds))`, `threads.submit(train)`."""
        if isinstance(callee, Member) and callee.name in THREAD_TASKS and isinstance(callee.owner, Result):
            in_threads = callee.owner.name in apis.THREAD_POOLS | apis.THREAD_EXECUTORS and node.args
            return evaluator.values(node.args[0], frame) if in_threads else ()
        if not isinstance(callee, External) or callee.name not in apis.RUNNERS or not node.args:
            return ()
        if callee.name.startswith("builtins.") and self._is_put_aside(node, frame.module):
            return ()
        return evaluator.values(node.args[0], frame)

    def _through(
        self, callee: Value, node: ast.Call, frame: Frame, depth: int, arguments: Arguments | None = None
    ) -> Start | None:
        """The start inside a function of the project that is called."""
        for run in self._run_by(callee, node, frame, self.evaluator):
            unseen = Arguments(node, frame)
            unseen.open_positional = unseen.open_keywords = True
            start = self._through(run, node, frame, depth, unseen)
            if start is not None:
                return start
        function = self.function_of(callee)
        if depth >= DEEPEST or function is None or not self.can_start(function.scope, self._with_loaders):
            return None
        if function.scope.is_generator and self._is_put_aside(node, frame.module):
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

    def _is_put_aside(self, node: ast.Call | ast.GeneratorExp, module: Module) -> bool:
        """Whether a call's result is kept under a name that is not read there: a generator runs when iterated."""
        statement = up(node)
        if not isinstance(statement, ast.Assign):
            return isinstance(statement, ast.Expr)
        around = module.scope_of(node).enclosing_function()
        return all(
            isinstance(target, ast.Name)
            and all(
                module.scope_of(load).enclosing_function() is not around or is_guarded(self.evaluator, load, module)
                for load in module.loads(target.id)
            )
            for target in statement.targets
        )

    def inside(self, frame: Frame, depth: int) -> Start | None:
        """The first start in a function's body, as one frame runs it."""
        key = id(frame)
        if key not in self._inside:
            self._inside[key] = None
            self._inside[key] = self._search(frame, depth)
        return self._inside[key]

    def can_start(self, scope: Scope, with_loaders: bool) -> bool:
        """Whether a function may start processes; one that iterates what it is given may if there are loaders."""
        if not with_loaders and not self._comes_to_start(scope.outermost()) and not self._is_open(scope):
            return False
        known = self._can_start.of(scope)
        return known == "starts" or (known == "iterates" and with_loaders)

    def _comes_to_start(self, definition: Scope) -> bool:
        """Whether a definition of a module, or what it leads to, names what starts processes, going by bytes."""
        name, path = definition.name.encode(), definition.module.path
        is_known = name in self.evaluator.codebase.mentions.definitions(path)
        return not is_known or self.reach.comes_to(name, path)

    def _is_open(self, scope: Scope) -> bool:
        """Whether a function calls what others put there: its parameters, or methods that subclasses have anew."""
        if scope.place not in self._open:
            calls = (node.func for node in body_nodes(scope.node, nested=False) if isinstance(node, ast.Call))
            self._open[scope.place] = any(_is_parameter(c, scope) or self._overrides(c, scope) for c in calls)
        return self._open[scope.place]

    def _looked_at(self, scope: Scope) -> tuple[str, list[Scope]]:
        """What a function's own body does, and the functions of the project that it may call."""
        frame = self.outline.frame_of(scope)
        assert isinstance(scope.node, FUNCTIONS)
        found = ""
        called: list[Scope] = []
        for node in body_nodes(scope.node, nested=False):
            if isinstance(node, ast.Call):
                if not self._may_count(node.func, scope.module):
                    continue
                inner = self.outline.frame_in(scope.module.scope_of(node), frame)
                called += self._overrides(node.func, scope)
                for callee in self.outline.values(node.func, inner):
                    if self._is_start(callee) or (isinstance(callee, Unknown) and _is_parameter(node.func, scope)):
                        return "starts", []
                    if self.iterations.may_be_consumed(callee, node, scope.module):
                        found = "iterates"
                    for run in (callee, *self._run_by(callee, node, inner, self.outline)):
                        function = self.function_of(run)
                        if function is not None:
                            called.append(function.scope)
            elif isinstance(node, ast.Attribute) and self._may_be_property(node):
                inner = self.outline.frame_in(scope.module.scope_of(node), frame)
                read = [reading.reader(self.outline, v, node.attr) for v in self.outline.values(node.value, inner)]
                called += [method.scope for method in read if method is not None]
            elif isinstance(node, WITHS):
                inner = self.outline.frame_in(scope.module.scope_of(node), frame)
                for item in node.items:
                    for value in self.outline.values(item.context_expr, inner):
                        if managers.made_with(self.outline, value) is not None:
                            return "starts", []
                        method = self._enter_of(value)
                        if method is not None:
                            called.append(method.scope)
            elif not found and isinstance(node, ITERATING):
                is_unpacking = isinstance(node, ast.Assign)
                iterates = self.iterations.may_be_unpacked if is_unpacking else self.iterations.may_be_by
                found = "iterates" if iterates(node, scope.module) else ""
        return found, called

    def _overrides(self, callee: ast.expr, scope: Scope) -> list[Scope]:
        """The methods that `self.run()` may call where subclasses have their own, going by the name."""
        receiver = callee.value if isinstance(callee, ast.Attribute) else None
        if not isinstance(receiver, ast.Name) or not scope.is_function or receiver.id != receiver_name(scope):
            return []
        name, owner = last_name(callee), scope.enclosing_class()
        assert owner is not None
        key = (owner.place, name)
        if key not in self._methods_named:
            self._methods_named[key] = list(islice(self._methods_beside(owner, name), MOST_OVERRIDES))
        return self._methods_named[key]

    def _methods_beside(self, owner: Scope, name: str) -> Iterator[Scope]:
        """The methods of a name, in classes with bases, of the files that know a class."""
        codebase = self.evaluator.codebase
        knowing = {owner.module.path, *codebase.mentioning(owner.name, owner.module.path)}
        for path in codebase.definers(name):
            module = codebase.module(path) if path in knowing and codebase.matches(path, apis.STARTS) else None
            for node in module.functions if module is not None else ():
                assert module is not None
                cls = module.scopes[node].parent
                bases = getattr(cls.node, "bases", ()) if cls is not None else ()
                if getattr(node, "name", "") == name and bases:
                    yield module.scopes[node]

    def _is_start(self, callee: Value) -> bool:
        if mp_name(callee) in ("Pool", "Manager", "spawn", "start_processes"):
            return True
        if not isinstance(callee, Member):
            return False
        owner = callee.owner
        if callee.name == "start":
            if not isinstance(owner, Result) or owner.name in managers.CLASSES:
                return True
            return mp_name(owner.callee) in apis.PROCESS_CLASSES
        if callee.name == "run_in_executor":
            return True
        return is_executor(owner) or apis.LAUNCHERS.fullmatch(qualified(callee)) is not None

    def function_of(self, callee: Value) -> Function | None:
        """The function of the project that calling a value runs."""
        if isinstance(callee, Partial):
            return self.function_of(callee.callee)
        if isinstance(callee, Class):
            return classes.maker(self.outline, callee)
        if isinstance(callee, Instance):
            return classes.find_method(self.outline, callee.cls, "__call__")
        if isinstance(callee, Method):
            return callee.function
        if isinstance(callee, Member) and callee.name == "start":
            return self._run_by_thread(callee.owner)
        return callee if isinstance(callee, Function) else None

    def _run_by_thread(self, thread: Value) -> Function | None:
        """What `start` of a thread begins to run."""
        if isinstance(thread, Instance):
            is_thread = "threading.Thread" in classes.library_bases(self.outline, thread.cls)
            return classes.find_method(self.outline, thread.cls, "run") if is_thread else None
        if not isinstance(thread, Result) or thread.name not in THREAD_FUNCTIONS:
            return None
        target = thread.arguments.get(1, THREAD_FUNCTIONS[thread.name])
        for value in self.outline.of(target) if target is not None else ():
            if isinstance(value, Function | Method):
                return self.function_of(value)
        return None

    def _search(self, frame: Frame, depth: int) -> Start | None:
        scope = frame.scope
        if not self.can_start(scope, self._with_loaders):
            return None
        assert isinstance(scope.node, FUNCTIONS)
        for node in body_nodes(scope.node, nested=False):
            is_read = isinstance(node, ast.Attribute)
            if not (self._may_be_property(node) if is_read else self.may_matter(node, scope.module)):
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


def _is_parameter(callee: ast.expr, scope: Scope) -> bool:
    """Whether a function calls what it was given."""
    bindings = scope.bindings.get(callee.id, ()) if isinstance(callee, ast.Name) else ()
    return any(binding.kind == "parameter" for binding in bindings)


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
