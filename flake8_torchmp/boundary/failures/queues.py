"""Processes that put on a queue, and whether the parent reads it before it joins them."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.crossing.crossings import Crossing, Crossings
from flake8_torchmp.boundary.crossing.hanging import Hangings
from flake8_torchmp.boundary.starting.starts import import_nodes
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments, parameters
from flake8_torchmp.semantics.codebase import Codebase
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, last_name, position, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Constant, Function, Instance, Method, Result, Unknown, Value

from .ended_processes import is_ended_before, loop_until_ended
from .small_values import is_little

QUEUES = frozenset(("Queue", "JoinableQueue"))
SIMPLE = frozenset(("SimpleQueue",))
"""Its `put` writes into the pipe itself: a lot blocks there, and a little is always safe."""
PUTTING = frozenset(("put", "put_nowait"))
READING = frozenset(("get", "get_nowait"))
STARTING = frozenset((*apis.PROCESS_CLASSES, "spawn", "start_processes"))
"""What hands its arguments to processes."""
GROUPING = frozenset("zip enumerate len list tuple dict reversed print".split())
"""Calls that take queues and nothing out of them."""
NEUTRAL = frozenset("put put_nowait qsize empty full close join task_done".split())
_MAKES_PROCESSES = re.compile(rb"Process\b")
_QUEUES = re.compile(rb"[Qq]ueue")

QueueKey = int
"""The call that makes a queue."""


class Read(NamedTuple):
    node: ast.AST
    module: Module


class EarlyJoin(NamedTuple):
    node: ast.Call
    read: Read
    """Where the queue is read, too late."""
    worker: str
    """The function that puts."""


class Queues:
    """What the processes of one module put on which queues, and what they take from them."""

    def __init__(self, module: Module, evaluator: Evaluator, crossings: Crossings, workers: Workers) -> None:
        self.module = module
        self.evaluator = evaluator
        self.crossings = crossings
        self.puts: dict[QueueKey, str] = {}
        self.taken: set[QueueKey] = set()
        self._readers: dict[Scope, set[QueueKey]] | None = None
        started = (worker for starter in self._starters(module) for worker in workers.of(starter))
        scopes = dict.fromkeys(worker.scope for worker in started if worker.kind in ("process", "spawn"))
        for scope in scopes:
            self._look_for_puts(scope)
        for scope in scopes if self.puts else ():
            self._look_for_reads(scope)

    def _starters(self, module: Module) -> Iterator[Module]:
        """A module, and those that it imports which start the processes for it."""
        yield module
        codebase = self.evaluator.codebase
        for path in codebase.imports(module.path) if "join" in module.calls else ():
            other = codebase.module(path) if codebase.matches(path, _MAKES_PROCESSES) else None
            if other is not None and other is not module:
                yield other

    def _look_for_puts(self, scope: Scope) -> None:
        for call, holder in _calls_of(PUTTING, scope):
            for queue in self._queues(holder, scope):
                if not is_little(call, scope, mp_name(queue.callee) in SIMPLE):
                    self.puts.setdefault(id(queue.arguments.call), scope.name)

    def _look_for_reads(self, scope: Scope) -> None:
        for _, holder in _calls_of((*READING, "cancel_join_thread"), scope):
            self.taken |= {id(queue.arguments.call) for queue in self._queues(holder, scope)}

    def _queues(self, node: ast.expr, scope: Scope) -> Iterator[Result]:
        for frame in self.evaluator.contexts(scope):
            self.evaluator.steps = 0
            inner = self.evaluator.frame_in(scope.module.scope_of(node), frame)
            for value in self.evaluator.values(node, inner):
                if is_queue(value):
                    yield value  # type: ignore[misc]

    def early_joins(self) -> Iterator[EarlyJoin]:
        """Where a process that puts on a queue is joined or awaited, and the queue is only read later."""
        joined = list(self._joins())
        yield from joined
        told = {id(early.read.node) for early in joined}
        yield from (early for early in self._awaited_early() if id(early.read.node) not in told)

    def _joins(self) -> Iterator[EarlyJoin]:
        for call in self.module.calls.get("join", ()):
            if not isinstance(call.func, ast.Attribute) or not _waits_for_end(call) or is_ended_before(call):
                continue
            frame = self.evaluator.frame_at(call, self.module)
            self.evaluator.steps = 0
            for process in self.evaluator.values(call.func.value, frame):
                yield from self._joined_early(call, self._queues_of(process))
        for crossing in self.crossings.of(self.module):
            if crossing.api.kind == "spawn" and crossing.parameter.keyword == "args" and self._waits(crossing):
                given = [hanging.value for hanging in crossing.hanging]
                yield from self._joined_early(crossing.call, _keys_of(given))

    def _awaited_early(self) -> Iterator[EarlyJoin]:
        """`while worker.is_alive(): time.sleep(1)` waits like a `join`, if nothing takes from the queue meanwhile."""
        for call in self.module.calls.get("is_alive", ()):
            loop = loop_until_ended(call)
            if loop is None or not isinstance(call.func, ast.Attribute) or is_ended_before(call):
                continue
            self.evaluator.steps = 0
            frame = self.evaluator.frame_at(call, self.module)
            queues = {key for value in self.evaluator.values(call.func.value, frame) for key in self._queues_of(value)}
            taken = {key for key in queues for node in ast.walk(loop) if self._reads(node, key)}
            yield from self._joined_early(call, queues - taken)

    def _in(self, module: Module, key: QueueKey) -> Queues | None:
        """The same for the uses of a queue in another module, unless something there may read it at any time."""
        if module is self.module:
            return self
        there = copy.copy(self)
        there.module, there._readers = module, None
        return None if there._may_be_read_meanwhile(key) else there

    def _joined_early(self, join: ast.Call, queues: set[QueueKey]) -> Iterator[EarlyJoin]:
        for key in queues & self.puts.keys() - self.taken:
            if self._may_be_read_meanwhile(key):
                continue
            read = self._read_only_after(join, key)
            if read is not None:
                yield EarlyJoin(join, read, self.puts[key])

    def _may_be_read_meanwhile(self, key: QueueKey) -> bool:
        """Whether a function that reads the queue is handed to something, such as a thread."""
        for scope, keys in self._readers_by_scope().items():
            loads = self.module.loads(scope.name) if key in keys else []
            handed = [load for load in loads if not isinstance(call := up(load), ast.Call) or call.func is not load]
            if any(self._may_be(load, scope) for load in handed):
                return True
        return False

    def _may_be(self, node: ast.expr, function: Scope) -> bool:
        """Whether an expression that has a function's name can be that function."""
        self.evaluator.steps = 0
        values = self.evaluator.values(node, self.evaluator.frame_at(node, self.module))
        meant = [value.function if isinstance(value, Method) else value for value in values]
        return any(isinstance(v, Unknown) or (isinstance(v, Function) and v.scope is function) for v in meant)

    def _waits(self, crossing: Crossing) -> bool:
        """Whether `spawn` itself joins its processes."""
        source = self.evaluator.arguments(crossing.call, crossing.frame).get(3, "join")
        values = self.evaluator.of(source) if source is not None else ()
        return source is None or (
            bool(values) and all(isinstance(value, Constant) and value.value is True for value in values)
        )

    def _queues_of(self, process: Value) -> set[QueueKey]:
        """The queues that a process, or what `spawn` started, was given."""
        if isinstance(process, Result) and mp_name(process.callee) in ("spawn", "start_processes"):
            given = process.arguments.get(1, "args")
            return _keys_of(h.value for h in Hangings(self.evaluator).of(given)) if given is not None else set()
        made = isinstance(process, Result) and mp_name(process.callee) in apis.PROCESS_CLASSES
        if not made and not (isinstance(process, Instance) and self.crossings.is_process(process.cls)):
            return set()
        hangings = Hangings(self.evaluator)
        if isinstance(process, Result):
            sources = [
                process.arguments.get(3, "args"),
                process.arguments.get(4, "kwargs"),
                process.arguments.get(1, "target"),
            ]
            found = [h.value for source in sources if source is not None for h in hangings.of(source)]
        else:
            found = [h.value for h in hangings.on([process], self.evaluator.frame_of(self.module.scope))]
        return _keys_of(found)

    def _read_only_after(self, join: ast.Call, key: QueueKey, depth: int = 2) -> Read | None:
        """The first use of a queue after a join that reads it or hands it on; None if there is one before, too.

        Where the function that joins does neither, the functions that call it are asked.
        """
        function = self.module.scope_of(join).enclosing_function()
        nodes = list(import_nodes(self.module))
        if function is not None:
            nodes = body_nodes(function.node)
        later: list[ast.AST] = []
        for node in nodes:
            if node is join or not self._reads(node, key):
                continue
            if position(node) < position(join):
                return None
            later.append(node)
        if later or function is None or not depth:
            return Read(min(later, key=position), self.module) if later else None
        owner = function.enclosing_class()
        if function.name == "__exit__" and owner is not None:
            reads = (there._read_after_leaving(owner, key) for there in self._entering(owner, key))
        else:
            reads = (
                there._read_only_after(arguments.call, key, depth - 1)
                for arguments, receiver in self.evaluator.callers.of(function)
                if isinstance(arguments.call, ast.Call)
                and (there := self._in(arguments.frame.module, key)) is not None
                and (there is self or self._come_with(arguments, receiver, key))
            )
        return next((read for read in reads if read is not None), None)

    def _come_with(self, arguments: Arguments, receiver: Value | None, key: QueueKey) -> bool:
        """Whether what another module has joined, an object or what a function is given, holds the queue."""
        given = [value for _, source in arguments.all() for value in self.evaluator.of(source)]
        values = given if receiver is None else [receiver, *given]
        self.evaluator.steps = 0
        return key in _keys_of(hanging.value for hanging in Hangings(self.evaluator).on(values, arguments.frame))

    def _entering(self, owner: Scope, key: QueueKey) -> Iterator[Queues]:
        """The modules that may enter objects of a class."""
        codebase = self.evaluator.codebase
        for path in codebase.mentioning(owner.name, owner.module.path):
            module = codebase.module(path) if codebase.matches(path, _QUEUES) else None
            there = self._in(module, key) if module is not None else None
            if there is not None:
                yield there

    def _read_after_leaving(self, owner: Scope, key: QueueKey) -> Read | None:
        """The first read after a `with` that ends by a class's `__exit__`, if there is none inside it."""
        for node in ast.walk(self.module.tree):
            if not isinstance(node, ast.With) or not any(self._is_a(item.context_expr, owner) for item in node.items):
                continue
            around = self.module.scope_of(node).enclosing_function()
            nodes = body_nodes(around.node) if around is not None else list(import_nodes(self.module))
            reads = [part for part in nodes if position(part) > position(node) and self._reads(part, key)]
            first = min(reads, key=position, default=None)
            if first is not None and position(first)[0] > (node.end_lineno or node.lineno):
                return Read(first, self.module)
        return None

    def _is_a(self, node: ast.expr, owner: Scope | None) -> bool:
        self.evaluator.steps = 0
        values = self.evaluator.values(node, self.evaluator.frame_at(node, self.module))
        return any(isinstance(value, Instance) and value.cls.scope is owner for value in values)

    def _reads(self, node: ast.AST, key: QueueKey) -> bool:
        if isinstance(node, ast.Call):
            return self._is_call_of_reader(node, key)
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(getattr(node, "ctx", None), ast.Load):
            return False
        return self._may_read(node, self.module) and self._is_queue(node, key)

    def _is_call_of_reader(self, node: ast.Call, key: QueueKey) -> bool:
        """Whether a function of the module is called, or handed to something, that takes from a queue."""
        for scope, keys in self._readers_by_scope().items():
            named = [
                n for n in (node.func, *node.args, *(k.value for k in node.keywords)) if last_name(n) == scope.name
            ]
            if key in keys and named:
                return True
        return False

    def _readers_by_scope(self) -> dict[Scope, set[QueueKey]]:
        if self._readers is None:
            self._readers = {}
            for method in READING:
                for node in self.module.loads(method):
                    scope = self.module.scope_of(node).enclosing_function()
                    if isinstance(node, ast.Attribute) and scope is not None and scope.name:
                        keys = {id(queue.arguments.call) for queue in self._queues(node.value, scope)}
                        self._readers.setdefault(scope, set()).update(keys)
        return self._readers

    def _is_queue(self, node: ast.expr, key: QueueKey) -> bool:
        self.evaluator.steps = 0
        values = self.evaluator.values(node, self.evaluator.frame_at(node, self.module))
        flat = [
            *values,
            *(inner for value in values for _, s in self.evaluator.items(value) for inner in self.evaluator.of(s)),
        ]
        return any(is_queue(value) and id(value.arguments.call) == key for value in flat)  # type: ignore[attr-defined]

    def _may_read(self, node: ast.expr, module: Module, depth: int = 2) -> bool:
        """Whether a use takes from what it names, or hands it to somebody who may; not to a process."""
        holder: Any = up(node)
        if isinstance(holder, ast.Attribute):
            return holder.attr not in NEUTRAL and isinstance(up(holder), ast.Call | ast.keyword)
        if isinstance(holder, ast.Call) and holder.func is node:
            return False
        for above in ancestors(node):
            if isinstance(above, ast.stmt):
                break
            if isinstance(above, ast.Call):
                if isinstance(above.func, ast.Name) and above.func.id in GROUPING:
                    return False
                frame = self.evaluator.frame_at(above, module)
                values = self.evaluator.values(above.func, frame)
                if any(mp_name(value) in STARTING for value in values):
                    return False
                if depth and values and all(self._only_hands_on(value, above, node, depth) for value in values):
                    return False
                made = self.evaluator.values(above, frame)
                return not any(isinstance(value, Instance) and self.crossings.is_process(value.cls) for value in made)
        return isinstance(holder, ast.Return | ast.Call | ast.For | ast.comprehension)

    def _only_hands_on(self, callee: Value, call: ast.Call, given: ast.expr, depth: int) -> bool:
        """Whether a function of the project, or an `__init__`, only gives a queue to processes."""
        init = classes.find_method(self.evaluator, callee, "__init__") if isinstance(callee, Class) else None
        function = init or callee
        if not isinstance(function, Function) or given not in call.args or not isinstance(function.node, FUNCTIONS):
            return False
        index, scope = call.args.index(given) + (init is not None), function.scope
        name = next((p.name for p in parameters(scope.node).values() if p.index == index), "")  # type: ignore[arg-type]
        uses = [node for node in body_nodes(scope.node) if isinstance(node, ast.Name) and node.id == name]
        return bool(uses) and all(_is_given(use) and not self._may_read(use, scope.module, depth - 1) for use in uses)


def _calls_of(methods: Collection[str], scope: Scope) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of some methods in a function, each with the expression whose method it is."""
    assert isinstance(scope.node, FUNCTIONS)
    for node in body_nodes(scope.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
            yield node, node.func.value


def may_join_early(module: Module, codebase: Codebase) -> bool:
    """Whether a module may wait for processes, and it or what it imports may have a queue, going by names."""
    waits = (
        b"spawn" in module.data
        or "is_alive" in module.calls
        or any(
            isinstance(call.func, ast.Attribute)
            and len(call.args) < 2
            and not isinstance(call.func.value, ast.Constant)
            for call in module.calls.get("join", ())
        )
    )
    return waits and codebase.leads_to(module.path, _QUEUES)


def _is_given(use: ast.Name) -> bool:
    """Whether a use is part of a call, and not kept."""
    above = up(use)
    while isinstance(above, ast.expr | ast.keyword) and not isinstance(above, ast.Call):
        above = up(above)
    return isinstance(above, ast.Call)


def _waits_for_end(join: ast.Call) -> bool:
    """Whether a `join` waits until the process has ended: with a timeout, if it is asked again while that is alive."""
    if not join.args and not join.keywords:
        return True
    loop = up(up(join)) if isinstance(up(join), ast.Expr) else None  # type: ignore[arg-type]
    if not isinstance(loop, ast.While) or len(loop.body) != 1 or not isinstance(loop.test, ast.Call):
        return False
    return last_name(loop.test.func) == "is_alive"


def _keys_of(values: Iterable[Value]) -> set[QueueKey]:
    return {id(value.arguments.call) for value in values if isinstance(value, Result) and is_queue(value)}


def is_queue(value: Value) -> bool:
    return isinstance(value, Result) and mp_name(value.callee) in QUEUES | SIMPLE
