"""Whether an iterable dataset gives each worker its own part: which of its yields depend on who asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Frame, has_receiver, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import Condition, conditions, facts, facts_at
from flake8_torchmp.semantics.module import (
    COMPREHENSIONS,
    FUNCTIONS,
    Module,
    Scope,
    ancestors,
    body_nodes,
    last_name,
    up,
)
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Method,
    ModuleValue,
    Result,
    Value,
    qualified,
)

from . import apis, random_sources
from .datasets import Datasets
from .workers import Workers, is_property

DEEPEST = 4
WRAPPERS = frozenset(
    "iter enumerate map filter zip islice chain from_iterable sorted reversed list tuple tqdm cycle batched".split()
)
ENDLESS = frozenset("range count repeat trange".split())
STARTING = frozenset("open iter reader DictReader Reader scandir execute File TarFile connect".split())
THREADS = ("Thread", "submit")
WHO = frozenset(("id", "num_workers"))
"""What of the worker's info tells the workers apart as parts of a whole; `seed` does not."""


class Sharding:
    def __init__(self, outline: Evaluator, evaluator: Evaluator, workers: Workers, datasets: Datasets) -> None:
        self.outline = outline
        self.evaluator = evaluator
        self.workers = workers
        self.datasets = datasets
        self._whole: dict[tuple[int, int], Function | None] = {}
        self._running: list[Scope] = []

    def forget(self) -> None:
        self._whole.clear()

    def is_iterable(self, cls: Class) -> bool:
        bases = classes.library_bases(self.outline, cls)
        if not any(base.endswith("IterableDataset") and base in apis.ITERABLE_DATASETS for base in bases):
            return False
        return not cls.is_local or any(self.datasets.loaders_of(cls))

    def unsharded(self, cls: Class) -> Function | None:
        """The function that yields everything in each worker, if the iteration of a class has one."""
        iteration = classes.find_method(self.outline, cls, "__iter__")
        if iteration is None or self._is_abstract(cls, iteration) or self._is_set_from_outside(cls):
            return None
        receiver = Instance(cls, None)
        if any(
            isinstance(r.value, ast.Name) and r.value.id == receiver_name(iteration.scope) for r in _returns(iteration)
        ):
            following = classes.find_method(self.outline, cls, "__next__")
            if following is None or self._knows(iteration.scope, receiver):
                return None
            return iteration if self.whole(following, receiver) is not None else None
        return self.whole(iteration, receiver)

    def undivided(self, cls: Class) -> tuple[Function, dict[str, str]] | None:
        """The iteration to divide, with places in it: what is handed out whole, and what draws at random."""
        iteration = classes.find_method(self.outline, cls, "__iter__")
        if iteration is None or isinstance(iteration.node, ast.Lambda):
            return None
        receiver, module = Instance(cls, None), iteration.scope.module
        if any(self._knows(inner.scope, other) for inner, other in self.workers.callees(iteration.scope, receiver)):
            return None
        if iteration.scope.parent is not cls.scope and any(
            b"get_worker_info" in self.outline.codebase.data(path)
            for path in self.outline.codebase.users([module.path])
        ):
            return None  # another subclass may have its part already
        taint = _Taint(self, iteration, receiver)
        handed_out = [(node, value) for node, value in _handed_out(iteration) if not taint.covers(node, value)]
        if any(isinstance(node, ast.Return) and self._only_steps(value, module) for node, value in handed_out):
            return None  # nothing goes through it but `next`
        whole = [node for node, _ in handed_out]
        draws = [node for node in body_nodes(iteration.node) if self._is_draw(node, taint)]
        return iteration, {"whole": _places(whole), "draws": _places(draws)}

    def _only_steps(self, node: ast.expr | None, module: Module) -> bool:
        """Whether an expression makes an iterator of the project that has no `__iter__`."""
        return isinstance(node, ast.Call) and any(
            isinstance(value, Instance) and classes.find_method(self.outline, value.cls, "__iter__") is None
            for value in self.outline.values(node, self.outline.frame_at(node, module))
        )

    def _is_draw(self, node: ast.AST, taint: _Taint) -> bool:
        if not isinstance(node, ast.Call):
            return False
        frame = self.outline.frame_at(node, taint.module)
        if any(isinstance(v, External) and random_sources.draws(v.name) for v in self.outline.values(node.func, frame)):
            return True
        if isinstance(node.func, ast.Attribute) and (
            self._is_generator(node.func, frame) or node.func.attr in ("shuffle", "permutation", "permuted")
        ):
            return True
        return any(self._draws(function, receiver) for function, receiver in taint.called(node))

    def shards(self, cls: Class) -> bool:
        """Whether the iteration of a class asks who it is for, and not just how many there are."""
        iteration = classes.find_method(self.outline, cls, "__iter__")
        if iteration is None:
            return False
        return not all(_asks_for_count_alone(scope) for scope in self._asking(iteration.scope, Instance(cls, None)))

    def whole(self, function: Function, receiver: Value | None) -> Function | None:
        """The function in which something is yielded that does not depend on the worker; perhaps one it calls."""
        scope = function.scope
        key = (id(scope), id(receiver.cls.scope) if isinstance(receiver, Instance) else 0)
        if key in self._whole:
            return self._whole[key]
        if scope in self._running or len(self._running) > DEEPEST:
            return None
        self._running.append(scope)
        try:
            self._whole[key] = known = self._find_whole(function, receiver)
        finally:
            self._running.pop()
        return known

    def _find_whole(self, function: Function, receiver: Value | None) -> Function | None:
        taint = _Taint(self, function, receiver)
        for node, value in _handed_out(function):
            if taint.covers(node, value):
                continue
            iterables = [_iterable(loop) for loop in _loops_around(node, function)]
            if isinstance(node, ast.YieldFrom | ast.Return) and value is not None:
                iterables.append(value)
            if any(self._is_given_foreign(leaf, taint.frame) for leaf in _leaves(iterables)):
                continue
            inner = self._delegated(iterables, taint)
            if inner is not None:
                return inner if inner.scope.parent is not None and self._is_elsewhere(inner, receiver) else function
            if not self._may_differ(node, function, iterables, taint):
                return function
        return None

    def _is_elsewhere(self, function: Function, receiver: Value | None) -> bool:
        """Whether a function is a method of another object than the dataset that is looked at."""
        owner = function.scope.parent
        if owner is None or not owner.is_class or not isinstance(receiver, Instance):
            return False
        return all(item.scope is not owner for item in classes.project_classes(self.outline, receiver.cls))

    def _delegated(self, iterables: list[ast.expr], taint: _Taint) -> Function | None:
        """A generator of the project that a loop draws from: it answers for itself."""
        for leaf in _leaves(iterables):
            for function, receiver in taint.called(leaf):
                if function.scope.is_generator or _returns(function):
                    found = self.whole(function, receiver)
                    if found is not None:
                        return found
        return None

    def _may_differ(self, node: ast.AST, function: Function, iterables: list[ast.expr], taint: _Taint) -> bool:
        """Whether workers may get different things without asking: random ones, or what only one can take."""
        leaves = list(_leaves(iterables))
        if any(self._is_foreign(leaf, taint.frame) for leaf in _leaves(_fillings(node, leaves, function))):
            return True
        if any(taint.called(leaf) for leaf in leaves):
            return True  # answered for itself
        loops = _loops_around(node, function)
        is_open = all(_is_open(loop) for loop in loops) and not isinstance(node, ast.Return)
        if is_open and isinstance(node, ast.Yield) and (self._draws(function, taint.receiver) or _receives(function)):
            return True
        if any(_is_endless(loop) for loop in loops) and self._draws(function, taint.receiver):
            return True
        if loops and all(_is_endless(loop) for loop in loops) and not _opens(function):
            return True  # a device, a socket: what comes next is not the same for everybody
        if not leaves:
            return isinstance(node, ast.Return)
        return any(self._is_foreign(leaf, taint.frame) for leaf in leaves)

    def _is_given_foreign(self, leaf: ast.expr, frame: Frame) -> bool:
        """Whether a function is given another dataset to iterate: `self.step(iter(self.source))`."""
        if not isinstance(leaf, ast.Call):
            return False
        inner = self.evaluator.frame_in(frame.module.scope_of(leaf), frame)
        return any(
            isinstance(value, Instance) and self.is_iterable(value.cls)
            for given in _leaves(leaf.args)
            if isinstance(given, ast.Attribute | ast.Name)
            for value in self.evaluator.values(given, inner)
        )

    def _is_foreign(self, leaf: ast.expr, frame: Frame) -> bool:
        """Whether an iterable may well know of workers itself: another dataset, a stream, something unseen."""
        if isinstance(leaf, ast.Call) and last_name(leaf.func) in random_sources.RECEIVING:
            return True
        if isinstance(leaf, ast.Attribute) and leaf.attr in random_sources.RECEIVING:
            return True
        inner = self.evaluator.frame_in(frame.module.scope_of(leaf), frame)
        values = self.evaluator.values(leaf, inner)
        if isinstance(leaf, (ast.Call, ast.Subscript, ast.List, ast.Tuple, *COMPREHENSIONS)):
            return any(self._shards_itself(value) for value in values)
        return any(self._shards_itself(value) or _is_unseen(value) for value in values)

    def _shards_itself(self, value: Value) -> bool:
        if isinstance(value, Instance):
            if classes.find_method(self.outline, value.cls, "__iter__") is not None:
                return True
            own = (classes.maker(self.outline, value.cls), classes.find_method(self.outline, value.cls, "__next__"))
            return any(method is not None and self._knows(method.scope, value) for method in own)
        name = qualified(value)
        return name.startswith(random_sources.OWN_STREAMS) or name.removesuffix("()") in apis.LOADERS

    def _draws(self, function: Function, receiver: Value | None) -> bool:
        pending = [(function.scope, receiver)]
        seen: set[Scope] = set()
        while pending and len(seen) < 30:
            scope, owner = pending.pop(0)
            if scope in seen:
                continue
            seen.add(scope)
            for node in body_nodes(scope.node):  # type: ignore[arg-type]
                if isinstance(node, ast.Call):
                    frame = self.outline.frame_at(node, scope.module)
                    for value in self.outline.values(node.func, frame):
                        if isinstance(value, External) and random_sources.draws(value.name):
                            return True
                    if isinstance(node.func, ast.Attribute) and self._is_generator(node.func, frame):
                        return True
            pending += [(inner.scope, other) for inner, other in self.workers.callees(scope, owner)]
        return False

    def _is_generator(self, method: ast.Attribute, frame: Frame) -> bool:
        if method.attr in random_sources.NOT_DRAWING:
            return False
        inner = self.outline.frame_in(frame.module.scope_of(method), frame)
        return any(
            isinstance(v, Result) and v.name.removesuffix("()") in random_sources.MAKERS
            for v in self.outline.values(method.value, inner)
        )

    def _knows(self, scope: Scope, receiver: Value | None) -> bool:
        """Whether a function, or one that it calls, asks for the worker's number or the count of workers."""
        return any(True for _ in self._asking(scope, receiver))

    def _asking(self, scope: Scope, receiver: Value | None) -> Iterator[Scope]:
        pending = [(scope, receiver)]
        seen: set[Scope] = set()
        while pending and len(seen) < 60:
            current, owner = pending.pop(0)
            if current in seen:
                continue
            seen.add(current)
            if _asks_who(current):
                yield current
            pending += [(inner.scope, other) for inner, other in self.workers.callees(current, owner)]

    def _is_abstract(self, cls: Class, iteration: Function) -> bool:
        """Whether the iteration, or a method that it calls, is left to subclasses."""
        functions = [iteration, *(f for f, _ in self.workers.callees(iteration.scope, Instance(cls, None)))]
        return any(_is_left_open(function) for function in functions)

    def _is_set_from_outside(self, cls: Class) -> bool:
        """Whether a worker_init_fn of the project changes its worker's dataset, or is a method of the dataset."""
        codebase = self.outline.codebase
        for path in codebase.users([cls.scope.module.path]):
            module = codebase.module(path) if b"worker_init_fn" in codebase.data(path) else None
            for crossing in self.workers.crossings.of(module) if module is not None else ():
                if crossing.parameter.keyword == "worker_init_fn":
                    for hanging in crossing.hanging:
                        for function, receiver in self.workers._functions(hanging.value):
                            if self._is_one(receiver, cls) or self._reaches_dataset(function, receiver):
                                return True
        return False

    def _is_one(self, value: Value | None, cls: Class) -> bool:
        return isinstance(value, Instance) and any(
            item.scope is cls.scope for item in classes.project_classes(self.outline, value.cls)
        )

    def _reaches_dataset(self, function: Function, receiver: Value | None) -> bool:
        functions = [function, *(f for f, _ in self.workers.callees(function.scope, receiver))]
        return any(
            isinstance(node, ast.Attribute) and node.attr == "dataset"
            for item in functions
            for node in body_nodes(item.node)
        )

    def has_one_worker(self, cls: Class) -> bool:
        """Whether the project shows loaders of a dataset class, and none has more than one worker."""
        codebase = self.outline.codebase
        found = False
        for path in codebase.users([cls.scope.module.path]):
            module = codebase.module(path) if self.workers.crossings.may_make_loaders(path) else None
            for crossing in self.workers.crossings.of(module) if module is not None else ():
                if crossing.parameter.role != "dataset" or not any(
                    self._is_one(h.value, cls) for h in crossing.hanging
                ):
                    continue
                found = True
                arguments = self.evaluator.arguments(crossing.call, crossing.frame)
                source = arguments.get(apis.LOADER_POSITIONS["num_workers"], "num_workers")
                values = self.evaluator.of(source) if source is not None else ()
                if source is None and crossing.has_workers:
                    return False
                counts = [v for v in values if not self._is_for_others(v, cls)]
                if not all(isinstance(v, Constant) and v.value in (0, 1, None) for v in counts):
                    return False
        return found

    def _is_for_others(self, count: Value, cls: Class) -> bool:
        """`0 if isinstance(dataset, IterableDataset) else 4`: four are for datasets of other classes."""
        own = {base.rpartition(".")[2] for base in classes.library_bases(self.outline, cls)}
        own |= {item.scope.name for item in classes.project_classes(self.outline, cls)}
        return isinstance(count, Constant) and any(
            not fact.holds
            and isinstance(fact.test, ast.Call)
            and last_name(fact.test.func) == "isinstance"
            and len(fact.test.args) == 2
            and last_name(fact.test.args[1]) in own
            for fact in facts_at(count.node)
        )


class _Taint:
    """What in a function depends on the worker that runs it."""

    def __init__(self, sharding: Sharding, function: Function, receiver: Value | None) -> None:
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

    def _told(self, test: ast.expr) -> Iterator[tuple[_Taint, ast.expr]]:
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
            returned = [statement.value for statement in _returns(function)]
            if len(returned) == 1 and isinstance(returned[0], ast.Compare):
                yield _Taint(self.sharding, function, receiver), returned[0]

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
        if _asks_for_info(call, self.module) or name in random_sources.SEEDER_NAMES or self._makes_generator(call):
            return False
        parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(self._is_info(part) or self.depends(part) for part in parts):
            return True
        called = self.called(call)
        if called:
            return any(self._answers(function, receiver) for function, receiver in called)
        return isinstance(call.func, ast.Attribute) and self.depends(call.func.value)

    def _answers(self, function: Function, receiver: Value | None) -> bool:
        sharding = self.sharding
        if isinstance(function.node, ast.Lambda) or not sharding._knows(function.scope, receiver):
            return False
        if function.scope.is_generator:
            return sharding.whole(function, receiver) is None
        inner = _Taint(sharding, function, receiver)
        if function.scope in sharding._running or len(sharding._running) > DEEPEST:
            return True
        sharding._running.append(function.scope)
        try:
            returned = [r for r in _returns(function) if r.value is not None]
            parts = [part for r in returned for part in _parts(r.value)]
            return any(inner.depends(part) or inner._is_info(part) for part in parts) or all(
                inner.covers(r, r.value) for r in returned
            )
        finally:
            sharding._running.pop()

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
        return method if method is not None and is_property(method.scope) else None

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
            return _asks_for_info(node, self.module) or any(_gives_info(f.scope) for f, _ in self.called(node))
        if isinstance(node, ast.NamedExpr):
            return self._is_info(node.value)
        if isinstance(node, ast.Attribute) and (method := self._property(node)) is not None:
            return _gives_info(method.scope)
        values = self._bound(node) if isinstance(node, ast.Name) else []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            values = self._stored(node)
        chosen = [part for value in values for part in _alternatives(value)]
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
        key = (id(scope), name.id)
        if key not in self._names:
            self._names[key] = False
            self._names[key] = any(
                self.depends(b.value) or self._is_decided(b.node)
                for b in scope.bindings[name.id]
                if b.value is not None and b.kind != "parameter"
            ) or any(
                self.covers(change.node, change.value)
                for change in self.module.changes.get(name.id, ())
                if change.value is not None and self.module.scope_of(change.node).enclosing_function() is self.scope
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
        key = (0, f"{node.attr} asked")
        if key in self._names:
            return False
        self._names[key] = True
        found = any(self.depends(value) for value in self._stored(node))
        del self._names[key]
        return found

    def _stored(self, node: ast.Attribute) -> list[ast.expr]:
        if not isinstance(self.receiver, Instance) or not isinstance(node.value, ast.Name):
            return []
        if node.value.id != receiver_name(self.scope):
            return []
        key = (0, node.attr)
        if key in self._names:
            return []
        self._names[key] = True
        found: list[ast.expr] = []
        for cls in classes.project_classes(self.sharding.outline, self.receiver.cls):
            for change, method in classes.stores(cls).get(node.attr, ()):
                if change.value is not None:
                    found.append(change.value)
                    taint = _Taint(self.sharding, Function(method, None), self.receiver)
                    taint._names.update({k: v for k, v in self._names.items() if k[0] == 0})
                    if method is not self.scope and (taint.depends(change.value) or taint._is_decided(change.node)):
                        del self._names[key]
                        return [_ASKING]
        del self._names[key]
        return found


_ASKING = ast.parse("get_worker_info().id", mode="eval").body


def _places(nodes: list[ast.AST]) -> str:
    return " ".join(f"{getattr(n, 'lineno', 0)}:{getattr(n, 'col_offset', 0)}:{type(n).__name__}" for n in nodes)


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """`a` and `b` of `a or b` and of `a if c else b`."""
    if isinstance(node, ast.BoolOp):
        return node.values
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def _parts(node: ast.expr | None) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node] if node is not None else []


def _returns(function: Function) -> list[ast.Return]:
    return function.scope.returns


def _handed_out(function: Function) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """The yields of a generator, or what another function returns."""
    if not function.scope.is_generator:
        for statement in _returns(function):
            if not isinstance(statement.value, ast.Constant | None.__class__):
                yield statement, statement.value
        return
    for node in body_nodes(function.node, nested=False):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield node, node.value


def _loops_around(node: ast.AST, function: Function) -> list[Any]:
    loops: list[Any] = []
    for item in ancestors(node):
        if item is function.node:
            break
        if isinstance(item, ast.For | ast.AsyncFor | ast.While):
            loops.append(item)
    return loops


def _fillings(node: ast.AST, leaves: list[ast.expr], function: Function) -> list[ast.expr]:
    """What the loops go over in which the containers are filled that a yield hands out of: the rest of a buffer."""
    given = [getattr(node, "value", None), *leaves]
    names = {part.id for item in given if item is not None for part in ast.walk(item) if isinstance(part, ast.Name)}
    return [
        _iterable(loop)
        for name in names
        for change in function.scope.module.changes.get(name, ())
        if function.scope.module.scope_of(change.node) is function.scope
        for loop in _loops_around(change.node, function)
        if isinstance(loop, ast.For)
    ]


def _iterable(loop: Any) -> ast.expr:
    return loop.test if isinstance(loop, ast.While) else loop.iter


def _is_open(loop: Any) -> bool:
    """A loop that counts at most: what it yields does not come from what it loops over."""
    if isinstance(loop, ast.While):
        return True
    if not isinstance(loop.iter, ast.Call) or last_name(loop.iter.func) not in ENDLESS:
        return False
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    return not any(isinstance(n, ast.Name) and n.id in names for part in loop.body for n in ast.walk(part))


def _is_endless(loop: Any) -> bool:
    return isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)


def _opens(function: Function) -> bool:
    """Whether a function begins to read something itself, so that each worker begins at the start."""
    return any(isinstance(n, ast.Call) and last_name(n.func) in STARTING for n in body_nodes(function.node))


def _receives(function: Function) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in random_sources.RECEIVING
        and len(node.args) + len(node.keywords) < 3
        and not (node.func.attr == "get" and node.args and isinstance(node.args[0], ast.Constant | ast.Name))
        for node in body_nodes(function.node)
    )


def _leaves(iterables: list[ast.expr]) -> Iterator[ast.expr]:
    """What is looped over in the end: `x` of `enumerate(map(f, x))`."""
    for node in iterables:
        if isinstance(node, ast.Call) and last_name(node.func) in WRAPPERS and node.args:
            yield from _leaves(node.args[1:] if last_name(node.func) in ("map", "filter") else node.args)
        elif isinstance(node, COMPREHENSIONS):
            yield from _leaves([generator.iter for generator in node.generators])
        elif isinstance(node, ast.Starred):
            yield from _leaves([node.value])
        elif isinstance(node, ast.Call) and last_name(node.func) == "__next__" and not node.args:
            assert isinstance(node.func, ast.Attribute)
            yield node.func.value
        elif not isinstance(node, ast.Constant | ast.Compare | ast.BoolOp | ast.NamedExpr | ast.UnaryOp):
            yield node


def _is_unseen(value: Value) -> bool:
    if isinstance(value, Result | Collection | Constant | External | ModuleValue):
        return False
    return not isinstance(value, Member) or not isinstance(value.owner, Result | Instance | External)


def _is_left_open(function: Function) -> bool:
    """An abstract method: it raises, or does nothing at all."""
    if isinstance(function.node, ast.Lambda):
        return False
    if any(last_name(item) == "abstractmethod" for item in function.node.decorator_list):
        return True
    body = [s for s in function.node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not body or all(isinstance(s, ast.Pass) for s in body):
        return True
    return isinstance(body[-1], ast.Raise) and "NotImplemented" in ast.unparse(body[-1])


def _asks_who(scope: Scope) -> bool:
    """Whether a function reads the number of its worker, or the count of them, or hands the info on."""
    nodes = body_nodes(scope.node)  # type: ignore[arg-type]
    return any(isinstance(n, ast.Call) and _asks_for_info(n, scope.module) for n in nodes)


def _asks_for_count_alone(scope: Scope) -> bool:
    """Whether all that a function reads of the worker's info is how many workers there are."""
    infos = {
        binding.name
        for bindings in scope.bindings.values()
        for binding in bindings
        if isinstance(binding.value, ast.Call) and _asks_for_info(binding.value, scope.module)
    }
    reads = [node for name in infos for node in scope.module.loads(name) if isinstance(node, ast.Name)]
    own = [up(node) for node in reads if scope.module.scope_of(node).enclosing_function() is scope]
    told = [holder for holder in own if isinstance(holder, ast.Attribute)]
    return {holder.attr for holder in told} == {"num_workers"} and all(
        isinstance(holder, ast.Attribute | ast.Compare | ast.If | ast.IfExp | ast.BoolOp | ast.UnaryOp)
        for holder in own
    )


def _gives_info(scope: Scope) -> bool:
    """Whether a function does nothing but hand out the worker's info."""
    given = [statement.value for statement in scope.returns]
    return len(given) == 1 and isinstance(given[0], ast.Call) and _asks_for_info(given[0], scope.module)


def _asks_for_info(call: ast.Call, module: Module) -> bool:
    return last_name(call.func) in ("get_worker_info", *module.names_of("get_worker_info"))
