"""Whether an iterable dataset gives each worker its own part: which of its yields depend on who asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_torchmp.boundary.loading.loaders import Loaders
from flake8_torchmp.boundary.tables import apis, random_sources
from flake8_torchmp.boundary.working.worker_datasets import asks_for_info
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments, Frame, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import is_endless
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, body_nodes, last_name, mentions, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Function,
    Instance,
    Member,
    ModuleValue,
    Result,
    Value,
    qualified,
)

from .beside import beside
from .dealing import deals_out
from .handed_out import fillings, handed_out, is_open, iterable, leaves, loops_around, opened, picked, repeats
from .worker_taint import Taint

DEEPEST = 4
MOST_FUNCTIONS = 60
MOST_DRAWING = 30
STARTING = frozenset("open iter reader DictReader Reader scandir execute File TarFile connect".split())


class Sharding:
    def __init__(self, outline: Evaluator, evaluator: Evaluator, workers: Workers, loaders: Loaders) -> None:
        self.outline = outline
        self.evaluator = evaluator
        self.workers = workers
        self.loaders = loaders
        self._whole: dict[tuple[int, int], Function | None] = {}
        self.running: list[Scope] = []

    def forget(self) -> None:
        self._whole.clear()

    def is_iterable(self, cls: Class) -> bool:
        bases = classes.library_bases(self.outline, cls)
        if not any(base.endswith("IterableDataset") and base in apis.ITERABLE_DATASETS for base in bases):
            return False
        return not cls.is_local or any(self.loaders.have_workers(cls.scope))

    def unsharded(self, cls: Class) -> Function | None:
        """The function that yields everything in each worker, if the iteration of a class has one."""
        iteration = classes.find_method(self.outline, cls, "__iter__")
        if iteration is None or self._is_abstract(cls, iteration):
            return None
        whole = self._whole_of(Instance(cls, None), iteration)
        return None if whole is None or self.is_divided_by_others(cls) else whole

    def is_divided_by_others(self, cls: Class) -> bool:
        """Whether something else than the iteration of a class sees to it that each worker takes its part."""
        return (
            self._is_set_from_outside(cls)
            or self._is_around_loaders(cls)
            or self._is_given_division(cls)
            or self._is_step_before_division(cls)
        )

    def _is_given_division(self, cls: Class) -> bool:
        """Whether the project gives objects of a class what divides: `Pipeline(names, split_by_worker, decode)`."""
        made = (arguments for _, arguments in self.evaluator.callers.constructions(cls.scope))
        return any(self._divides(self.evaluator.of(source)) for arguments in made for _, source in arguments.all())

    def _is_step_before_division(self, cls: Class) -> bool:
        """Whether the project puts objects of a class into something that gets what divides them as well.

        `Pipeline(Shards(names), split_by_worker)`, `pipeline.append(Shards(names))` where it appends that, too.
        """
        made = (arguments for _, arguments in self.evaluator.callers.constructions(cls.scope))
        steps = ((other, made_by.frame.module) for made_by in made for other in beside(made_by))
        given = (self.evaluator.values(step, self.evaluator.frame_at(step, module)) for step, module in steps)
        return any(map(self._divides, given)) and not self.loaders.are_given(cls)

    def _divides(self, values: Sequence[Value]) -> bool:
        """Whether something is a function that asks for the number of its worker, or such are in it."""
        found = [value for value in values if not isinstance(value, Collection)]
        found += self.evaluator.elements(tuple(value for value in values if isinstance(value, Collection)))
        return any(self.knows(f.scope, r) for value in found for f, r, _ in self.workers.called.functions_of(value))

    def _is_around_loaders(self, cls: Class) -> bool:
        """Whether each object of a class that the project makes has a loader to go through: it stays in the parent."""
        made = [arguments for _, arguments in self.evaluator.callers.constructions(cls.scope)]
        return bool(made) and all(self._has_loader(arguments, 0) for arguments in made)

    def _has_loader(self, arguments: Arguments, depth: int) -> bool:
        given = (value for _, source in arguments.all() for value in self.evaluator.of(source))
        return depth < DEEPEST and any(self._is_loader(value, depth) for value in given)

    def _is_loader(self, value: Value, depth: int) -> bool:
        if isinstance(value, Result):
            return self.loaders.is_loader(value.name.removesuffix("()"))
        if not isinstance(value, Instance):
            return False
        bases = classes.library_bases(self.outline, value.cls)
        return any(map(self.loaders.is_loader, bases)) or (
            value.arguments is not None and self._has_loader(value.arguments, depth + 1)
        )

    def _whole_of(self, owner: Instance, iteration: Function) -> Function | None:
        """The function that yields everything where an object is iterated, be it by its `__next__`."""
        own = receiver_name(iteration.scope)
        if any(isinstance(r.value, ast.Name) and r.value.id == own for r in iteration.scope.returns):
            following = classes.find_method(self.outline, owner.cls, "__next__")
            if following is None or self.knows(iteration.scope, owner):
                return None
            return iteration if self.whole(following, owner) is not None else None
        return self.whole(iteration, owner)

    def undivided(self, cls: Class) -> tuple[Function, dict[str, str]] | None:
        """The iteration to divide, with places in it: what is handed out whole, and what draws at random."""
        iteration = classes.find_method(self.outline, cls, "__iter__")
        if iteration is None or isinstance(iteration.node, ast.Lambda):
            return None
        receiver, module = Instance(cls, None), iteration.scope.module
        if any(self.knows(inner.scope, other) for inner, other, _ in self.workers.called.of(iteration.scope, receiver)):
            return None
        if iteration.scope.parent is not cls.scope and any(
            b"get_worker_info" in self.outline.codebase.data(path)
            for path in self.outline.codebase.users([module.path])
        ):
            return None  # another subclass may have its part already
        taint = Taint(self, iteration, receiver)
        remaining = [
            (node, value)
            for node, value in handed_out(iteration)
            if not taint.covers(node, value) and not self._is_divided_already(node, value, iteration, taint)
        ]
        if any(isinstance(node, ast.Return) and self._only_steps(value, module) for node, value in remaining):
            return None  # nothing goes through it but `next`
        whole = [node for node, _ in remaining]
        draws = [node for node in body_nodes(iteration.node) if self._is_draw(node, taint)]
        return iteration, {"whole": _places(whole), "draws": _places(draws)}

    def _is_divided_already(self, node: ast.AST, value: ast.expr | None, iteration: Function, taint: Taint) -> bool:
        """`yield from self.source`, where that is a dataset which takes its part itself."""
        iterables = [iterable(loop) for loop in loops_around(node, iteration)]
        if isinstance(node, ast.YieldFrom | ast.Return) and value is not None:
            iterables.append(picked(value, iteration))
        return any(self._is_foreign(leaf, taint.frame) for leaf in leaves(iterables))

    def _only_steps(self, node: ast.expr | None, module: Module) -> bool:
        """Whether an expression makes an iterator of the project that has no `__iter__`."""
        return isinstance(node, ast.Call) and any(
            isinstance(value, Instance) and classes.find_method(self.outline, value.cls, "__iter__") is None
            for value in self.outline.values(node, self.outline.frame_at(node, module))
        )

    def _is_draw(self, node: ast.AST, taint: Taint) -> bool:
        if not isinstance(node, ast.Call):
            return False
        is_reordering = isinstance(node.func, ast.Attribute) and node.func.attr in (
            "shuffle",
            "permutation",
            "permuted",
        )
        if is_reordering or self._is_call_that_draws(node, taint.module):
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
        if scope in self.running or len(self.running) > DEEPEST:
            return None
        self.running.append(scope)
        try:
            self._whole[key] = known = self._find_whole(function, receiver)
        finally:
            self.running.pop()
        return known

    def _find_whole(self, function: Function, receiver: Value | None) -> Function | None:
        taint = Taint(self, function, receiver)
        if deals_out(self.evaluator, function, taint.frame):
            return None
        for node, value in handed_out(function):
            if taint.covers(node, value) or repeats(value, loops_around(node, function)):
                continue
            iterables = [iterable(loop) for loop in loops_around(node, function)]
            if isinstance(node, ast.YieldFrom | ast.Return) and value is not None:
                iterables.append(picked(value, function))
            if any(self._is_given_foreign(leaf, taint.frame) for leaf in leaves(iterables)):
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

    def _delegated(self, iterables: list[ast.expr], taint: Taint) -> Function | None:
        """A generator of the project that a loop draws from: it answers for itself, unless it goes over parts."""
        found = None
        for leaf in leaves(iterables):
            called = [item for item in taint.called(leaf) if _gives(item[0])]
            answers = [self.whole(*item) for item in called]
            if answers and not any(answers):
                return None
            found = found or next(filter(None, answers), None)
        return found

    def _may_differ(self, node: ast.AST, function: Function, iterables: list[ast.expr], taint: Taint) -> bool:
        """Whether workers may get different things without asking: random ones, or what only one can take."""
        sources = list(leaves(iterables))
        if any(self._is_foreign(leaf, taint.frame) for leaf in leaves(fillings(node, sources, function))):
            return True
        if any(taint.called(leaf) for leaf in sources):
            return True  # answered for itself
        loops = loops_around(node, function)
        counts_alone = all(map(is_open, loops)) and not isinstance(node, ast.Return)
        if (
            counts_alone
            and isinstance(node, ast.Yield)
            and (self._draws(function, taint.receiver) or _receives(function))
        ):
            return True
        is_step = not loops and function.scope.name == "__next__"
        if (is_step or any(map(is_endless, loops))) and self._draws(function, taint.receiver):
            return True
        if is_step and (_receives(function) or self._reads_unseen(function, taint.frame)):
            return True
        if loops and all(is_endless(loop) for loop in loops) and not _opens(function):
            return True  # a device, a socket: what comes next is not the same for everybody
        if not sources:
            return isinstance(node, ast.Return)
        return any(self._is_foreign(leaf, taint.frame) for leaf in sources)

    def _reads_unseen(self, function: Function, frame: Frame) -> bool:
        """`self.camera.read()`, where the project does not show what that is: it may go on by itself."""
        reads = (node for node in body_nodes(function.node) if isinstance(node, ast.Call))
        return any(
            isinstance(read.func, ast.Attribute)
            and read.func.attr == "read"
            and any(map(_is_unseen, self.evaluator.values(read.func.value, frame)))
            for read in reads
        )

    def _is_given_foreign(self, leaf: ast.expr, frame: Frame) -> bool:
        """Whether a function is given another dataset to iterate: `self.step(iter(self.source))`."""
        if not isinstance(leaf, ast.Call):
            return False
        inner = self.evaluator.frame_in(frame.module.scope_of(leaf), frame)
        return any(
            isinstance(value, Instance) and self.is_iterable(value.cls)
            for given in leaves(leaf.args)
            if isinstance(given, ast.Attribute | ast.Name)
            for value in self.evaluator.values(given, inner)
        )

    def _is_foreign(self, leaf: ast.expr, frame: Frame) -> bool:
        """Whether an iterable may well know of workers itself: another dataset, a stream, something unseen."""
        if isinstance(leaf, ast.Call) and last_name(leaf.func) in random_sources.RECEIVING:
            return True
        if isinstance(leaf, ast.Attribute) and leaf.attr in random_sources.RECEIVING:
            return True
        leaf = opened(leaf, frame.module)
        inner = self.evaluator.frame_in(frame.module.scope_of(leaf), frame)
        values = self.evaluator.values(leaf, inner)
        if isinstance(leaf, (ast.Call, ast.Subscript, ast.List, ast.Tuple, *COMPREHENSIONS)):
            return any(self._shards_itself(value) for value in values)
        return any(self._shards_itself(value) or (_is_unseen(value) and not self._iterates(value)) for value in values)

    def _iterates(self, value: Value) -> bool:
        """Whether the project shows how something is iterated."""
        return isinstance(value, Instance) and classes.find_method(self.outline, value.cls, "__iter__") is not None

    def _shards_itself(self, value: Value) -> bool:
        if isinstance(value, Instance):
            iteration = classes.find_method(self.outline, value.cls, "__iter__")
            if iteration is not None and (self.is_iterable(value.cls) or self._is_abstract(value.cls, iteration)):
                return True
            if iteration is not None and self._may_be_given_part(value):
                return True
            own = (classes.maker(self.outline, value.cls), classes.find_method(self.outline, value.cls, "__next__"))
            if any(method is not None and self.knows(method.scope, value) for method in own):
                return True
            return iteration is not None and self._whole_of(value, iteration) is None
        name = qualified(value)
        return name.startswith(random_sources.OWN_STREAMS) or name.removesuffix("()") in apis.LOADERS

    def _may_be_given_part(self, value: Instance) -> bool:
        """Whether worker code makes an object of what it is given itself: the part of its worker, perhaps."""
        made = value.arguments
        function = made.frame.module.scope_of(made.call).enclosing_function() if made is not None else None
        if made is None or function is None or function.name == "__init__" or not self.workers.runs(function):
            return made is None
        given = {name for name, bindings in function.bindings.items() if any(b.kind == "parameter" for b in bindings)}
        given.discard(receiver_name(function))
        return any(
            mentions(source.node, given) or any(map(_is_unseen, self.evaluator.of(source))) for _, source in made.all()
        )

    def _draws(self, function: Function, receiver: Value | None) -> bool:
        reached = self.workers.called.reached_from([(function.scope, receiver)], MOST_DRAWING)
        return any(
            isinstance(node, ast.Call) and self._is_call_that_draws(node, scope.module)
            for scope, _ in reached
            for node in body_nodes(scope.node)
        )

    def _is_call_that_draws(self, call: ast.Call, module: Module) -> bool:
        frame = self.outline.frame_at(call, module)
        if any(isinstance(v, External) and random_sources.draws(v.name) for v in self.outline.values(call.func, frame)):
            return True
        return isinstance(call.func, ast.Attribute) and self._is_generator(call.func, frame)

    def _is_generator(self, method: ast.Attribute, frame: Frame) -> bool:
        if method.attr in random_sources.NOT_DRAWING:
            return False
        inner = self.outline.frame_in(frame.module.scope_of(method), frame)
        return any(
            isinstance(v, Result) and v.name.removesuffix("()") in random_sources.MAKERS
            for v in self.outline.values(method.value, inner)
        )

    def knows(self, scope: Scope, receiver: Value | None) -> bool:
        """Whether a function, or one that it calls, asks for the worker's number or the count of workers."""
        return any(True for _ in self._asking(scope, receiver))

    def _asking(self, scope: Scope, receiver: Value | None) -> Iterator[Scope]:
        reached = self.workers.called.reached_from([(scope, receiver)], MOST_FUNCTIONS)
        return (current for current, _ in reached if _asks_who(current))

    def _is_abstract(self, cls: Class, iteration: Function) -> bool:
        """Whether the iteration, or a method that it calls, is left to subclasses."""
        functions = [iteration, *(f for f, *_ in self.workers.called.of(iteration.scope, Instance(cls, None)))]
        return any(_is_left_open(function) for function in functions)

    def _is_set_from_outside(self, cls: Class) -> bool:
        """Whether a worker_init_fn of the project changes its worker's dataset, or is a method of the dataset."""
        codebase = self.outline.codebase
        for path in codebase.users([cls.scope.module.path]):
            module = codebase.module(path) if b"worker_init_fn" in codebase.data(path) else None
            for crossing in self.workers.crossings.of(module) if module is not None else ():
                if crossing.parameter.keyword == "worker_init_fn":
                    for hanging in crossing.hanging:
                        for function, receiver, _ in self.workers.called.functions_of(hanging.value):
                            if self._is_one(receiver, cls) or self._reaches_dataset(function, receiver):
                                return True
        return False

    def _is_one(self, value: Value | None, cls: Class) -> bool:
        return isinstance(value, Instance) and any(
            item.scope is cls.scope for item in classes.project_classes(self.outline, value.cls)
        )

    def _reaches_dataset(self, function: Function, receiver: Value | None) -> bool:
        functions = [function, *(f for f, *_ in self.workers.called.of(function.scope, receiver))]
        return any(
            isinstance(node, ast.Attribute) and node.attr == "dataset"
            for item in functions
            for node in body_nodes(item.node)
        )


def _places(nodes: list[ast.AST]) -> str:
    return " ".join(f"{getattr(n, 'lineno', 0)}:{getattr(n, 'col_offset', 0)}:{type(n).__name__}" for n in nodes)


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


def _is_unseen(value: Value) -> bool:
    if isinstance(value, Result | Collection | Constant | External | ModuleValue):
        return False
    return not isinstance(value, Member) or not isinstance(value.owner, Result | Instance | External)


def _gives(function: Function) -> bool:
    """Whether something comes of calling a function, be it what a subclass has in its place."""
    return function.scope.is_generator or bool(function.scope.returns) or _is_left_open(function)


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
    nodes = body_nodes(scope.node)
    return any(isinstance(n, ast.Call) and asks_for_info(n, scope.module) for n in nodes)


def _asks_for_count_alone(scope: Scope) -> bool:
    """Whether all that a function reads of the worker's info is how many workers there are."""
    infos = {
        binding.name
        for bindings in scope.bindings.values()
        for binding in bindings
        if isinstance(binding.value, ast.Call) and asks_for_info(binding.value, scope.module)
    }
    reads = [node for name in infos for node in scope.module.loads(name) if isinstance(node, ast.Name)]
    own = [up(node) for node in reads if scope.module.scope_of(node).enclosing_function() is scope]
    told = [holder for holder in own if isinstance(holder, ast.Attribute)]
    return {holder.attr for holder in told} == {"num_workers"} and all(
        isinstance(holder, ast.Attribute | ast.Compare | ast.If | ast.IfExp | ast.BoolOp | ast.UnaryOp)
        for holder in own
    )
