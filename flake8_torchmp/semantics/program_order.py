"""Walks a program in the order in which it runs: through functions that are called, branches, loops, try and with.

What has happened so far is a set of marks. Where ways come together, all marks count that some way brings; a mark
does not count on a way whose tests contradict those under which it was made. A loop is taken to run at least once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from . import classes, reading
from .calls import Frame
from .codebase import Codebase
from .evaluate import Evaluator, Values
from .flow import Condition, caught_around, conditions, facts, never_continues
from .module import Module
from .nodes import COMPREHENSIONS, FUNCTIONS, children, dotted, last_name
from .scopes import Scope
from .values import Class, Function, Instance, Method, Partial, Value

MOST_STEPS = 3_000
"""Nodes that one walk visits before it gives up; what it has seen by then is true all the same."""

MOST_VISITS = 8
"""Calls of one function that a walk goes into; the others bring about what these did."""

LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
COUNTING = (
    *(ast.Call, ast.Attribute, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor),
    *(*COMPREHENSIONS, ast.Starred, ast.YieldFrom, ast.Assign),
)

_ONCE = frozenset(("cache", "lru_cache", "run_once", "once"))

Tests = frozenset[tuple[str, str, bool]]


class Mark(NamedTuple):
    """Something that has happened."""

    kind: str
    key: int
    """Tells one thread or executor from another."""
    node: ast.AST
    module: Module
    text: str
    made_in: Module
    """Where what it is about was made: a thread that is started elsewhere."""
    tests: Tests
    """What is known to hold where it happened."""


State = frozenset[Mark]


class Watch:
    """What a walk looks out for, from definitions alone: what else there is, it passes by."""

    def __init__(self, codebase: Codebase) -> None:
        self.codebase = codebase
        self._idle: dict[int, bool] = {}

    def forget(self) -> None:
        self._idle.clear()

    def may_count(self, node: ast.AST, module: Module) -> bool:
        """Whether a node can be an event or lead to one."""
        raise NotImplementedError

    def may_matter(self, function: Function) -> bool:
        """Whether anything in a function can be an event."""
        raise NotImplementedError

    def may_matter_at_import(self, path: str) -> bool:
        """Whether importing a file, with all that it imports, can be an event."""
        raise NotImplementedError

    def is_run_by(self, path: str) -> bool:
        """Whether what a file itself calls when it is imported can be one."""
        raise NotImplementedError

    def is_idle(self, node: ast.AST, module: Module) -> bool:
        """Whether nothing can happen in a node, and what follows it comes next."""
        known = self._idle.get(id(node))
        if known is None:
            known = self._idle[id(node)] = self._has_nothing(node, module)
        return known

    def _has_nothing(self, node: ast.AST, module: Module) -> bool:
        if isinstance(node, FUNCTIONS):
            return all(self.is_idle(part, module) for part in _at_definition(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            return not any(self.may_matter_at_import(path) for path in imported_files(self.codebase, node, module))
        return not (
            isinstance(node, LEAVING)
            or (isinstance(node, COUNTING) and self.may_count(node, module))
            or any(not self.is_idle(child, module) for child in children(node))
        )


class Walk:
    """One run of a program. What matters on the way is said by a subclass."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.tests: list[Condition] = []
        self.caught: list[set[str]] = []
        """What the try statements around catch, those of callers too."""
        self.steps = 0
        """The nodes that it has visited."""
        self._is_main: Module | None = None
        self._imported: set[str] = set()
        self._returns: list[list[State]] = []
        self._loops: list[list[State]] = []
        self._tries: list[tuple[list[State], ast.AST | None]] = []
        """The states in which the try statements around may be left, and the last thing that each of them does."""
        self._running: set[Scope] = set()
        self._known: dict[tuple[int, State], State | None] = {}
        self._callees: dict[tuple[int, int], Values] = {}
        self._brought: dict[Scope, list[tuple[State, State]]] = {}
        """What calls of a function added and ended."""

    # what a subclass says

    def event(self, node: ast.AST, frame: Frame, state: State) -> State:
        """What has happened after one node, if it has happened before it."""
        raise NotImplementedError

    def left(self, node: ast.With | ast.AsyncWith, frame: Frame, state: State) -> State:
        """What holds after a with statement."""
        raise NotImplementedError

    def returned(self, scope: Scope, state: State) -> State:  # noqa: ARG002 - a subclass asks for the function
        """What holds when a function has returned, and its variables are gone."""
        return state

    def watch(self, state: State) -> Watch:
        """What to look out for from here on."""
        raise NotImplementedError

    def tells_main(self, fact: Condition, module: Module) -> bool:
        """Whether a test holds in the main process alone."""
        raise NotImplementedError

    # the walk

    def module(self, module: Module, state: State, *, is_main: bool) -> State:
        """Runs a module's own code, as the main program or as an import."""
        self._imported.add(module.path)
        outer, self._is_main = self._is_main, module if is_main else self._is_main
        after = self._body(module.tree.body, self.evaluator.frame_of(module.scope), state)
        self._is_main = outer
        return after if after is not None else frozenset()

    def has_entered(self, scope: Scope) -> bool:
        """Whether the walk has come to a function."""
        return scope in self._brought

    def function(self, frame: Frame, state: State) -> State | None:
        key = (id(frame), state)
        if key in self._known:
            return self._known[key]
        brought = self._brought.setdefault(frame.scope, [])
        if len(brought) == MOST_VISITS:
            return state.union(*(added for added, _ in brought)).difference(*(ended for _, ended in brought))
        if frame.scope in self._running:
            return state
        self._known[key] = state
        self._running.add(frame.scope)
        node: Any = frame.scope.node
        if isinstance(node, ast.Lambda):
            after: State | None = self._expression(node.body, frame, state)
        else:
            after = self._body(node.body, frame, state)
        self._running.remove(frame.scope)
        if after is not None:
            after = self.returned(frame.scope, after)
        self._known[key] = after
        if after is not None and len(brought) < MOST_VISITS:
            brought.append((after - state, state - after))
        return after

    def _body(self, body: Sequence[ast.stmt], frame: Frame, state: State) -> State | None:
        loops, self._loops = self._loops, []
        self._returns.append([])
        last = self._block(body, frame, state)
        self._loops = loops
        return _join([*self._returns.pop(), last])

    def _block(self, block: Sequence[ast.stmt], frame: Frame, state: State | None) -> State | None:
        added = len(self.tests)
        for statement in block:
            if state is None or self.steps > MOST_STEPS:
                break
            if not self.watch(state).is_idle(statement, frame.module):
                state = self._statement(statement, frame, state)
            if isinstance(statement, ast.If) and never_continues(statement.body):
                left = Condition(statement.test, False)
                self.tests.append(left)
                state = _possible(state, tests_of([left])) if state is not None else None
            elif state is not None and never_continues([statement]):
                state = None
        del self.tests[added:]
        return state

    def _statement(self, node: ast.stmt, frame: Frame, state: State) -> State | None:
        if isinstance(node, ast.ClassDef):
            return self._class_body(node, frame, state)
        if isinstance(node, FUNCTIONS):
            for part in _at_definition(node):
                state = self._expression(part, frame, state)
            return state
        if isinstance(node, ast.If):
            return self._branch(node, frame, self._expression(node.test, frame, state))
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            return self._loop(node, frame, state)
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._try(node, frame, state)
        if isinstance(node, ast.With | ast.AsyncWith):
            return self._with(node, frame, state)
        if isinstance(node, ast.Match):
            after = self._expression(node.subject, frame, state)
            arms: list[State | None] = []
            for case in node.cases:
                test = (
                    [ast.Compare(node.subject, [ast.Eq()], [case.pattern.value])]
                    if isinstance(case.pattern, ast.MatchValue)
                    else []
                )
                arms.append(self._under([Condition(t, True) for t in test], case.body, frame, after))
            return _join([*arms, after])
        if isinstance(node, ast.Import | ast.ImportFrom):
            return self._import(node, frame.module, state)
        for child in children(node):
            state = self._expression(child, frame, state)
        if isinstance(node, ast.Return):
            self._returns[-1].append(state)
            return None
        if isinstance(node, ast.Break | ast.Continue):
            if self._loops:
                self._loops[-1].append(state)
            return None
        if isinstance(node, ast.Raise):
            return None
        return self.event(node, frame, state) if isinstance(node, ast.Assign) else state

    def _class_body(self, node: ast.ClassDef, frame: Frame, state: State) -> State | None:
        return self._block(node.body, self.evaluator.frame_of(frame.module.scopes[node]), state)

    def _branch(self, node: ast.If, frame: Frame, state: State) -> State | None:
        found = [
            self._under([Condition(node.test, holds)], block, frame, state)
            for holds, block in ((True, node.body), (False, node.orelse))
            if not self._is_excluded(Condition(node.test, holds), frame)
        ]
        return _join(found)

    def _is_excluded(self, condition: Condition, frame: Frame) -> bool:
        """Whether a test is known to come out the other way."""
        elsewhere = Condition(condition.test, condition.holds is not (self._is_main is frame.module))
        if any(self.tells_main(fact, frame.module) for fact in facts(elsewhere)):
            return True
        known = self.evaluator.truth(condition.test, frame) if frame.arguments is not None else None
        return known is not None and known is not condition.holds

    def _under(
        self, conditions: list[Condition], block: Sequence[ast.stmt], frame: Frame, state: State
    ) -> State | None:
        """A block where more is known to hold; marks that were made where the contrary held do not count in it."""
        self.tests += conditions
        after = self._block(block, frame, _possible(state, tests_of(conditions)))
        del self.tests[len(self.tests) - len(conditions) :]
        return after

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, frame: Frame, state: State) -> State | None:
        header = node.test if isinstance(node, ast.While) else node.iter
        state = self._expression(header, frame, state)
        if not isinstance(node, ast.While):
            state = self.event(node, frame, state)
        after: State | None = state
        for _ in range(2):
            self._loops.append([])
            once = self._block(node.body, frame, after)
            before, after = after, _join([once, *self._loops.pop()])
            if after is None:
                return None
            if after == before:
                break
        return self._block(node.orelse, frame, after)

    def _try(self, node: Any, frame: Frame, state: State) -> State | None:
        last = node.body[-1]
        left = self._left_so_far()
        self._tries.append(([state], last.value if isinstance(last, ast.Expr) else None))
        self.caught.append(set(caught_around(node.body[0])))
        after = self._block(node.body, frame, state)
        self.caught.pop()
        reached = _join(self._tries.pop()[0])
        if after is not None:
            after = self._block(node.orelse, frame, after)
        found = [after, *(self._block(handler.body, frame, reached) for handler in node.handlers)]
        joined = _join(found)
        if node.finalbody:
            self._on_the_way_out(left, lambda state: self._block(node.finalbody, frame, state))
        if joined is None and reached is not None:
            self._block(node.finalbody, frame, reached)
            return None
        return self._block(node.finalbody, frame, joined)

    def _with(self, node: ast.With | ast.AsyncWith, frame: Frame, state: State) -> State | None:
        for item in node.items:
            state = self._expression(item.context_expr, frame, state)
            state = self._by_method(item.context_expr, "__enter__", frame, state)
        self.caught.append(set(caught_around(node.body[0])))
        left = self._left_so_far()
        after = self._block(node.body, frame, state)
        self.caught.pop()
        self._on_the_way_out(left, lambda state: self._exit(node, frame, state))
        return self._exit(node, frame, after) if after is not None else None

    def _exit(self, node: ast.With | ast.AsyncWith, frame: Frame, state: State) -> State:
        for item in node.items:
            state = self._by_method(item.context_expr, "__exit__", frame, state)
        return self.left(node, frame, state)

    def _left_so_far(self) -> list[tuple[list[State], int]]:
        """The states in which `return`, `break` and `continue` have left the function and the loop, and how many."""
        return [(states, len(states)) for states in (*self._returns[-1:], *self._loops[-1:])]

    @staticmethod
    def _on_the_way_out(left: list[tuple[list[State], int]], leave: Callable[[State], State | None]) -> None:
        """Runs what a block ends with for all that has left it since."""
        for states, count in left:
            states[count:] = [after for state in states[count:] if (after := leave(state)) is not None]

    def _by_method(self, expression: ast.expr, name: str, frame: Frame, state: State) -> State:
        for value in self.evaluator.values(expression, frame):
            method = classes.find_method(self.evaluator, value.cls, name) if isinstance(value, Instance) else None
            if method is not None and self.watch(state).may_matter(method):
                after = self.function(self.evaluator.frame(method.scope, None, method.closure, value), state)
                return state if after is None else after
        return state

    def _import(self, node: ast.Import | ast.ImportFrom, module: Module, state: State) -> State:
        codebase = self.evaluator.codebase
        pending = imported_files(codebase, node, module)
        while pending:
            path = pending.pop(0)
            if path in self._imported:
                continue
            watch = self.watch(state)
            if not watch.may_matter_at_import(path):
                self._imported.update(codebase.reachable([path]))  # nothing happens when it is imported again
                continue
            other = codebase.module(path) if watch.is_run_by(path) else None
            if other is None:
                self._imported.add(path)
                pending = [*codebase.imports_at_once(path), *pending]
                continue
            outer = self._returns, self._loops, self._tries, self.tests
            self._returns, self._loops, self._tries, self.tests = [], [], [], []
            state = self.module(other, state, is_main=False)
            self._returns, self._loops, self._tries, self.tests = outer
        return state

    def _expression(self, node: ast.AST, frame: Frame, state: State) -> State:
        self.steps += 1
        if self.steps > MOST_STEPS or self.watch(state).is_idle(node, frame.module):
            return state
        if isinstance(node, COMPREHENSIONS):
            frame = self.evaluator.frame_in(frame.module.scopes[node], frame)
            return self._comprehension(node, frame, state)
        for child in children(node):
            state = self._expression(child, frame, state)
        if isinstance(node, ast.Call):
            before, state = state, self._call(node, frame, self.event(node, frame, state))
            if self._tries and state != before:
                for collected, last in self._tries:
                    if node is not last:
                        collected.append(state)
        elif isinstance(node, ast.Starred | ast.YieldFrom):
            state = self.event(node, frame, state)
        elif isinstance(node, ast.Attribute) and self.watch(state).may_count(node, frame.module):
            state = self._reading(node, frame, state)
        return state

    def _reading(self, node: ast.Attribute, frame: Frame, state: State) -> State:
        """What happens in a property of the project that is read."""
        for value in self.evaluator.values(node.value, frame):
            method = reading.reader(self.evaluator, value, node.attr)
            if method is not None and self.watch(state).may_matter(method):
                after = self.function(reading.frame_of(self.evaluator, method, value, node, frame), state)
                return state if after is None else after
        return state

    def _comprehension(self, node: Any, frame: Frame, state: State) -> State:
        """What is looped over comes first: `[pool.submit(f, x) for x in loader]`."""
        first, *others = node.generators
        state = self.event(node, frame, self._expression(first.iter, frame, state))
        for _ in range(2):
            before = state
            for part in (*first.ifs, *others, *(child for child in children(node) if child not in node.generators)):
                state = self._expression(part, frame, state)
            if state == before:
                break
        return state

    def _call(self, node: ast.Call, frame: Frame, state: State) -> State:
        """What happens in a function of the project that is called."""
        after: list[State | None] = []
        for callee in self.callees(node, frame):
            inner = self._entered(callee, node, frame, self.watch(state))
            if inner is not None:
                after.append(self.function(inner, state))
        joined = _join(after)
        return state if joined is None else joined

    def callees(self, node: ast.Call, frame: Frame) -> Values:
        """What is called, found once: a run comes by again, and what is hard to follow stays so."""
        key = (id(node), id(frame))
        if key not in self._callees:
            self.evaluator.steps = 0
            self._callees[key] = self.evaluator.values(node.func, frame)
        return self._callees[key]

    def _entered(self, callee: Value, node: ast.Call, frame: Frame, watch: Watch) -> Frame | None:
        evaluator = self.evaluator
        arguments = evaluator.arguments(node, frame)
        if isinstance(callee, Partial):
            arguments = evaluator.argument_lists.joined(callee.arguments, arguments)
            callee = callee.callee
        if isinstance(callee, Class):
            maker = classes.maker(evaluator, callee)
            if maker is None or not watch.may_matter(maker):
                return None
            return classes.making_frame(evaluator, Instance(callee, arguments))
        if isinstance(callee, Instance):
            method = classes.find_method(evaluator, callee.cls, "__call__")
            if method is None:
                return None
            callee = Method(callee, method)
        function = callee.function if isinstance(callee, Method) else callee
        if isinstance(function, Function) and watch.may_matter(function):
            return evaluator.enter(callee, arguments)
        return None


def _at_definition(node: Any) -> list[ast.expr]:
    """What runs when a function is defined."""
    if isinstance(node, ast.Lambda):
        return []
    return [*node.decorator_list, *node.args.defaults, *(part for part in node.args.kw_defaults if part is not None)]


def imported_files(codebase: Codebase, node: ast.Import | ast.ImportFrom, module: Module) -> list[str]:
    """The files of the project that an import statement may run."""
    wanted = (
        [(alias.name, 0) for alias in node.names]
        if isinstance(node, ast.Import)
        else [(node.module or "", node.level)]
        + [(f"{node.module}.{alias.name}" if node.module else alias.name, node.level) for alias in node.names]
    )
    found = [codebase.find(name, module.path, level) for name, level in wanted]
    return [one[1] for one in found if one is not None and one[1]]


def runs_once(node: ast.AST, module: Module) -> bool:
    """Whether a test on the way reads a flag that the node's function sets, or the function's result is kept."""
    function = module.scope_of(node).enclosing_function()
    if function is None or not isinstance(function.node, FUNCTIONS):
        return False
    decorators = getattr(function.node, "decorator_list", ())
    if any(last_name(d.func if isinstance(d, ast.Call) else d) in _ONCE for d in decorators):
        return True
    read = {dotted(part) for test, _ in conditions(node) for part in ast.walk(test)} - {""}
    return any(
        isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store) and dotted(part) in read
        for part in ast.walk(function.node)
    )


def tests_of(conditions: Iterable[Condition]) -> Tests:
    """Conditions in a form that can be compared: what is tested, what with, and whether it holds."""
    return frozenset(test for condition in conditions for fact in facts(condition) for test in _as_tests(fact))


def _as_tests(fact: Condition) -> Iterator[tuple[str, str, bool]]:
    test, holds = fact
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Eq | ast.Is):
            yield ast.dump(left), ast.dump(right), holds
            return
        if isinstance(test.ops[0], ast.NotEq | ast.IsNot):
            yield ast.dump(left), ast.dump(right), not holds
            return
    yield ast.dump(test), "", holds


def contradict(first: Tests, second: Tests) -> bool:
    """Whether two sets of tests cannot hold in one run."""
    for subject, compared, holds in first:
        for other, with_what, other_holds in second:
            if subject != other:
                continue
            if compared == with_what and holds is not other_holds:
                return True
            if compared != with_what and holds and other_holds:
                return True
    return False


def _possible(state: State, tests: Tests) -> State:
    return frozenset(mark for mark in state if not contradict(mark.tests, tests))


def _join(states: Sequence[State | None]) -> State | None:
    reached = [state for state in states if state is not None]
    return frozenset().union(*reached) if reached else None
