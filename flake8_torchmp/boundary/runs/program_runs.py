"""One run of a program: at each moment, the contexts that are fixed, the start methods set, the threads started.

What fixes the default context was tried with torch 2.13 on CPython 3.11: everything that is made by it, an executor
when it is made, a loader when it is iterated, and each process that is spawned or comes from a forkserver, by whatever
context: its preparation asks for the default method.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchmp.boundary.circumstances.guards import tells_main
from flake8_torchmp.boundary.circumstances.methods import allows_none, mp_name
from flake8_torchmp.boundary.starting import managers
from flake8_torchmp.boundary.starting.starts import Start
from flake8_torchmp.boundary.starting.threads import THREAD_EXECUTORS, THREAD_FUNCTIONS, THREAD_POOLS, THREADS
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import attributes, classes
from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import LOOPS, Condition, is_in_block
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, ancestors, body_nodes, dotted, last_name, position, up
from flake8_torchmp.semantics.program_order import Mark, State, Walk, Watch, contradict, runs_once, tests_of
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.switches import is_test
from flake8_torchmp.semantics.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Method,
    Partial,
    Result,
    Unknown,
    Value,
)

from .events import FIXING

if TYPE_CHECKING:
    from .timeline import Timeline

SETTING = re.compile(rb"set_start_method")
QUEUES = frozenset(("queue.Queue", "queue.LifoQueue", "queue.PriorityQueue"))
WAITING = frozenset(
    "get recv wait sleep acquire accept poll select serve_forever run_forever join iter result communicate listen "
    "input readline count cycle".split()
)
"""Calls by which a thread may go on for long."""
CATCHING = frozenset(("", "RuntimeError", "Exception", "BaseException"))
"""What catches "context has already been set"."""
SETTLING = frozenset(("set", "forced", "fixed"))
"""The marks after which `set_start_method` fails."""
ENDING = frozenset("join shutdown terminate close".split())
LISTENERS = frozenset(("logging.handlers.QueueListener",))
"""Threads whose `stop` waits for their end."""


class Moment(NamedTuple):
    """A place of the program that some run comes to, with all that may have happened before."""

    node: ast.AST
    module: Module
    before: State
    start: Start | None
    """Whether processes are started there."""


class ProgramRun(Walk):
    def __init__(self, timeline: Timeline, moments: dict[int, Moment], root: Module) -> None:
        super().__init__(timeline.evaluator)
        self.timeline = timeline
        self.moments = moments
        self._all_events = timeline.all_events[timeline.starts.possible.look_from(root)]
        self._sets_method = timeline.evaluator.codebase.leads_to(root.path, SETTING)
        self.threads: dict[int, Value] = {}
        """The threads that were started, by their keys."""
        self._calls: list[tuple[Scope, State, set[int]]] = []
        """The calls that are under way: of what, what had happened before, and what has been started again since."""

    def function(self, frame: Frame, state: State) -> State | None:
        self._calls.append((frame.scope, state, set()))
        after = super().function(frame, state)
        self._calls.pop()
        return after

    def watch(self, state: State) -> Watch:
        if self._sets_method or any(mark.kind == "thread" for mark in state):
            return self._all_events
        return self.timeline.threads

    def tells_main(self, fact: Condition, module: Module) -> bool:
        return tells_main(self.evaluator, fact, module)

    def event(self, node: ast.AST, frame: Frame, state: State) -> State:
        self.evaluator.steps = 0
        start = self.timeline.starts.of_one(node, frame)
        if not isinstance(node, ast.Call):
            return self._started(start, node, frame, state) if start is not None else state
        for callee in self.callees(node, frame):
            state = self._called(callee, node, frame, state)
        return self._started(start, node, frame, state) if start is not None else state

    def left(self, node: ast.With | ast.AsyncWith, frame: Frame, state: State) -> State:
        for item in node.items:
            values = self.evaluator.values(item.context_expr, frame)
            for value in (*values, *self.evaluator.entered(values)):
                state = _without(state, value)
        return state

    def returned(self, scope: Scope, state: State) -> State:
        """Pools of threads end with the last reference to them, and short work is taken to be done before long."""
        return frozenset(mark for mark in state if mark.kind != "thread" or not self._ends_with(mark, scope))

    def _ends_with(self, mark: Mark, scope: Scope) -> bool:
        """Whether a thread is over when a function returns that began it, or that joins what one inside it began."""
        if mark.module.scope_of(mark.node).enclosing_function() is scope:
            return _is_unkept_pool(mark.node, mark.module) or self._is_short(mark.key)
        start = mark.node.func if isinstance(mark.node, ast.Call) else None
        name = start.value if isinstance(start, ast.Attribute) else None
        if not isinstance(name, ast.Name) or mark.module is not scope.module or name.id not in scope.bindings:
            return False
        return self.evaluator.scope_binding(name.id, scope.module.scope_of(name)) is scope and any(
            isinstance(call.func, ast.Attribute)
            and dotted(call.func.value) == name.id
            and scope.module.scope_of(call).enclosing_function() is scope
            for call in scope.module.calls.get("join", ())
        )

    def _is_short(self, key: int) -> bool:
        """Whether a thread's work, which the project shows, neither loops without end nor waits."""
        thread = self.threads.get(key)
        work = [function for function, _ in self._work_of(thread)] if thread is not None else []
        callees = [inner for function in work for inner, *_ in self.timeline.workers.called.of(function.scope, None)]
        return bool(work) and not any(
            isinstance(node, ast.While) or (isinstance(node, ast.Call) and last_name(node.func) in WAITING)
            for function in (*work, *callees)
            for node in body_nodes(function.node)
        )

    def _is_over(self, mark: Mark, node: ast.AST, scope: Scope) -> bool:
        """Whether a thread began in an earlier round or call, and its work is short or another object's."""
        if mark.kind != "thread":
            return False
        function = scope.enclosing_function()
        began_in = mark.module.scope_of(mark.node).enclosing_function()
        for called, before, again in self._calls[:-1]:
            if called is began_in and mark in before and id(mark.node) not in again:
                return True  # by an earlier call of what is running now
        if mark.module is not scope.module or began_in is not function:
            return self._is_short(mark.key)
        if position(mark.node) <= position(node):
            return False
        loops = [outer for outer in ancestors(node) if isinstance(outer, ast.For | ast.While)]
        is_in_turn = any(is_in_block(node, loop.body) and is_in_block(mark.node, loop.body) for loop in loops)
        return not is_in_turn or self._is_short(mark.key)

    def _called(self, callee: Value, node: ast.Call, frame: Frame, state: State) -> State:
        name = mp_name(callee)
        methods = self.timeline.methods
        if name == "set_start_method":
            is_again = any(mark.node is node for mark in state) and runs_once(node, frame.module)
            if not is_again and not any(CATCHING & caught for caught in self.caught):
                before = state
                if _is_called_in_turn(frame):
                    before = frozenset(mark for mark in state if mark.node is not node)
                self._record(node, frame, before, None)
            arguments = self.evaluator.arguments(node, frame)
            kind = "forced" if is_forced(self.evaluator, arguments) else "set"
            if kind == "forced" and methods.is_default_context(arguments.get(0, "method")):
                return frozenset(mark for mark in state if mark.kind not in SETTLING)  # forgets what was set
            return self._marked(state, kind, node, frame, "set_start_method()")
        if name == "get_start_method":
            arguments = self.evaluator.arguments(node, frame)
            if not methods.is_default(callee) or allows_none(self.evaluator, arguments):
                return state
            return self._marked(state, "fixed", node, frame, "get_start_method()")
        if name in FIXING and methods.is_default(callee):
            if name == "get_context" and not self._is_default_context(node, frame):
                return state
            self._record(node, frame, state, None)
            return self._marked(state, "fixed", node, frame, f"{name}()")
        if isinstance(callee, External):
            return self._of_library(callee.name, node, frame, state)
        if isinstance(callee, Member):
            return self._of_member(callee, node, frame, state)
        if isinstance(callee, Class):
            state = self._managed(Instance(callee, self.evaluator.arguments(node, frame)), node, frame, state)
            return self._filled_in(callee, node, frame, state)
        if isinstance(callee, Unknown) and last_name(node.func) == "join" and not node.args:
            return frozenset(mark for mark in state if mark.kind != "thread")  # it may be any thread
        return state

    def _filled_in(self, cls: Class, node: ast.Call, frame: Frame, state: State) -> State:
        """What the defaults of a record's fields make."""
        for factory in attributes.default_factories(self.evaluator, cls, self.evaluator.arguments(node, frame)):
            if isinstance(factory, Function):
                after = self.function(self.evaluator.frame_of(factory.scope), state)
                state = state if after is None else after
            elif mp_name(factory) in FIXING and self.timeline.methods.is_default(factory):
                state = self._marked(state, "fixed", node, frame, f"{mp_name(factory)}()")
        return state

    def _is_default_context(self, node: ast.Call, frame: Frame) -> bool:
        source = self.evaluator.arguments(node, frame).get(0, "method")
        if source is None:
            return not self.evaluator.arguments(node, frame).is_open
        return all(isinstance(v, Constant) and v.value is None for v in self.evaluator.of(source))

    def _of_library(self, name: str, node: ast.Call, frame: Frame, state: State) -> State:
        if name in THREAD_POOLS:
            state = self._marked(state, "fixed", node, frame, f"{name.rpartition('.')[2]}()")
            return self._marked(state, "thread", node, frame, f"{name.rpartition('.')[2]}()", None, id(node))
        if name in THREAD_FUNCTIONS:
            arguments = self.evaluator.arguments(node, frame)
            self.threads[id(node)] = Result(External(name, node, frame.module), arguments)
            return self._marked(state, "thread", node, frame, "a thread", None, id(node))
        if name in managers.CLASSES:
            made = Result(External(name, node, frame.module), self.evaluator.arguments(node, frame))
            return self._managed(made, node, frame, state)
        if name in apis.EXECUTORS:
            arguments = self.evaluator.arguments(node, frame)
            if arguments.get(1, "mp_context") is None and not arguments.is_open:
                return self._marked(state, "fixed", node, frame, "ProcessPoolExecutor()")
        return state

    def _managed(self, made: Value, node: ast.Call, frame: Frame, state: State) -> State:
        """A manager asks for the default context when it is made without one of its own."""
        arguments = managers.made_with(self.evaluator, made)
        if arguments is None or managers.context_of(arguments) is not None or arguments.is_open:
            return state
        return self._marked(state, "fixed", node, frame, "a manager")

    def _of_member(self, callee: Member, node: ast.Call, frame: Frame, state: State) -> State:
        owner = callee.owner
        if callee.name in ENDING or (callee.name == "stop" and isinstance(owner, Result) and owner.name in LISTENERS):
            if callee.name == "join" and isinstance(owner, Result) and owner.name in QUEUES:
                return self._emptied(owner, state)
            return _without(state, owner)
        if callee.name == "start" and self._is_thread(owner):
            self.threads[_key(owner)] = owner
            return self._marked(state, "thread", node, frame, "a thread", owner)
        if callee.name in ("submit", "map") and isinstance(owner, Result) and owner.name in THREAD_EXECUTORS:
            state = self._marked(state, "thread", node, frame, "a ThreadPoolExecutor", owner)
            self._run_by_threads(owner, node, frame, state)
        return state

    def _run_by_threads(self, executor: Result, task: ast.Call, frame: Frame, state: State) -> None:
        """What several threads run: each comes to it while the others do as well."""
        count = executor.arguments.get(0, "max_workers")
        counts = self.evaluator.of(count) if count is not None else ()
        if counts and all(isinstance(value, Constant) and value.value == 1 for value in counts):
            return
        if last_name(task.func) == "submit" and not _is_one_of_many(task):
            return
        work = self.evaluator.arguments(task, frame).get(0, "fn")
        for value in self.evaluator.of(work) if work is not None else ():
            callee = value.callee if isinstance(value, Partial) else value
            function = callee.function if isinstance(callee, Method) else callee
            if isinstance(function, Function) and isinstance(function.node, ast.FunctionDef):
                self.function(self.evaluator.frame_of(function.scope), state)

    def _emptied(self, queue: Value, state: State) -> State:
        """Waiting until a queue is used up waits for the threads whose only work is to fill it."""
        ended = {key for key, thread in self.threads.items() if _key(queue) in set(self._fills(thread))}
        return frozenset(mark for mark in state if mark.kind != "thread" or mark.key not in ended)

    def _fills(self, thread: Value) -> Iterator[int]:
        """The keys of the queues into which a thread puts something, if it comes to an end by itself."""
        for function, frame in self._work_of(thread):
            nodes = body_nodes(function.node)
            if any(isinstance(node, ast.While) for node in nodes):
                continue
            for node in nodes:
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "put":
                    yield from map(_key, self.evaluator.values(node.func.value, frame))

    def _work_of(self, thread: Value) -> Iterator[tuple[Function, Frame]]:
        if isinstance(thread, Instance):
            run = classes.find_method(self.timeline.outline, thread.cls, "run")
            if run is not None:
                yield run, self.evaluator.frame(run.scope, None, run.closure, thread)
        elif isinstance(thread, Result):
            is_begun = thread.name in THREAD_FUNCTIONS
            target = thread.arguments.get(0) if is_begun else thread.arguments.get(1, "target")
            for value in self.evaluator.of(target) if target is not None else ():
                if isinstance(value, Function):
                    yield value, self.evaluator.frame_of(value.scope)

    def _is_thread(self, value: Value) -> bool:
        if isinstance(value, Instance):
            return not THREADS.isdisjoint(classes.library_bases(self.evaluator, value.cls))
        return isinstance(value, Result) and value.name in THREADS

    def _started(self, start: Start, node: ast.AST, frame: Frame, state: State) -> State:
        key = _executor_key(node, frame, self.evaluator)
        if key and any(mark.kind == "executor" and mark.key == key for mark in state):
            return state  # its processes are there
        self._record(node, frame, state, start)
        if key:
            state = self._marked(state, "executor", node, frame, "", None, key)
        if start.by_default or not start.methods <= {"fork"}:
            return self._marked(state, "fixed", node, frame, start.text)
        return state

    def _marked(
        self, state: State, kind: str, node: ast.AST, frame: Frame, text: str, about: Value | None = None, key: int = 0
    ) -> State:
        if any(mark.node is node and mark.kind == kind for mark in state):
            for _, _, again in self._calls:
                again.add(id(node))
            return state
        made_in = frame.module
        if about is not None:
            key = _key(about)
            made_in = about.cls.scope.module if isinstance(about, Instance) else _module_of(about) or made_in
        return state | {Mark(kind, key, node, frame.module, text, made_in, tests_of(self.tests))}

    def _record(self, node: ast.AST, frame: Frame, state: State, start: Start | None) -> None:
        tests = tests_of(self.tests)
        before = frozenset(
            mark
            for mark in state
            if not contradict(mark.tests, tests) and not self._is_over(mark, node, frame.module.scope_of(node))
        )
        add(self.moments, Moment(node, frame.module, before, start))


def _is_called_in_turn(frame: Frame) -> bool:
    """Whether a function runs in `for step in steps: step()`: the next round runs another one."""
    call = frame.arguments.call if frame.arguments is not None else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or frame.arguments is None:
        return False
    bindings = frame.arguments.frame.scope.bindings.get(call.func.id, ())
    return any(binding.kind == "for" for binding in bindings)


def _is_one_of_many(task: ast.Call) -> bool:
    """`[executor.submit(check, path) for path in paths]`, of which none is waited for before the next begins."""
    holder = up(task)
    return not (isinstance(holder, ast.Attribute) and holder.attr == "result") and any(
        isinstance(outer, (*LOOPS, *COMPREHENSIONS)) for outer in ancestors(task)
    )


def add(moments: dict[int, Moment], moment: Moment) -> None:
    """Another way to come to a place, perhaps the first."""
    known = moments.get(id(moment.node))
    if known is not None:
        start = moment.start
        start = start if start is not None and "fork" in start.methods else known.start or start
        moment = Moment(moment.node, moment.module, known.before | moment.before, start)
    moments[id(moment.node)] = moment


def is_forced(evaluator: Evaluator, arguments: Arguments) -> bool:
    """Whether `set_start_method` may be told to set what is set already."""
    force = arguments.get(1, "force")
    if force is None:
        return arguments.is_open
    return not all(isinstance(value, Constant) and not value.value for value in evaluator.of(force))


def _key(value: Value) -> int:
    """What tells an object from others: the call that makes it."""
    if isinstance(value, Result | Instance) and value.arguments is not None:
        return id(value.arguments.call)
    return id(value.cls.scope) if isinstance(value, Instance) else 0


def _is_unkept_pool(node: ast.AST, module: Module) -> bool:
    """Whether a pool of threads is made for one call, or kept by a variable of its function alone."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in ("ThreadPool", "Pool"):
        return False
    holder = up(node)
    if isinstance(holder, ast.Attribute):
        return True
    target = holder.targets[0] if isinstance(holder, ast.Assign) and len(holder.targets) == 1 else None
    scope = module.scope_of(node)
    if not isinstance(target, ast.Name) or target.id in scope.global_names:
        return False
    loads = [load for load in module.loads(target.id) if isinstance(load, ast.Name)]
    around = scope.enclosing_function()
    return all(
        isinstance(up(load), ast.Attribute)
        or is_test(load)
        or (around is not None and around.node not in ancestors(load))
        for load in loads
    )


def _module_of(value: Value) -> Module | None:
    return value.arguments.frame.module if isinstance(value, Result) else None


def _without(state: State, ended: Value) -> State:
    key = _key(ended)
    return frozenset(mark for mark in state if mark.kind != "thread" or mark.key != key) if key else state


def _executor_key(node: ast.AST, frame: Frame, evaluator: Evaluator) -> int:
    if isinstance(node, ast.Call):
        for callee in evaluator.values(node.func, frame):
            if isinstance(callee, Member) and callee.name in apis.EXECUTOR_TASKS:
                return _key(callee.owner)
    return 0
