"""Exceptions that worker code raises, and whether the parent can make them anew from what the worker sends."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Parameter, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import FUNCTIONS, Module, Place, Scope, ancestors, body_nodes, dotted, last_name
from flake8_torchmp.semantics.values import Class, Function, Instance

from .workers import WorkerFunction, Workers

LOADER_KINDS = frozenset(("dataset", "collate"))
DEEPEST = 4
PICKLING = ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__", "__new__")


class LostException(NamedTuple):
    cls: Class
    init: Function
    raised: ast.Raise
    worker: WorkerFunction
    is_of_loader: bool
    """A DataLoader makes it from one text; pools and executors pickle it."""


class Exceptions:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, workers: Workers) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.workers = workers

    def lost(self, module: Module) -> Iterator[LostException]:
        """The exceptions of the project that worker code raises and that cannot be made anew in the parent."""
        roots: set[Place] | None = None
        for worker in self.workers.of(module):
            if worker.kind not in ("task", *LOADER_KINDS):
                continue
            for raised in _raises(worker.scope):
                cls = self._raised(raised, worker.scope)
                init = self._init(cls) if cls is not None else None
                if cls is None or init is None or not self._is_lost(cls, init, worker.kind in LOADER_KINDS):
                    continue
                if roots is None:
                    roots = {root.function.scope.place for root in self.workers.roots(module)}
                if not self._is_caught(raised, worker.scope, cls, roots, 0):
                    yield LostException(cls, init, raised, worker, worker.kind in LOADER_KINDS)

    def _raised(self, node: ast.Raise, scope: Scope) -> Class | None:
        assert node.exc is not None
        frame = self.outline.frame_at(node, scope.module)
        for value in self.outline.values(node.exc, frame):
            cls = value.cls if isinstance(value, Instance) else value
            if isinstance(cls, Class) and self._is_exception(cls):
                return cls
        return None

    def _is_exception(self, cls: Class) -> bool:
        for name in classes.library_bases(self.outline, cls):
            kind = getattr(builtins, name.rpartition(".")[2], None) if name.startswith("builtins.") else None
            if isinstance(kind, type) and issubclass(kind, BaseException):
                return True
        return False

    def _init(self, cls: Class) -> Function | None:
        if any(classes.find_method(self.outline, cls, name) for name in PICKLING):
            return None
        return classes.find_method(self.outline, cls, "__init__")

    def _is_lost(self, cls: Class, init: Function, is_of_loader: bool) -> bool:
        known = list(parameters(init.node).values())[1:]
        if any(p.kind == "keyword" and p.default is None for p in known):
            return True
        if is_of_loader:
            return not _fits(known, 1)
        count = self._handed_on(cls, init)
        return count is not None and not _fits(known, count)

    def _handed_on(self, cls: Class, init: Function) -> int | None:
        """How many arguments an exception keeps, which are those that its last `super().__init__` is given."""
        receiver = receiver_name(init.scope)
        found: list[ast.Call] = []
        for node in body_nodes(init.node):
            if isinstance(node, ast.Attribute) and node.attr == "args" and isinstance(node.ctx, ast.Store):
                return None
            if isinstance(node, ast.Call) and last_name(node.func) == "__init__":
                found.append(node)
        if len(found) != 1:
            return None
        call = found[0]
        given = list(call.args)
        if given and dotted(given[0]) == receiver:
            given = given[1:]
        if any(isinstance(item, ast.Starred) for item in given) or call.keywords:
            return None
        base = self._next_init(cls, init)
        return self._handed_on(cls, base) if base is not None else len(given)

    def _next_init(self, cls: Class, init: Function) -> Function | None:
        seen = False
        for item in classes.project_classes(self.outline, cls):
            if seen:
                method = classes.own(item, "__init__")
                if method:
                    return Function(item.scope.module.scopes[method[-1]], classes.class_frame(self.outline, item))
            seen = seen or item.scope is init.scope.parent
        return None

    def _is_caught(self, node: ast.AST, scope: Scope, cls: Class, roots: set[Place], depth: int) -> bool:
        """Whether a handler takes an exception before it leaves the worker, on all ways that the project shows."""
        if self._has_handler(node, cls):
            return True
        if scope.place in roots or depth > DEEPEST:
            return False
        calls = [arguments.call for arguments, _ in self.evaluator.callers.of(scope)]
        outer = [(call, around) for call in calls if (around := _function_around(call)) is not None]
        return bool(outer) and all(self._is_caught(call, around, cls, roots, depth + 1) for call, around in outer)

    def _has_handler(self, node: ast.AST, cls: Class) -> bool:
        names = {"", "Exception", "BaseException"}
        for item in self.outline.mro(cls):
            names.add(item.scope.name if isinstance(item, Class) else getattr(item, "name", "").rpartition(".")[2])
        child: ast.AST = node
        for outer in ancestors(node):
            if isinstance(outer, FUNCTIONS):
                return False
            if isinstance(outer, ast.Try) and any(child is item for item in outer.body):
                for handler in outer.handlers:
                    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                    if {last_name(kind) if kind is not None else "" for kind in kinds} & names:
                        return not any(isinstance(n, ast.Raise) and n.exc is None for n in ast.walk(handler))
            child = outer
        return False


def _raises(scope: Scope) -> Iterator[ast.Raise]:
    for node in body_nodes(scope.node):  # type: ignore[arg-type]
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield node


def _fits(known: list[Parameter], count: int) -> bool:
    positional = [p for p in known if p.kind == "positional"]
    if count > len(positional) and not any(p.kind == "rest" for p in known):
        return False
    return all(p.default is not None for p in positional[count:])


def _function_around(node: ast.AST) -> Scope | None:
    scope: Scope | None = getattr(node, "_torchmp_scope", None)
    return scope.enclosing_function() if scope is not None else None
