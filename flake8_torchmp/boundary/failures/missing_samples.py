"""Where a dataset's method may give None instead of a sample, or inside one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from flake8_torchmp.semantics import classes, containers
from flake8_torchmp.semantics.calls import Frame, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import EXITS, Condition, conditions, facts, is_endless, never_continues, reaching
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, dotted, last_name, mentions, position, up
from flake8_torchmp.semantics.scopes import Binding, Change, Scope
from flake8_torchmp.semantics.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Method,
    Result,
    Unknown,
    Value,
    truth_of,
)

from .dispatches import leaves_nothing_over
from .lookups import finds_nothing

DEEPEST = 3
GIVING_NOTHING = frozenset(("random.shuffle", "numpy.random.shuffle", "builtins.print"))
"""Functions that work in place, or tell, and return None."""


class NoSample(NamedTuple):
    """A place where a sample, or a part of one, is None."""

    node: ast.AST
    module: Module
    text: str


def missing_samples(evaluator: Evaluator, method: Function, frame: Frame) -> Iterator[NoSample]:
    """Where a sample method, or a helper whose result it returns or yields, gives None."""
    search = _Search(evaluator)
    search.indices[method.scope] = _index_of(method.scope)
    find = search.stream if method.scope.name == "__iter__" else search.function
    yield from find(method.scope, frame, 0)


class _Search:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.seen: set[int] = set()
        self.indices: dict[Scope, set[str]] = {}
        """The parameters by which a function is given the index of a sample."""

    def function(self, scope: Scope, frame: Frame, depth: int) -> Iterator[NoSample]:
        node: Any = scope.node
        if id(scope) in self.seen or not isinstance(node, ast.FunctionDef) or scope.is_generator or is_stub(node):
            return
        self.seen.add(id(scope))
        for statement in scope.returns:
            if self._is_excluded(statement, scope, frame):
                continue
            if statement.value is None:
                yield NoSample(statement, scope.module, f"{scope.name}() returns None")
            else:
                yield from self._expression(statement.value, scope, frame, statement, depth)
        if not self._leaves(node.body, frame) and not leaves_nothing_over(
            self.evaluator, node.body, frame, lambda block: self._leaves(block, frame)
        ):
            yield NoSample(node, scope.module, f"{scope.name}() can end without a return")

    def stream(self, scope: Scope, frame: Frame, depth: int) -> Iterator[NoSample]:
        """Where a generator, or one that it hands out, yields None."""
        if id(scope) in self.seen or not isinstance(scope.node, ast.FunctionDef) or depth > DEEPEST:
            return
        self.seen.add(id(scope))
        for node in body_nodes(scope.node, nested=False):
            if not isinstance(node, ast.Yield | ast.YieldFrom | ast.Return):
                continue
            if isinstance(node, ast.Yield):
                if not self._is_excluded(node, scope, frame):
                    value = node.value or ast.copy_location(ast.Constant(None), node)
                    yield from self._expression(value, scope, frame, node, depth)
            elif isinstance(node.value, ast.Call) and isinstance(node, ast.YieldFrom) is scope.is_generator:
                for inner in self._entered(node.value, scope, frame):
                    if inner.scope.is_generator:
                        yield from self.stream(inner.scope, inner, depth + 1)

    def _entered(self, node: ast.Call, scope: Scope, frame: Frame) -> Iterator[Frame]:
        """The project's functions that a call runs."""
        for callee in self.evaluator.values(node.func, self.evaluator.frame_in(scope.module.scope_of(node), frame)):
            if isinstance(callee, Function | Method):
                inner = self.evaluator.enter(callee, self.evaluator.arguments(node, frame))
                if inner is not None:
                    yield inner

    def _expression(
        self, node: ast.expr, scope: Scope, frame: Frame, statement: ast.AST, depth: int
    ) -> Iterator[NoSample]:
        if isinstance(node, ast.Constant):
            if node.value is None:
                verb = "yields" if isinstance(statement, ast.Yield) else "returns"
                yield NoSample(statement, scope.module, f"{scope.name}() {verb} None")
        elif isinstance(node, ast.Tuple | ast.List):
            for element in node.elts:
                yield from self._expression(element, scope, frame, statement, depth)
        elif isinstance(node, ast.Dict):
            for value in node.values:
                yield from self._expression(value, scope, frame, statement, depth)
        elif isinstance(node, ast.IfExp):
            for branch in (node.body, node.orelse):
                if not self._is_excluded(branch, scope, frame):
                    yield from self._expression(branch, scope, frame, statement, depth)
        elif isinstance(node, ast.Call) and last_name(node.func) == "dict" and not node.args:
            for keyword in node.keywords:
                yield from self._expression(keyword.value, scope, frame, statement, depth)
        elif isinstance(node, ast.Call):
            if finds_nothing(node, scope, frame, self.evaluator):
                yield NoSample(statement, scope.module, f"{dotted(node.func)}() can find nothing")
            yield from self._called(node, scope, frame, depth)
        elif isinstance(node, ast.Subscript):
            yield from self._of_inner(node, scope, frame, depth)
        elif isinstance(node, ast.Name) and not self._is_asked_for(node.id, node):
            yield from self._variable(node, scope, frame, statement, depth)

    def _of_inner(self, node: ast.Subscript, scope: Scope, frame: Frame, depth: int) -> Iterator[NoSample]:
        """`self.inner[index]`: the sample of another dataset, if nothing chooses which."""
        names = list(parameters(scope.node))  # type: ignore[arg-type]
        if scope.name != "__getitem__" or len(names) < 2 or dotted(node.slice) != names[1] or depth >= DEEPEST:
            return
        for value in self.evaluator.values(node.value, frame):
            method = (
                classes.find_method(self.evaluator, value.cls, "__getitem__") if isinstance(value, Instance) else None
            )
            if method is not None:
                inner = self.evaluator.frame(method.scope, None, method.closure, value)
                self.indices[method.scope] = _index_of(method.scope)
                yield from self.function(method.scope, inner, depth + 1)

    def _leaves(self, block: Sequence[ast.stmt], frame: Frame) -> bool:
        return _leaves(block, lambda call: self._never_returns(call, frame))

    def _never_returns(self, node: ast.Call, frame: Frame, depth: int = 2) -> bool:
        """Whether a call runs a function of the project that always raises."""
        inner = self.evaluator.frame_in(frame.module.scope_of(node), frame)
        callees = self.evaluator.values(node.func, inner)
        functions = [callee.function if isinstance(callee, Method) else callee for callee in callees]
        return bool(functions) and all(
            isinstance(function, Function)
            and isinstance(function.node, ast.FunctionDef)
            and not function.scope.returns
            and not function.scope.is_generator
            and depth > 0
            and _leaves(
                function.node.body,
                lambda call, around=function: self._never_returns(  # type: ignore[misc]
                    call, self.evaluator.frame_of(around.scope), depth - 1
                ),
            )
            for function in functions
        )

    def _called(self, node: ast.Call, scope: Scope, frame: Frame, depth: int) -> Iterator[NoSample]:
        if depth >= DEEPEST:
            return
        for callee in self.evaluator.values(node.func, self.evaluator.frame_in(scope.module.scope_of(node), frame)):
            if self._is_named_tuple(callee):
                for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                    yield from self._expression(argument, scope, frame, node, depth)
                if isinstance(callee, Class) and (left := self._left_none(callee, node)):
                    yield NoSample(node, scope.module, f"{scope.name}() leaves {left} None")
            elif isinstance(callee, External) and callee.name in GIVING_NOTHING:
                yield NoSample(node, scope.module, f"{callee.name}() returns None")
            if isinstance(callee, Instance):
                method = classes.find_method(self.evaluator, callee.cls, "__call__")
                callee = Method(callee, method) if method is not None else callee
            if isinstance(callee, Function | Method):
                inner = self.evaluator.enter(callee, self.evaluator.arguments(node, frame))
                if inner is not None:
                    self.indices[inner.scope] = self._handed_on(node, scope, inner)
                    yield from self.function(inner.scope, inner, depth + 1)

    def _handed_on(self, call: ast.Call, scope: Scope, inner: Frame) -> set[str]:
        """The parameters of a function by which a call hands on the index of a sample."""
        known = self.indices.get(scope, set())
        names = list(parameters(inner.scope.node))[inner.receiver is not None :]  # type: ignore[arg-type]
        handed = [name for name, argument in zip(names, call.args, strict=False) if dotted(argument) in known]
        return {*handed, *(k.arg for k in call.keywords if k.arg and dotted(k.value) in known)}

    def _left_none(self, cls: Class, call: ast.Call) -> str:
        """A field of a record that a call leaves to its default, which is None."""
        given = {keyword.arg for keyword in call.keywords}
        if None in given or any(isinstance(argument, ast.Starred) for argument in call.args):
            return ""
        rest = list(classes.fields(self.evaluator, cls).items())[len(call.args) :]
        nothing = [n for n, (default, _) in rest if isinstance(default, ast.Constant) and default.value is None]
        return next((name for name in nothing if name not in given), "")

    def _is_named_tuple(self, callee: Value) -> bool:
        if isinstance(callee, Class):
            return any(base.endswith("typing.NamedTuple") for base in classes.library_bases(self.evaluator, callee))
        return isinstance(callee, Result) and callee.name in ("collections.namedtuple", "typing.NamedTuple")

    def _variable(
        self, node: ast.Name, scope: Scope, frame: Frame, statement: ast.AST, depth: int
    ) -> Iterator[NoSample]:
        if node.id not in scope.bindings or node.id in scope.global_names:
            return
        bindings = reaching(scope.bindings[node.id], node, scope, scope.module.scope_of(node))
        known = {(ast.unparse(fact.test), fact.holds) for fact in (*_facts(statement), *_facts(node))}
        for binding in bindings:
            if binding.kind not in ("assign", "unpack") or binding.value is None or depth > DEEPEST:
                continue
            others = [other for other in bindings if other is not binding]
            if any(
                all((ast.unparse(fact.test), fact.holds) in known for fact in _facts(other.node))
                and not _may_be_cut_off(other, binding)
                for other in others
            ):
                continue
            if self._is_excluded(binding.node, scope, frame):
                continue
            if containers.written_entries(binding.value) is not None and _is_filled_later(node.id, scope):
                yield from self._kept(node.id, binding.value, scope, frame, statement, depth)
                continue
            if _is_looped_away(node.id, scope) or _is_replaced(binding, node, scope):
                continue
            if binding.path:
                yield from self._unpacked(binding.value, binding.path, scope, frame, depth)
            elif not isinstance(binding.value, ast.Name):
                yield from self._expression(binding.value, scope, frame, statement, depth + 1)

    def _unpacked(
        self, node: ast.expr, path: tuple[int, ...], scope: Scope, frame: Frame, depth: int
    ) -> Iterator[NoSample]:
        """`box, points = self.detect(face)`, where a helper has None at that place of what it returns."""
        if len(path) != 1 or path[0] < 0 or depth >= DEEPEST:
            return
        if isinstance(node, ast.Tuple) and isinstance(node.elts[path[0]], ast.Constant | ast.Call):
            yield from self._expression(node.elts[path[0]], scope, frame, node, depth + 1)
        for inner in self._entered(node, scope, frame) if isinstance(node, ast.Call) else ():
            for statement in inner.scope.returns:
                given = statement.value
                if isinstance(given, ast.Tuple) and path[0] < len(given.elts):
                    part = given.elts[path[0]]
                    if isinstance(part, ast.Constant) and not self._is_excluded(statement, inner.scope, inner):
                        yield from self._expression(part, inner.scope, inner, statement, depth + 1)

    def _kept(
        self, name: str, made: ast.expr, scope: Scope, frame: Frame, statement: ast.AST, depth: int
    ) -> Iterator[NoSample]:
        """The entries of a dict that is filled step by step which can be None in the end."""
        changes = [c for c in scope.module.changes.get(name, ()) if scope.module.scope_of(c.target) is scope]
        if any(change.kind != "item" or not _is_plainly_set(change, made) for change in changes):
            return
        loads = [load for load in scope.module.loads(name) if scope.module.scope_of(load).enclosing_function() is scope]
        if any(isinstance(up(load), ast.Call | ast.keyword) for load in loads):
            return  # somebody else may fill it
        sets: list[tuple[Any, Any, ast.AST]] = [
            *((key, value, made) for key, value in containers.written_entries(made) or ()),
            *((c.node.slice, c.value, c.node) for c in changes if isinstance(c.node, ast.Subscript)),
        ]
        known = {(ast.unparse(fact.test), fact.holds) for fact in _facts(statement)}
        for index, (key, value, place) in enumerate(sets):
            if not isinstance(key, ast.Constant) or self._is_excluded(place, scope, frame):
                continue
            later = [p for k, _, p in sets[index + 1 :] if isinstance(k, ast.Constant) and k.value == key.value]
            before = known | {(ast.unparse(fact.test), fact.holds) for fact in _facts(place)}
            tests = [[f for f in _facts(p) if (ast.unparse(f.test), f.holds) not in before] for p in later]
            if len(later) > 1 or [] in tests:
                continue
            if any(isinstance(n, ast.Name) and n.id == name for fs in tests for f in fs for n in ast.walk(f.test)):
                continue  # `if sample["mask"] is None:`
            if any(self._is_not_so(Condition(f.test, not f.holds), scope, frame) for fs in tests for f in fs):
                continue
            if isinstance(value, ast.Constant) and value.value is None:
                yield NoSample(statement, scope.module, f"{scope.name}() returns None in it")
                return
            if isinstance(value, ast.Call | ast.Name | ast.IfExp) and not later:
                yield from self._expression(value, scope, frame, statement, depth + 1)

    def _is_asked_for(self, name: str, use: ast.AST) -> bool:
        """Whether a test of a variable stands before it is returned."""
        return any(
            isinstance(part, ast.Name) and part.id == name for fact in _facts(use) for part in ast.walk(fact.test)
        )

    def _is_excluded(self, node: ast.AST, scope: Scope, frame: Frame) -> bool:
        """Whether a place is known not to be reached, by what the dataset was made with."""
        if self.evaluator.never(node, frame):
            return True
        return any(self._is_not_so(fact, scope, frame) for fact in _facts(node))

    def _is_not_so(self, fact: Condition, scope: Scope, frame: Frame) -> bool:
        test, holds = fact
        if _asks_for_range(test, self.indices.get(scope, set())):
            return True
        if isinstance(test, ast.Attribute) and dotted(test.value) == receiver_name(scope):
            return all(truth_of(value) is not holds for value in self.evaluator.values(test, frame))
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Attribute):
            return False
        other = test.comparators[0]
        asks = isinstance(test.ops[0], ast.Is) if holds else isinstance(test.ops[0], ast.IsNot)
        if not asks or not isinstance(other, ast.Constant) or other.value is not None:
            return False
        values = self.evaluator.values(test.left, frame)
        return not any(isinstance(v, Unknown) or (isinstance(v, Constant) and v.value is None) for v in values)


def is_stub(node: ast.FunctionDef) -> bool:
    """Whether a function only stands for those of subclasses."""
    for statement in node.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not isinstance(statement, ast.Pass | ast.Raise) and not is_text:
            return False
    return True


def _facts(node: ast.AST) -> list[Condition]:
    return [fact for condition in conditions(node) for fact in facts(condition)]


def _index_of(method: Scope) -> set[str]:
    return set(list(parameters(method.node))[1:2])  # type: ignore[arg-type]


def _asks_for_range(test: ast.expr, indices: set[str]) -> bool:
    """`if index >= len(self)`: a loader never asks for such a sample."""
    return (
        isinstance(test, ast.Compare)
        and dotted(test.left) in indices
        and isinstance(test.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE)
    )


def _is_filled_later(name: str, scope: Scope) -> bool:
    """Whether entries of a dict are put in, or taken out, after it was made."""
    return any(
        change.kind in ("item", "delete", "method")
        for change in scope.module.changes.get(name, ())
        if scope.module.scope_of(change.target) is scope
    )


def _is_plainly_set(change: Change, made: ast.expr) -> bool:
    """`sample["mask"] = value` behind the dict, in no loop or try."""
    node = change.node
    if (
        not isinstance(node, ast.Subscript)
        or not isinstance(node.slice, ast.Constant)
        or position(node) < position(made)
    ):
        return False
    if change.value is None or change.path:
        return False
    for above in ancestors(node):
        if isinstance(above, FUNCTIONS):
            break
        if not isinstance(above, ast.If | ast.Assign | ast.AnnAssign | ast.With):
            return False
    return True


def _is_looped_away(name: str, scope: Scope) -> bool:
    """`image = None` before `while image is None:`, or before a loop that sets it where it is None."""
    for node in body_nodes(scope.node):
        if isinstance(node, ast.While) and mentions(node.test, {name}):
            return True
        if isinstance(node, ast.For) and any(
            isinstance(test, ast.If) and ast.unparse(test.test) == f"{name} is None" and _sets(test.body, name)
            for test in node.body
        ):
            return True
    return False


def _may_be_cut_off(binding: Binding, earlier: Binding) -> bool:
    """Whether a handler goes on where what binds a variable fails, so that it keeps what it had before."""
    for above in ancestors(binding.node):
        if any(above is other for other in ancestors(earlier.node)) or isinstance(above, ast.For | ast.While):
            return False
        if isinstance(above, ast.Try) and any(item in above.body for item in (binding.node, *ancestors(binding.node))):
            return any(_goes_on_without(handler, binding.name) for handler in above.handlers)
    return False


def _goes_on_without(handler: ast.ExceptHandler, name: str) -> bool:
    """Whether a handler neither leaves nor gives a variable something else."""
    return not any(
        isinstance(part, ast.Raise | ast.Return | ast.Continue | ast.Break)
        or (isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store))
        or (isinstance(part, ast.Call) and dotted(part.func) in EXITS)
        for part in ast.walk(handler)
    )


def _is_replaced(binding: Binding, use: ast.Name, scope: Scope) -> bool:
    """Whether a test of a variable stands behind what binds it, and gives it something else: `if x is None: x = 0`."""
    return any(
        isinstance(node, ast.If)
        and position(binding.node) < position(node) < position(use)
        and mentions(node.test, {use.id})
        and _sets(node.body, use.id)
        for node in body_nodes(scope.node)
    )


def _sets(block: Sequence[ast.stmt], name: str) -> bool:
    return any(isinstance(s, ast.Assign) and any(mentions(target, {name}) for target in s.targets) for s in block)


def _leaves(block: Sequence[ast.stmt], never_returns: Callable[[ast.Call], bool]) -> bool:
    """Whether the end of a function's body is never reached."""
    last = next((statement for statement in block if isinstance(statement, ast.Return | ast.Raise)), block[-1])
    if isinstance(last, ast.While):
        return is_endless(last) and not any(_is_break_of(node, last) for node in ast.walk(last))
    if isinstance(last, ast.For):
        return _finds_the_part(last)
    if isinstance(last, ast.If):
        if last.orelse:
            return _leaves(last.body, never_returns) and _leaves(last.orelse, never_returns)
        return _leaves(last.body, never_returns) and _covers(last)
    if isinstance(last, ast.With | ast.AsyncWith):
        return _leaves(last.body, never_returns) and not any(map(_suppresses, last.items))
    if isinstance(last, ast.Try):
        handled = all(_leaves(handler.body, never_returns) for handler in last.handlers)
        if last.finalbody and _leaves(last.finalbody, never_returns):
            return True
        return handled and (
            _leaves(last.body, never_returns) or bool(last.orelse and _leaves(last.orelse, never_returns))
        )
    if isinstance(last, ast.Match):
        return _is_exhaustive(last) and all(_leaves(case.body, never_returns) for case in last.cases)
    if isinstance(last, ast.Assert):
        return isinstance(last.test, ast.Constant) and not last.test.value
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and never_returns(last.value):
        return True
    return never_continues([last])


def _suppresses(item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "suppress"


def _finds_the_part(loop: ast.For) -> bool:
    """`for part in parts: if i < len(part): return part[i]`, with `i -= len(part)`: every index is in one of them."""
    counted = {
        target.id
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign | ast.Assign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
        and any(isinstance(part, ast.Sub) for part in ast.walk(node))
        and (isinstance(node, ast.AugAssign) or mentions(node.value, {target.id}))
    }
    return any(
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and never_continues(node.body)
        and (mentions(node.test, counted) or _asks_for_bound(node.test, loop))
        for node in loop.body
    )


def _asks_for_bound(test: ast.Compare, loop: ast.For) -> bool:
    """`if drawn <= shares[i]:`: every number that is drawn has its bound, which no index needs to have."""
    bound = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    function = next(outer for outer in ancestors(loop) if isinstance(outer, FUNCTIONS))
    sides = [test.left, *test.comparators]
    return (
        all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in test.ops)
        and any(isinstance(side, ast.Name) and side.id not in {*bound, *parameters(function)} for side in sides)
        and any(mentions(side, bound) for side in sides)
    )


def _covers(last: ast.If) -> bool:
    """`if a: return … elif not a: return …`: the second test is the first one's opposite."""
    outer: Any = up(last)
    if not isinstance(outer, ast.If) or last not in outer.orelse:
        return False
    opposite = ast.unparse(ast.UnaryOp(ast.Not(), outer.test))
    return ast.unparse(last.test) == opposite


def _is_exhaustive(match: ast.Match) -> bool:
    last = match.cases[-1]
    return last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None


def _is_break_of(node: ast.AST, loop: ast.While) -> bool:
    if not isinstance(node, ast.Break):
        return False
    return next(a for a in ancestors(node) if isinstance(a, (ast.While, ast.For, *FUNCTIONS))) is loop
