"""What in a function depends on the worker that runs it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.boundary.working.worker_datasets import asks_for_info
from flake8_torchmp.semantics import classes, stores
from flake8_torchmp.semantics.calls import has_receiver, is_property, receiver_name
from flake8_torchmp.semantics.flow import Condition, conditions, facts, reaching
from flake8_torchmp.semantics.nodes import FUNCTIONS, alternatives, ancestors, last_name, position
from flake8_torchmp.semantics.scopes import Change, Scope
from flake8_torchmp.semantics.values import Class, Function, Instance, Method, Value

DEEPEST = 4
MOST_ATTRIBUTES = 30
"""A class of which more would have to be looked at for one answer is not understood."""
THREADS = ("Thread", "submit")
ADDING = frozenset("append appendleft add extend insert update put".split())
WHO = frozenset(("id", "num_workers"))
"""What of the worker's info tells the workers apart as parts of a whole; `seed` does not."""

if TYPE_CHECKING:
    from .sharding import Sharding


T = TypeVar("T")


class _Attributes:
    """What one question has found out about the attributes of an object: each is looked at once."""

    def __init__(self) -> None:
        self.stored: dict[str, list[ast.expr]] = {}
        self.depending: dict[str, bool] = {}

    def once(self, known: dict[str, T], name: str, find: Callable[[], T], meanwhile: T, in_doubt: T) -> T:
        """An attribute that leads back to itself adds nothing; with the first that was asked for, the question ends."""
        if name in known:
            return known[name]
        if len(known) >= MOST_ATTRIBUTES:
            return in_doubt
        is_first = not self.stored and not self.depending
        known[name] = meanwhile
        found = known[name] = find()
        if is_first:
            self.stored.clear()
            self.depending.clear()
        return found


class Taint:
    """What in a function depends on the worker that runs it."""

    def __init__(
        self, sharding: Sharding, function: Function, receiver: Value | None, known: _Attributes | None = None
    ) -> None:
        self.sharding = sharding
        self.scope = function.scope
        self.module = function.scope.module
        self.receiver = receiver
        open_frame = sharding.evaluator.frame_of(function.scope)
        self.frame = (
            sharding.evaluator.frame(function.scope, None, open_frame.closure, receiver)
            if has_receiver(function.scope) and receiver is not None
            else open_frame
        )
        self._names: dict[tuple[int, str], bool] = {}
        self._attributes = known or _Attributes()

    def covers(self, node: ast.AST, value: ast.expr | None) -> bool:
        """Whether what a statement hands out, or that it runs at all, depends on the worker."""
        if value is not None and self.depends(value):
            return True
        for item in ancestors(node):
            if item is self.scope.node:
                break
            if isinstance(item, ast.For | ast.AsyncFor) and self.depends(item.iter):
                return True
            if isinstance(item, ast.With) and any(self.depends(part.context_expr) for part in item.items):
                return True
        for condition in conditions(node):
            if self.depends(condition.test) or any(self._is_parent(*fact) for fact in facts(condition)):
                return True
        return False

    def _is_parent(self, test: ast.expr, holds: bool) -> bool:
        """`get_worker_info() is None`: there is nobody to share with."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                return isinstance(test.ops[0], ast.Is | ast.Eq) is holds and self._is_info(test.left)
            return False
        if not holds and self._is_info(test):
            return True
        return any(
            taint._is_parent(*fact) for taint, told in self._told(test) for fact in facts(Condition(told, holds))
        )

    def _told(self, test: ast.expr) -> Iterator[tuple[Taint, ast.expr]]:
        """What a test comes down to: the value of its variable, the one result of its function or property."""
        if isinstance(test, ast.Name):
            bound = self._bound(test)
            if len(bound) == 1 and isinstance(bound[0], ast.Compare):
                yield self, bound[0]
        functions = self.called(test)
        if isinstance(test, ast.Attribute):
            method = self._property(test)
            functions = [(method, self.receiver)] if method is not None else []
        for function, receiver in functions if len(functions) == 1 else ():
            returned = [statement.value for statement in function.scope.returns]
            if len(returned) == 1 and isinstance(returned[0], ast.Compare):
                yield Taint(self.sharding, function, receiver), returned[0]

    def depends(self, node: ast.AST) -> bool:
        """Whether an expression has the worker's number or the count of workers in it."""
        if isinstance(node, ast.Attribute):
            if self._is_info(node.value):
                return node.attr in WHO
            return self._is_stored(node) or self._is_told_by_property(node) or self.depends(node.value)
        if isinstance(node, ast.Name):
            return self._is_named(node)
        if isinstance(node, ast.Call):
            return self._is_given(node)
        if isinstance(node, ast.Compare) and any(
            isinstance(c, ast.Constant) and c.value is None for c in node.comparators
        ):
            return False
        if isinstance(node, ast.IfExp):
            return self.depends(node.body) or self.depends(node.orelse) or self.depends(node.test)
        return any(self.depends(part) for part in ast.iter_child_nodes(node) if not isinstance(part, FUNCTIONS))

    def _is_given(self, call: ast.Call) -> bool:
        name = last_name(call.func)
        if asks_for_info(call, self.module) or name in random_sources.SEEDER_NAMES or self._makes_generator(call):
            return False
        parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(self._is_info(part) or self.depends(part) for part in parts):
            return True
        called = self.called(call)
        if isinstance(call.func, ast.Attribute) and self.depends(call.func.value):
            return True
        return any(self._answers(function, receiver) for function, receiver in called) or self._makes_asking(call)

    def _makes_asking(self, call: ast.Call) -> bool:
        """`Cursor()`, of a class of the project whose `__init__` asks who it is for."""
        evaluator = self.sharding.outline
        return any(
            isinstance(value, Instance)
            and (made := classes.maker(evaluator, value.cls)) is not None
            and self.sharding.knows(made.scope, value)
            for value in evaluator.values(call, evaluator.frame_at(call, self.module))
        )

    def _answers(self, function: Function, receiver: Value | None) -> bool:
        sharding = self.sharding
        if isinstance(function.node, ast.Lambda) or not sharding.knows(function.scope, receiver):
            return False
        if function.scope.is_generator:
            return sharding.whole(function, receiver) is None
        inner = Taint(sharding, function, receiver)
        if function.scope in sharding.running or len(sharding.running) > DEEPEST:
            return True
        sharding.running.append(function.scope)
        try:
            returned = [r for r in function.scope.returns if r.value is not None]
            return all(inner.covers(r, r.value) or any(map(inner._is_info, _parts(r.value))) for r in returned)
        finally:
            sharding.running.pop()

    def _is_told_by_property(self, node: ast.Attribute) -> bool:
        """`self.shard`, where a property of that name asks who it is for."""
        method = self._property(node)
        return method is not None and self._answers(method, self.receiver)

    def _property(self, node: ast.Attribute) -> Function | None:
        """The property of the own object that an attribute is."""
        if not isinstance(self.receiver, Instance) or not isinstance(node.value, ast.Name):
            return None
        if node.value.id != receiver_name(self.scope):
            return None
        method = classes.find_method(self.sharding.outline, self.receiver.cls, node.attr)
        return method if method is not None and is_property(method.node) else None

    def _makes_generator(self, call: ast.Call) -> bool:
        name = last_name(call.func)
        makers = {maker.rpartition(".")[2] for maker in random_sources.MAKERS}
        return name in makers

    def called(self, node: ast.expr) -> list[tuple[Function, Value | None]]:
        """The functions of the project that a call runs."""
        if not isinstance(node, ast.Call):
            return []
        evaluator = self.sharding.outline
        open_frame = evaluator.frame_of(self.scope)
        if has_receiver(self.scope) and self.receiver is not None:
            open_frame = evaluator.frame(self.scope, None, open_frame.closure, self.receiver)
        values = evaluator.values(node.func, evaluator.frame_in(self.module.scope_of(node), open_frame))
        if not any(isinstance(v, Function | Method) for v in values) and isinstance(node.func, ast.Attribute):
            values = self.sharding.evaluator.values(
                node.func, self.sharding.evaluator.frame_in(self.module.scope_of(node), self.frame)
            )
        found: list[tuple[Function, Value | None]] = []
        for value in values:
            if isinstance(value, Function):
                found.append((value, None))
            elif isinstance(value, Method):
                found.append((value.function, value.receiver))
        return found

    def _is_info(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return asks_for_info(node, self.module) or any(_gives_info(f.scope) for f, _ in self.called(node))
        if isinstance(node, ast.NamedExpr):
            return self._is_info(node.value)
        if isinstance(node, ast.Attribute) and (method := self._property(node)) is not None:
            return _gives_info(method.scope)
        values = self._bound(node) if isinstance(node, ast.Name) else []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            values = self._stored(node)
        chosen = [part for value in values for part in alternatives(value)]
        return any(isinstance(value, ast.Call) and self._is_info(value) for value in chosen)

    def _bound(self, name: ast.Name) -> list[ast.expr]:
        scope = self.sharding.outline.scope_binding(name.id, self.module.scope_of(name))
        if scope is None or scope.is_module:
            return []
        return [b.value for b in scope.bindings[name.id] if b.value is not None]

    def _is_named(self, name: ast.Name) -> bool:
        scope = self.sharding.outline.scope_binding(name.id, self.module.scope_of(name))
        if scope is None or scope.is_module:
            return False
        bindings = reaching(scope.bindings[name.id], name, scope, self.module.scope_of(name))
        key = (id(scope), " ".join((name.id, *(str(position(b.node)) for b in bindings))))
        if key not in self._names:
            self._names[key] = False
            self._names[key] = any(
                self.depends(b.value) or self._is_decided(b.node)
                for b in bindings
                if b.value is not None and b.kind != "parameter"
            ) or any(
                self.covers(change.node, value)
                for change in self.module.changes.get(name.id, ())
                if self.module.scope_of(change.node).enclosing_function() is self.scope
                for value in _put_in(change)
            )
            self._names[key] = self._names[key] or self._is_function_of(name.id) or self._is_filled(name.id)
        return self._names[key]

    def _is_function_of(self, name: str) -> bool:
        """Whether a function inside this one reads what depends on the worker."""
        return any(
            isinstance(inner, FUNCTIONS)
            and getattr(inner, "name", "") == name
            and any(isinstance(part, ast.Name) and self.depends(part) for part in ast.walk(inner))
            for inner in ast.walk(self.scope.node)
        )

    def _is_filled(self, name: str) -> bool:
        """Whether a thread gets it together with what depends on the worker: a queue, say."""
        for call in (call for starter in THREADS for call in self.module.calls_of(starter)):
            names = [part for part in ast.walk(call) if isinstance(part, ast.Name)]
            if name in {part.id for part in names} and self.module.scope_of(call) is self.scope:
                return any(self.depends(part) for part in names if part.id != name)
        return False

    def _is_decided(self, node: ast.AST) -> bool:
        return any(self.depends(condition.test) for condition in conditions(node))

    def _is_stored(self, node: ast.Attribute) -> bool:
        """An attribute of the dataset that a method sets by the worker's number."""
        return self._attributes.once(
            self._attributes.depending,
            node.attr,
            lambda: any(self.depends(value) for value in self._stored(node)),
            meanwhile=False,
            in_doubt=True,
        )

    def _stored(self, node: ast.Attribute) -> list[ast.expr]:
        if not isinstance(self.receiver, Instance) or not isinstance(node.value, ast.Name):
            return []
        if node.value.id != receiver_name(self.scope):
            return []
        cls = self.receiver.cls
        return self._attributes.once(
            self._attributes.stored,
            node.attr,
            lambda: self._find_stored(node.attr, cls),
            meanwhile=[],
            in_doubt=[_ASKING],
        )

    def _find_stored(self, attribute: str, own: Class) -> list[ast.expr]:
        """What methods put into an attribute; `_ASKING` alone where that, or whether they do, depends on the worker."""
        found: list[ast.expr] = []
        for cls in classes.project_classes(self.sharding.outline, own):
            if self._is_filled_by_worker(cls, attribute):
                return [_ASKING]
            for change, method in stores.by_attribute(cls).get(attribute, ()):
                if method.name == "__init__" and not self.sharding.workers.runs(method):
                    continue  # in the parent there is no worker to ask for
                if change.value is not None:
                    found.append(change.value)
                    taint = Taint(self.sharding, Function(method, None), self.receiver, self._attributes)
                    if method is not self.scope and (taint.depends(change.value) or taint._is_decided(change.node)):
                        return [_ASKING]
        return found

    def _is_filled_by_worker(self, cls: Class, attribute: str) -> bool:
        """Whether a method puts into an attribute what depends on the worker: `self.pending.append(item)`."""
        module = cls.scope.module
        for function in cls.node.body:
            method = module.scopes[function] if isinstance(function, ast.FunctionDef) else None
            for change in module.changes.get(receiver_name(method), ()) if method is not None else ():
                kept = change.target
                if (
                    method is not None
                    and change.kind == "method"
                    and isinstance(kept, ast.Attribute)
                    and kept.attr == attribute
                    and module.scope_of(kept).enclosing_function() is method
                    and change.name in ADDING
                ):
                    taint = Taint(self.sharding, Function(method, None), self.receiver, self._attributes)
                    if any(taint.covers(change.node, value) for value in _put_in(change)):
                        return True
        return False


_ASKING = ast.parse("get_worker_info().id", mode="eval").body


def _put_in(change: Change) -> list[ast.expr]:
    """What a change puts into an object, also by keywords: `options.update(offset=info.id)`."""
    named = [keyword.value for keyword in change.node.keywords] if isinstance(change.node, ast.Call) else []
    return [*([change.value] if change.value is not None else []), *named]


def _parts(node: ast.expr | None) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node] if node is not None else []


def _gives_info(scope: Scope) -> bool:
    """Whether a function does nothing but hand out the worker's info."""
    given = [statement.value for statement in scope.returns]
    return len(given) == 1 and isinstance(given[0], ast.Call) and asks_for_info(given[0], scope.module)
