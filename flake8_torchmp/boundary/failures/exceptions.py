"""Exceptions that worker code raises, and whether the parent can make them anew from what the worker sends."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments, Parameter, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, dotted, last_name
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import Class, Function, Instance

from .escapes import Escapes

LOADER_KINDS = frozenset(("dataset", "collate"))
PICKLING = ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__", "__new__")


class LostException(NamedTuple):
    cls: Class
    init: Function | None
    """None for that of a dataclass."""
    raised: ast.Raise
    worker: WorkerFunction
    is_of_loader: bool
    """A DataLoader makes it from one text; pools and executors pickle it."""
    keeps_given: bool
    """No `super().__init__` replaces the arguments that the class was called with, as far as they have no name."""


class Exceptions:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, workers: Workers) -> None:
        self.outline = outline
        self.workers = workers
        self.escapes = Escapes(evaluator, outline, workers)

    def lost(self, module: Module) -> Iterator[LostException]:
        """The exceptions of the project that worker code raises and that cannot be made anew in the parent."""
        roots: set[Place] | None = None
        for worker in self.workers.of(module):
            if worker.kind not in ("task", *LOADER_KINDS):
                continue
            for raised in _raises(worker.scope):
                cls, made_with = self._raised(raised, worker.scope)
                if cls is None or not self._is_lost(cls, made_with, worker.kind in LOADER_KINDS):
                    continue
                if roots is None:
                    roots = {root.function.scope.place for root in self.workers.roots(module)}
                if not self.escapes.is_caught(raised, worker.scope, cls, roots):
                    init = self._init(cls)
                    yield LostException(cls, init, raised, worker, worker.kind in LOADER_KINDS, _keeps_given(init))

    def _raised(self, node: ast.Raise, scope: Scope) -> tuple[Class | None, Arguments | None]:
        assert node.exc is not None
        frame = self.outline.frame_at(node, scope.module)
        for value in self.outline.values(node.exc, frame):
            cls = value.cls if isinstance(value, Instance) else value
            if isinstance(cls, Class) and self._is_exception(cls):
                return cls, value.arguments if isinstance(value, Instance) else None
        return None, None

    def _is_exception(self, cls: Class) -> bool:
        for name in classes.library_bases(self.outline, cls):
            kind = getattr(builtins, name.rpartition(".")[2], None) if name.startswith("builtins.") else None
            if isinstance(kind, type) and issubclass(kind, BaseException):
                return True
        return False

    def _init(self, cls: Class) -> Function | None:
        return classes.find_method(self.outline, cls, "__init__")

    def _is_lost(self, cls: Class, made_with: Arguments | None, is_of_loader: bool) -> bool:
        if any(classes.find_method(self.outline, cls, name) for name in PICKLING):
            return False
        init = self._init(cls)
        known = list(parameters(init.node).values())[1:] if init is not None else self._fields(cls)
        if any(p.kind == "keyword" and p.default is None for p in known):
            return True
        if init is None and not known:
            return False
        if is_of_loader:
            return not _fits(known, 1)
        count = _kept(made_with) if init is None or _keeps_given(init) else self._handed_on(cls, init)
        return count is not None and not _fits(known, count)

    def _fields(self, cls: Class) -> list[Parameter]:
        """What the `__init__` takes that a dataclass gets from its fields."""
        return [
            Parameter(name, "positional", index, default)
            for index, (name, (default, _)) in enumerate(classes.fields(self.outline, cls).items())
        ]

    def _handed_on(self, cls: Class, init: Function) -> int | None:
        """How many arguments an exception keeps, which are those that its last `super().__init__` is given."""
        receiver = receiver_name(init.scope)
        found = _inits_called(init)
        if len(found) != 1 or _sets_args(init):
            return None
        call = found[0]
        base = self._next_init(cls, init, call)
        if base is not None:
            return self._handed_on(cls, base)
        given = list(call.args)
        if given and dotted(given[0]) == receiver:
            given = given[1:]
        if any(isinstance(item, ast.Starred) for item in given) or call.keywords:
            return None
        return len(given)

    def _next_init(self, cls: Class, init: Function, call: ast.Call) -> Function | None:
        """The `__init__` of the project that another one's call of `super()` or of a base by its name runs."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Name | ast.Attribute):
            named = self.outline.values(owner, self.outline.frame_at(call, init.scope.module))
            bases = [value for value in named if isinstance(value, Class)]
            return self._init(bases[0]) if bases else None
        seen = False
        for item in classes.project_classes(self.outline, cls):
            if seen:
                method = classes.own(item, "__init__")
                if method:
                    return Function(item.scope.module.scopes[method[-1]], classes.class_frame(self.outline, item))
            seen = seen or item.scope is init.scope.parent
        return None


def _inits_called(init: Function) -> list[ast.Call]:
    calls = [node for node in body_nodes(init.node) if isinstance(node, ast.Call)]
    return [call for call in calls if last_name(call.func) == "__init__"]


def _sets_args(init: Function) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "args" and isinstance(node.ctx, ast.Store)
        for node in body_nodes(init.node)
    )


def _keeps_given(init: Function | None) -> bool:
    return init is None or not (_inits_called(init) or _sets_args(init))


def _kept(made_with: Arguments | None) -> int | None:
    """How many arguments an exception keeps that no `super().__init__` is given: those without a name."""
    return len(made_with.positional) if made_with is not None and not made_with.is_open else None


def _raises(scope: Scope) -> Iterator[ast.Raise]:
    for node in body_nodes(scope.node):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield node


def _fits(known: list[Parameter], count: int) -> bool:
    positional = [p for p in known if p.kind == "positional"]
    if count > len(positional) and not any(p.kind == "rest" for p in known):
        return False
    return all(p.default is not None for p in positional[count:])
