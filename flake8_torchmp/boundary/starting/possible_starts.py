"""What may start processes, told from definitions alone: most code is passed by without being run in mind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.crossing.crossings import Crossings, is_executor
from flake8_torchmp.boundary.crossing.iterations import CONSUMING, ITERATING, Iterations, iterated, may_be_loader
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import attributes, classes, reading
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import Frame, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, last_name, up
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

from . import managers

MOST_OVERRIDES = 40
RUN_BY_THREADS = {"threading.Thread": "target", "threading.Timer": "function"}
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


class PossibleStarts:
    def __init__(self, outline: Evaluator, crossings: Crossings, iterations: Iterations) -> None:
        self.outline = outline
        self.crossings = crossings
        self.iterations = iterations
        self.with_loaders = True
        """Whether the program that is looked at can have loaders."""
        self.reach = Reach(outline.codebase, apis.STARTS)
        self._open: dict[Place, bool] = {}
        self._properties: dict[str, frozenset[bytes]] = {}
        self._methods_named: dict[tuple[Place, str], list[Scope]] = {}
        self._can_start = Spreading(self._looked_at, ("", "iterates", "starts"))
        self._makes_loaders: set[str] = set()
        self._no_loaders: set[str] = set()

    def forget(self) -> None:
        self._properties.clear()
        self._methods_named.clear()

    def look_from(self, module: Module) -> bool:
        """Before a run of a program that begins in a module: whether it can have loaders."""
        self.with_loaders = self.has_loaders(module)
        return self.with_loaders

    def look_from_users(self, module: Module) -> None:
        """Before a look at what any program with a module runs: whether one of them can have loaders."""
        codebase = self.outline.codebase
        programs = codebase.reachable(codebase.users([module.path]))
        self.with_loaders = any(map(self.crossings.names_loaders, programs))

    def has_loaders(self, module: Module) -> bool:
        """Whether a module, or one that it imports, also by way of others, makes a loader."""
        codebase = self.outline.codebase
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

    def may_matter(self, node: ast.AST, module: Module) -> bool:
        """Whether a node can start processes, from definitions alone."""
        if not isinstance(node, (ast.Call, *WITHS, *ITERATING)):
            return False
        key = ("may start", node, self.with_loaders)
        if key not in module.memo:
            module.memo[key] = self._may_matter(node, module)
        return bool(module.memo[key])

    def _may_matter(self, node: ast.AST, module: Module) -> bool:
        frame = self.outline.frame_at(node, module)
        if isinstance(node, WITHS):
            values = [value for item in node.items for value in self.outline.values(item.context_expr, frame)]
            return any(
                managers.made_with(self.outline, value) is not None
                or ((method := self.enter_of(value)) and self.can_start(method.scope))
                for value in values
            )
        if not isinstance(node, ast.Call):
            if self.with_loaders and self.iterations.may_be_by(node, module):
                return True
            return any(self._may_start_by_iterating(expression, module) for expression in iterated(node))
        if not self._may_count(node.func, module):
            return False
        for callee in self.outline.values(node.func, frame):
            if self._is_start(callee) or (isinstance(callee, Unknown) and self._may_be_start(node.func)):
                return True
            if isinstance(callee, Partial) and isinstance(callee.callee, Unknown):
                return True
            if self.with_loaders and self.iterations.may_be_consumed(callee, node, module):
                return True
            is_consumer = isinstance(callee, External) and callee.name in CONSUMING
            if is_consumer and any(self._may_start_by_iterating(argument, module) for argument in node.args):
                return True
            run = [self.function_of(callee), *map(self.function_of, self.run_by(callee, node, frame, self.outline))]
            if any(function and self.can_start(function.scope) for function in run):
                return True
        around = module.scope_of(node).enclosing_function()
        overrides = self._overrides(node.func, around) if around is not None else []
        return any(self.can_start(scope) for scope in overrides)

    def may_be_iterated(self, expression: ast.expr, module: Module) -> bool:
        """Whether iterating an expression may start processes: a loader's, or those of an object or generator."""
        return self.iterations.may_give_loader(expression, module) or self._may_start_by_iterating(expression, module)

    def _may_start_by_iterating(self, expression: ast.expr, module: Module) -> bool:
        """Whether an expression gives an object of the project that may start processes when it is iterated."""
        if not may_be_loader(expression):
            return False
        values = self.outline.values(expression, self.outline.frame_at(expression, module))
        return any(self.can_start(run.scope) for value in values for run in self.run_by_iterating(value, self.outline))

    def run_by_iterating(self, value: Value, evaluator: Evaluator) -> list[Frame]:
        """What of the project runs when a value is iterated: its `__iter__`, or a generator that was made before."""
        if isinstance(value, Result) and isinstance(value.callee, Function | Method):
            frame = evaluator.enter(value.callee, value.arguments)
            return [frame] if frame is not None else []
        method = self.method(value, "__iter__")
        if method is None:
            return []
        frame = evaluator.frame(method.scope, None, method.closure, value)
        given = [inner for inner in evaluator.returned(frame) if isinstance(inner, Result)]
        return [frame, *(run for inner in given for run in self.run_by_iterating(inner, evaluator))]

    def _may_count(self, callee: ast.expr, module: Module) -> bool:
        """Whether a call may start processes, iterate a loader, or run something of the project, going by names."""
        return last_name(callee) in module.all_names_of(COUNTING_NAMES) or may_run_project(self.outline, callee, module)

    @staticmethod
    def is_named_as_start(callee: ast.expr, module: Module) -> bool:
        """Whether a call may itself start processes or iterate a loader, going by its name."""
        return not isinstance(callee, ast.Attribute) or callee.attr in module.all_names_of(COUNTING_NAMES)

    def _may_be_start(self, callee: ast.expr) -> bool:
        """Whether something that definitions don't tell can start processes, going by its name."""
        if not isinstance(callee, ast.Attribute):
            return True
        return callee.attr in START_NAMES or self.outline.codebase.may_define(callee.attr)

    def may_run_property(self, node: ast.Attribute, module: Module) -> bool:
        """Whether reading an attribute runs a property that can start processes, from definitions alone."""
        if not reading.may_run(self.outline, node, module):
            return False
        frame = self.outline.frame_at(node, module)
        found = [reading.reader(self.outline, value, node.attr) for value in self.outline.values(node.value, frame)]
        return any(method and self.can_start(method.scope) for method in found)

    def may_be_property(self, node: ast.AST) -> bool:
        """Whether a node reads what some file of the project that can start processes defines as a property."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return False
        codebase, name = self.outline.codebase, node.attr.encode()
        return any(name in self._properties_of(path) for path in codebase.definers(node.attr))

    def _properties_of(self, path: str) -> frozenset[bytes]:
        known = self._properties.get(path)
        if known is None:
            codebase = self.outline.codebase
            found = PROPERTY.findall(codebase.data(path)) if codebase.matches(path, apis.STARTS) else ()
            known = self._properties[path] = frozenset(found)
        return known

    def can_start(self, scope: Scope, with_loaders: bool | None = None) -> bool:
        """Whether a function may start processes; one that iterates what it is given may if there are loaders."""
        with_loaders = self.with_loaders if with_loaders is None else with_loaders
        if not with_loaders and not self._comes_to_start(scope.outermost()) and not self._is_open(scope):
            return False
        known = self._can_start.of(scope)
        return known == "starts" or (known == "iterates" and with_loaders)

    def _comes_to_start(self, definition: Scope) -> bool:
        """Whether a definition of a module, or what it leads to, names what starts processes, going by bytes."""
        name, path = definition.name.encode(), definition.module.path
        is_known = name in self.outline.codebase.mentions.definitions(path)
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
                    elif isinstance(callee, External) and callee.name in CONSUMING:
                        called += self._generators_in(node.args, scope.module)
                    for run in (callee, *self.run_by(callee, node, inner, self.outline)):
                        function = self.function_of(run)
                        if function is not None:
                            called.append(function.scope)
            elif isinstance(node, ast.Attribute) and self.may_be_property(node):
                inner = self.outline.frame_in(scope.module.scope_of(node), frame)
                read = [reading.reader(self.outline, v, node.attr) for v in self.outline.values(node.value, inner)]
                called += [method.scope for method in read if method is not None]
            elif isinstance(node, WITHS):
                inner = self.outline.frame_in(scope.module.scope_of(node), frame)
                for item in node.items:
                    for value in self.outline.values(item.context_expr, inner):
                        if managers.made_with(self.outline, value) is not None:
                            return "starts", []
                        method = self.enter_of(value)
                        if method is not None:
                            called.append(method.scope)
            elif not found and isinstance(node, ITERATING):
                is_unpacking = isinstance(node, ast.Assign)
                iterates = self.iterations.may_be_unpacked if is_unpacking else self.iterations.may_be_by
                found = "iterates" if iterates(node, scope.module) else ""
                called += self._generators_in(iterated(node), scope.module)
        return found, called

    def _generators_in(self, expressions: list[ast.expr], module: Module) -> list[Scope]:
        """The generators of the project that were made before, and that are iterated now."""
        return [
            value.callee.scope if isinstance(value.callee, Function) else value.callee.function.scope
            for expression in expressions
            if isinstance(expression, ast.Name | ast.Attribute | ast.Subscript)
            for value in self.outline.values(expression, self.outline.frame_at(expression, module))
            if isinstance(value, Result) and isinstance(value.callee, Function | Method)
        ]

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
        codebase = self.outline.codebase
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
        if isinstance(callee, Class):
            return self.crossings.is_own_pool(Instance(callee, None))
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
        if not isinstance(thread, Result) or thread.name not in RUN_BY_THREADS:
            return None
        target = thread.arguments.get(1, RUN_BY_THREADS[thread.name])
        for value in self.outline.of(target) if target is not None else ():
            if isinstance(value, Function | Method):
                return self.function_of(value)
        return None

    def enter_of(self, value: Value) -> Function | None:
        return self.method(value, "__enter__")

    def method(self, value: Value, name: str) -> Function | None:
        return classes.find_method(self.outline, value.cls, name) if isinstance(value, Instance) else None

    def run_by(self, callee: Value, node: ast.Call, frame: Frame, evaluator: Evaluator) -> tuple[Value, ...]:
        """What is called with a call: `list(map(train, folds))`, `threads.submit(train)`, a record's factories."""
        if isinstance(callee, Member) and callee.name in THREAD_TASKS and isinstance(callee.owner, Result):
            in_threads = callee.owner.name in apis.THREAD_POOLS | apis.THREAD_EXECUTORS and node.args
            return evaluator.values(node.args[0], frame) if in_threads else ()
        if isinstance(callee, Class) and attributes.has_factories(evaluator, callee):
            return tuple(attributes.default_factories(evaluator, callee, evaluator.arguments(node, frame)))
        if not isinstance(callee, External) or callee.name not in apis.RUNNERS or not node.args:
            return ()
        if callee.name.startswith("builtins.") and is_put_aside(evaluator, node, frame.module):
            return ()
        return evaluator.values(node.args[0], frame)


def _is_parameter(callee: ast.expr, scope: Scope) -> bool:
    """Whether a function calls what it was given."""
    bindings = scope.bindings.get(callee.id, ()) if isinstance(callee, ast.Name) else ()
    return any(binding.kind == "parameter" for binding in bindings)


_HOLDERS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Return)


def is_put_aside(evaluator: Evaluator, node: ast.Call | ast.GeneratorExp, module: Module) -> bool:
    """Whether a call's result is kept, and not read there under a name: a generator runs when iterated."""
    statement = up(node)
    if isinstance(statement, ast.Assign):
        return all(_is_read_later(evaluator, target, node, module) for target in statement.targets)
    call = up(statement) if isinstance(statement, ast.keyword) else statement
    if isinstance(call, ast.Call) and call.func is not node:  # a function that iterates it is looked into
        callees = evaluator.values(call.func, evaluator.frame_at(call, module))
        return all(isinstance(callee, Function | Method | Class) for callee in callees)
    return isinstance(statement, (ast.Expr, *_HOLDERS))


def _is_read_later(evaluator: Evaluator, target: ast.expr, node: ast.AST, module: Module) -> bool:
    if isinstance(target, ast.Attribute | ast.Subscript):
        return True
    around = module.scope_of(node).enclosing_function()
    return isinstance(target, ast.Name) and all(
        module.scope_of(load).enclosing_function() is not around or is_guarded(evaluator, load, module)
        for load in module.loads(target.id)
    )
