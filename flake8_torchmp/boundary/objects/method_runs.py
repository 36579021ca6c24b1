"""The methods of one object run in the order of the code, as far as they store, clear and close."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchmp.boundary.tables.openers import CLOSERS
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import has_receiver, is_cached_property, is_property, receiver_name
from flake8_torchmp.semantics.flow import is_in_handler
from flake8_torchmp.semantics.nodes import ancestors, body_nodes, dotted, is_called
from flake8_torchmp.semantics.scopes import Change, Place, Scope
from flake8_torchmp.semantics.values import Class, Function, Instance, Method

if TYPE_CHECKING:
    from .lifetimes import Lifetimes

DEEPEST = 12
EXTENDING = frozenset("extend extendleft update".split())
"""Methods of containers that put in the elements of what they are given."""


class Store(NamedTuple):
    """What a method puts into an attribute, or into the container that is there."""

    value: ast.expr
    path: tuple[int, ...]
    cls: Class
    method: Scope
    node: ast.AST
    is_poured: bool = False
    """Whether its elements are put in, and not itself: `self.items.extend(lines(f))`, `self.items += [f]`."""


Kept = dict[str, list[Store]]


class MethodRun:
    """One object's methods run in order, as far as they store, clear and close."""

    def __init__(self, lifetimes: Lifetimes, cls: Class, kept: Kept) -> None:
        self.lifetimes = lifetimes
        self.cls = cls
        self.kept = kept
        self.seen: set[Place] = set()
        self.running: list[Scope] = []

    def method(self, name: str) -> None:
        found = classes.find_method(self.lifetimes.outline, self.cls, name)
        if found is not None:
            self.scope(found.scope)

    def scope(self, scope: Scope, receiver: str = "") -> None:
        receiver = receiver or receiver_name(scope)
        if not receiver or scope in self.running or len(self.running) > DEEPEST:
            return
        self.seen.add(scope.place)
        self.running.append(scope)
        owner = scope.parent if scope.parent is not None and scope.parent.is_class else None
        cls = Class(owner, self.lifetimes.outline.frame_of(owner.parent)) if owner and owner.parent else self.cls
        events = self.lifetimes.change_at(scope.module, receiver)
        handed = self.lifetimes.handed_over_in(scope, receiver)
        node: ast.AST
        for node in body_nodes(scope.node, nested=False):
            if handed and all(excludes(node, method) for method in handed):
                continue  # where nothing is handed over
            change = events.get(id(node))
            if change is not None:
                self._changed(change, cls, scope, receiver)
            if isinstance(node, ast.Call):
                self._called(node, scope, receiver)
            elif isinstance(node, ast.Attribute):
                self._read(node, receiver)
            elif isinstance(node, ast.Subscript) and dotted(node.value) == receiver and isinstance(node.ctx, ast.Load):
                self.method("__getitem__")
            elif isinstance(node, ast.Delete):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and dotted(target.value) == receiver:
                        self._clear(target.attr, node)
        if is_cached_property(scope.node):
            for statement in scope.returns:
                if statement.value is not None and not is_empty(statement.value):
                    store = Store(statement.value, (), cls, scope, statement)
                    self.kept.setdefault(scope.name, []).append(store)
        self.running.pop()

    def _changed(self, change: Change, cls: Class, scope: Scope, receiver: str) -> None:
        if change.kind == "attribute" and dotted(change.target) == receiver:
            self._clear(change.name, change.node)
            if change.value is not None and not is_empty(change.value):
                store = Store(change.value, change.path, cls, scope, change.node)
                self.kept.setdefault(change.name, []).append(store)
        elif isinstance(change.target, ast.Attribute) and dotted(change.target.value) == receiver:
            name = change.target.attr
            if change.kind == "method" and change.name == "clear":
                self._clear(name, change.node)
            elif change.kind in ("method", "item", "augmented") and change.value is not None:
                is_poured = change.kind == "augmented" or (change.kind == "method" and change.name in EXTENDING)
                store = Store(change.value, change.path, cls, scope, change.node, is_poured)
                self.kept.setdefault(name, []).append(store)

    def _clear(self, name: str, by: ast.AST) -> None:
        if is_in_handler(by):
            return
        self.kept[name] = [store for store in self.kept.get(name, ()) if excludes(store.node, by)]

    def _called(self, call: ast.Call, scope: Scope, receiver: str) -> None:
        function = call.func
        if isinstance(function, ast.Attribute):
            owner = function.value
            if dotted(function) == "os.close" and call.args:
                owner = call.args[0]
            if function.attr in CLOSERS and isinstance(owner, ast.Attribute) and dotted(owner.value) == receiver:
                self._clear(owner.attr, call)
                return
            if dotted(owner) == receiver:
                self.method(function.attr)
                return
        if isinstance(function, ast.Name) and function.id in ("len", "iter", "next") and call.args:
            if dotted(call.args[0]) == receiver:
                self.method(f"__{function.id}__")
            return
        is_super = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call)
        if is_super or (call.args and dotted(call.args[0]) == receiver):
            self._elsewhere(call, scope, receiver)

    def _elsewhere(self, call: ast.Call, scope: Scope, receiver: str) -> None:
        """`super().__init__(…)`, `Base.__init__(self, …)`, `connect(self)`."""
        outline = self.lifetimes.outline
        open_frame = outline.frame_of(scope)
        frame = (
            outline.frame(scope, None, open_frame.closure, Instance(self.cls, None))
            if has_receiver(scope)
            else open_frame
        )
        for value in outline.values(call.func, frame):
            if isinstance(value, Method):
                self.scope(value.function.scope)
            elif isinstance(value, Function) and value.scope.is_function and not isinstance(value.node, ast.Lambda):
                names = value.node.args.args
                if call.args and dotted(call.args[0]) == receiver and names:
                    self.scope(value.scope, names[0].arg)

    def _read(self, node: ast.Attribute, receiver: str) -> None:
        """Reading a property runs it."""
        if dotted(node.value) != receiver or not isinstance(node.ctx, ast.Load):
            return
        if is_called(node):
            return
        found = classes.find_method(self.lifetimes.outline, self.cls, node.attr)
        if found is not None and is_property(found.node):
            self.scope(found.scope)


def is_empty(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (isinstance(value, ast.List | ast.Tuple) and not value.elts)


def excludes(first: ast.AST, second: ast.AST) -> bool:
    """Whether two nodes stand on different branches of one test, so that only one of them runs."""
    chain = {id(outer): child for child, outer in _pairs(first)}
    for child, outer in _pairs(second):
        if id(outer) in chain:
            if not isinstance(outer, ast.If):
                return False
            other = chain[id(outer)]
            return any(item is other for item in outer.body) != any(item is child for item in outer.body)
    return False


def _pairs(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    for outer in ancestors(node):
        yield node, outer
        node = outer
