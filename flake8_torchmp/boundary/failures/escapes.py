"""Which exceptions leave the worker that raises them: not those that somebody catches on the way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import bound_to, is_manager
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import caught_by
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, is_none, last_name, up
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import Class, Function, Instance, Method

DEEPEST = 4


class Escapes:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, workers: Workers) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.workers = workers

    def is_caught(self, node: ast.AST, scope: Scope, cls: Class, roots: set[Place], depth: int = 0) -> bool:
        """Whether an exception of a class is caught before it leaves the worker, on all ways that the project shows."""
        if self._is_caught_around(node, scope.module, self._names(cls)) or self._is_caught_by_decorator(scope, cls):
            return True
        if scope.place in roots or depth > DEEPEST:
            return False
        places = ((call, module.scope_of(call).enclosing_function()) for call, module in self._calls(scope))
        called = [(call, around) for call, around in places if around is not None]
        in_workers = [(call, around) for call, around in called if self.workers.runs(around)]
        return bool(called) and all(
            self._is_caught_inside(call, around.module, scope, cls)
            or self.is_caught(call, around, cls, roots, depth + 1)
            for call, around in in_workers or called
        )

    def _calls(self, scope: Scope) -> Iterator[tuple[ast.AST, Module]]:
        """Where a function is called, or given to something that may call it there and then."""
        known = {arguments.call: arguments.frame.module for arguments, _ in self.evaluator.callers.of(scope)}
        yield from known.items()
        codebase = self.evaluator.codebase
        for path in codebase.mentioning(scope.name, scope.module.path):
            module = codebase.module(path) if codebase.reads(path, scope.name) else None
            for load in module.loads(scope.name) if module is not None else ():
                assert module is not None
                holder = up(load)
                call = up(holder) if isinstance(holder, ast.keyword) else holder
                if isinstance(call, ast.Call) and call.func is not load and load not in known and call not in known:
                    values = self.outline.values(load, self.outline.frame_at(load, module))
                    if any(_scope_of(value) is scope for value in values):
                        yield call, module

    def _is_caught_inside(self, call: ast.AST, module: Module, scope: Scope, cls: Class) -> bool:
        """Whether what is given the function catches what that raises: `attempt(step, x)`."""
        if not isinstance(call, ast.Call) or not may_run_project(self.outline, call.func, module):
            return False
        frame = self.outline.frame_at(call, module)
        for value in self.outline.values(call.func, frame):
            callee = _scope_of(value)
            if callee is None or callee is scope:
                continue
            for name, source in bound_to(callee, self.outline.arguments(call, frame)):
                given = self.outline.of(source) if source.node is not None else ()
                if any(_scope_of(function) is scope for function in given):
                    return self._are_calls_caught(name, callee, callee, cls)
        return False

    def _is_caught_by_decorator(self, scope: Scope, cls: Class) -> bool:
        """Whether one of the decorators of the project puts a handler around a function."""
        if scope.parent is None or not getattr(scope.node, "decorator_list", ()):
            return False
        for wrapper in self.workers.called.wrappers(Function(scope, self.outline.frame_of(scope.parent))):
            decorator = wrapper.scope.parent
            decorated = getattr(decorator.node, "args", None) if decorator is not None else None
            if decorated is not None and decorated.args:
                return self._are_calls_caught(decorated.args[-1].arg, wrapper.scope, decorator, cls)
        return False

    def _are_calls_caught(self, name: str, caller: Scope, owner: Scope | None, cls: Class) -> bool:
        """Whether all calls of a parameter of `owner` in a function are inside handlers."""
        calls = [
            node
            for node in body_nodes(caller.node)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
            and self.outline.scope_binding(name, caller.module.scope_of(node)) is owner
        ]
        names = self._names(cls)
        return bool(calls) and all(self._is_caught_around(call, caller.module, names) for call in calls)

    def _names(self, cls: Class) -> set[str]:
        """The names of a class and of all above it; `` stands for a bare except."""
        above = self.outline.mro(cls)
        own = {item.scope.name if isinstance(item, Class) else getattr(item, "name", "") for item in above}
        return {name.rpartition(".")[2] for name in own} | {"", "Exception", "BaseException"}

    def _is_caught_around(self, node: ast.AST, module: Module, names: set[str]) -> bool:
        """Whether a handler or a context manager around a node takes one of some exceptions, and keeps it."""
        child: ast.AST = node
        for outer in ancestors(node):
            if isinstance(outer, FUNCTIONS):
                return False
            if isinstance(outer, ast.Try) and any(child is item for item in outer.body):
                for handler in outer.handlers:
                    if not names.isdisjoint(caught_by(handler)):
                        return not any(isinstance(n, ast.Raise) and n.exc is None for n in ast.walk(handler))
            if isinstance(outer, ast.With) and any(child is item for item in outer.body):
                entered = [item.context_expr for item in outer.items]
                if any(self._suppresses(manager, module, names) for manager in entered):
                    return True
            child = outer
        return False

    def _suppresses(self, manager: ast.expr, module: Module, names: set[str]) -> bool:
        """Whether what `with` enters takes an exception: `suppress(BadLine)`, or a manager of the project that does."""
        if not isinstance(manager, ast.Call):
            return False
        if last_name(manager.func) in module.names_of("suppress"):
            return any(last_name(kind) in names for kind in manager.args)
        if not may_run_project(self.outline, manager.func, module):
            return False
        for value in self.outline.values(manager, self.outline.frame_at(manager, module)):
            leaving = classes.find_method(self.outline, value.cls, "__exit__") if isinstance(value, Instance) else None
            if leaving is not None and any(not _is_false(statement.value) for statement in leaving.scope.returns):
                return True
        for value in self.outline.values(manager.func, self.outline.frame_at(manager, module)):
            scope = _scope_of(value)
            if scope is not None and is_manager(scope.node):
                yields = [node for node in body_nodes(scope.node) if isinstance(node, ast.Yield)]
                return bool(yields) and all(self._is_caught_around(node, scope.module, names) for node in yields)
        return False


def _is_false(node: ast.expr | None) -> bool:
    return node is None or is_none(node) or (isinstance(node, ast.Constant) and node.value is False)


def _scope_of(value: object) -> Scope | None:
    """The function of the project that a value is."""
    function = value.function if isinstance(value, Method) else value
    return function.scope if isinstance(function, Function) else None
