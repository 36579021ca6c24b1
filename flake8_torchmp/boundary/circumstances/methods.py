"""Under which start methods processes are started: by a context, by what the program sets, or by default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from flake8_torchmp.boundary.tables.apis import bare
from flake8_torchmp.boundary.tables.targets import default_methods
from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions, earlier
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.values import (
    Constant,
    External,
    Function,
    Member,
    Method,
    Result,
    Source,
    Value,
)
from flake8_torchmp.settings import START_METHODS, Settings

from .guards import is_guarded

_SETTING = re.compile(b"set_start_method")
_ASKING = re.compile("get_start_method")
"""In a test before a method is set: one is in force afterwards either way."""
ALL = frozenset(START_METHODS)
MOST_CALLERS = 40
CONTEXT_CLASSES = {
    "ForkContext": "fork",
    "ForkProcess": "fork",
    "SpawnContext": "spawn",
    "SpawnProcess": "spawn",
    "ForkServerContext": "forkserver",
    "ForkServerProcess": "forkserver",
}


class StartMethods:
    """Answers, for one project and its settings, how processes come into being."""

    def __init__(self, evaluator: Evaluator, settings: Settings) -> None:
        self.evaluator = evaluator
        self.default = default_methods(settings)
        self._program: dict[str, frozenset[str]] = {}

    def of_program(self, module: Module, at: ast.AST | None = None) -> frozenset[str]:
        """The default method where a module's code runs, as the programs that use it set it, or what stands before."""
        if at is not None and module.calls_of("set_start_method"):
            chosen = self._set_before(at, module)
            if chosen:
                return chosen
        known = self._program.get(module.path)
        if known is None:
            self._program[module.path] = self.default
            known = self._program[module.path] = self.evaluator.alone(lambda: self._set_by_program(module))
        return known

    def _set_before(self, node: ast.AST, module: Module) -> frozenset[str]:
        """The methods that a statement sets which stands before a node, on each way to it."""
        for statement in earlier(node):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and last_name(call.func) == "set_start_method":
                frame = self.evaluator.frame_at(call, module)
                if any(mp_name(value) == "set_start_method" for value in self.evaluator.values(call.func, frame)):
                    return self._named(self.evaluator.arguments(call, frame).get(0, "method"))
        return frozenset()

    def may_be_set_by_program(self, module: Module) -> bool:
        """Whether a program that uses a module sets a start method, under whatever conditions."""
        codebase = self.evaluator.codebase
        return any(codebase.matches(path, _SETTING) for path in codebase.reachable(codebase.users([module.path])))

    def _set_by_program(self, module: Module) -> frozenset[str]:
        codebase = self.evaluator.codebase
        found: set[str] = set()
        certain = False
        users = codebase.users([module.path])
        for path in codebase.reachable(users):
            if not codebase.matches(path, _SETTING):
                continue
            other = codebase.module(path)
            if other is None:
                continue
            for call in other.calls_of("set_start_method"):
                if path not in users and not self._is_come_to(call, other, users):
                    continue
                frame = self.evaluator.frame_at(call, other)
                if not any(mp_name(value) == "set_start_method" for value in self.evaluator.values(call.func, frame)):
                    continue
                source = self.evaluator.arguments(call, frame).get(0, "method")
                found |= self._named(source)
                certain = certain or all(
                    _ASKING.search(ast.unparse(condition.test))
                    or (is_guarded(self.evaluator, call, other) and "__name__" in ast.unparse(condition.test))
                    for condition in conditions(call)
                )
        return frozenset(found) if certain else frozenset(found) | self.default

    def _is_come_to(self, call: ast.Call, module: Module, users: Sequence[str]) -> bool:
        """Whether what some files import comes to a call: when it is imported, or because they call its function."""
        pending: list[tuple[ast.AST, Module]] = [(call, module)]
        seen: set[int] = set()
        while pending and len(seen) < MOST_CALLERS:
            node, inside = pending.pop()
            if inside.path in users:
                return True
            function = inside.scope_of(node).enclosing_function()
            if function is None and not is_guarded(self.evaluator, node, inside):
                return True
            if function is not None and id(function) not in seen:
                seen.add(id(function))
                around = function.parent
                if around is not None and around.is_function:  # what a decorator puts in a function's place
                    pending.append((function.node, inside))
                callers = self.evaluator.callers.of(function)
                pending += [(arguments.call, arguments.frame.module) for arguments, _ in callers]
        return False

    def _named(self, source: Source | None) -> frozenset[str]:
        """The methods that an argument can name."""
        if source is None:
            return ALL
        found: set[str] = set()
        for value in self.evaluator.of(source):
            if isinstance(value, Constant) and value.value in ALL:
                found.add(str(value.value))
            elif isinstance(value, Constant) and value.value is None:
                found |= self.default
            else:
                return ALL
        return frozenset(found)

    def of_context(self, context: Value, module: Module) -> frozenset[str]:
        """The methods of a context object, or of its name."""
        if isinstance(context, Constant):
            if context.value is None:
                return self.of_program(module)
            return frozenset((str(context.value),)) if context.value in ALL else ALL
        if isinstance(context, Result):
            name = mp_name(context.callee)
            if name == "get_context":
                source = context.arguments.get(0, "method")
                if source is None:
                    return self.of_program(module)
                values = self.evaluator.of(source)
                if all(isinstance(value, Constant) and value.value is None for value in values):
                    return self.of_program(module)
                return self._named(source)
            if name in CONTEXT_CLASSES:
                return frozenset((CONTEXT_CLASSES[name],))
        if isinstance(context, External) and bare(context.name + ".x") == "x":
            return self.of_program(module)
        return ALL

    def of_contexts(self, source: Source | None, module: Module) -> frozenset[str]:
        """The methods that an argument like `multiprocessing_context=` chooses."""
        if source is None:
            return self.of_program(module)
        found: set[str] = set()
        for value in self.evaluator.of(source):
            found |= self.of_context(value, module)
        return frozenset(found)

    def of_callee(self, callee: Value, module: Module, at: ast.AST | None = None) -> frozenset[str]:
        """The methods of what is called, at some node: `ctx.Process`, `mp.Pool`, `ForkProcess`."""
        if isinstance(callee, Member):
            return self.of_context(callee.owner, module)
        if isinstance(callee, External):
            name = bare(callee.name)
            if name in CONTEXT_CLASSES:
                return frozenset((CONTEXT_CLASSES[name],))
        return self.of_program(module, at)

    def is_default(self, callee: Value) -> bool:
        """Whether what is called belongs to the default context: `mp.Process`, `mp.get_context().Pool`."""
        if isinstance(callee, Member):
            owner = callee.owner
            if not isinstance(owner, Result) or mp_name(owner.callee) != "get_context":
                return False
            return self.is_default_context(owner.arguments.get(0, "method")) and not owner.arguments.is_open
        return isinstance(callee, External) and bool(bare(callee.name)) and bare(callee.name) not in CONTEXT_CLASSES

    def is_default_context(self, source: Source | None) -> bool:
        """Whether an argument like `multiprocessing_context=` leaves the choice to the program."""
        return source is None or all(
            isinstance(value, Constant) and value.value is None for value in self.evaluator.of(source)
        )

    def of_start_processes(self, name: str, arguments: Arguments) -> frozenset[str]:
        """torch's own launchers: spawn unless told otherwise; `spawn` never does anything else."""
        source = arguments.get(5, "start_method")
        if name == "spawn" or (source is None and not arguments.open_keywords):
            return frozenset(("spawn",))
        return self._named(source)


def mp_name(value: Value) -> str:
    """The bare name of something of multiprocessing, also when it is taken from a context object; or nothing."""
    if isinstance(value, External):
        return bare(value.name)
    if isinstance(value, Member) and is_context(value.owner):
        return value.name
    return ""


def is_context(value: Value) -> bool:
    name = mp_name(value.callee) if isinstance(value, Result) else ""
    return name == "get_context" or name.endswith("Context")


def allows_none(evaluator: Evaluator, arguments: Arguments) -> bool:
    """Whether `get_start_method` is asked only for what is set already."""
    source = arguments.get(0, "allow_none")
    if source is None:
        return arguments.is_open
    return not all(isinstance(value, Constant) and not value.value for value in evaluator.of(source))


def asks_whether_set(evaluator: Evaluator, node: ast.AST, frame: Frame) -> bool:
    """Whether a test on the way to a node asks if a start method has been set: `get_start_method(allow_none=True)`."""
    return any(
        allows_none(evaluator, value.arguments) if isinstance(value, Result) else True
        for value in _asked_before(evaluator, node, frame)
    )


def asks_for_method(evaluator: Evaluator, node: ast.AST, frame: Frame) -> bool:
    """Whether a test on the way to a node asks for the start method, which a child has set before."""
    return any(True for _ in _asked_before(evaluator, node, frame))


def _asked_before(evaluator: Evaluator, node: ast.AST, frame: Frame) -> Iterator[Value]:
    """The start methods, and the contexts that hold them, which tests on the way to a node read."""
    for condition in conditions(node):
        for test, place in _behind(evaluator, condition.test, frame):
            for part in ast.walk(test):
                if isinstance(part, ast.Name | ast.Call | ast.Attribute):
                    for value in evaluator.values(part, evaluator.frame_in(place.module.scope_of(part), place)):
                        is_context = isinstance(value, External) and value.name.endswith("context._default_context")
                        if is_context or (isinstance(value, Result) and mp_name(value.callee) == "get_start_method"):
                            yield value


def _behind(evaluator: Evaluator, test: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """A test, what the names in it are bound to, and what the project's functions return that it calls."""
    yield test, frame
    for part in ast.walk(test):
        if isinstance(part, ast.Name):
            scope = evaluator.scope_binding(part.id, frame.module.scope_of(part))
            for binding in scope.bindings[part.id] if scope is not None else ():
                if binding.kind in ("assign", "walrus") and binding.value is not None:
                    yield binding.value, frame
        elif isinstance(part, ast.Call):
            for callee in evaluator.values(part.func, frame):
                function = callee.function if isinstance(callee, Method) else callee
                if isinstance(function, Function):
                    for statement in function.scope.returns:
                        if statement.value is not None:
                            yield statement.value, evaluator.frame_of(function.scope)
