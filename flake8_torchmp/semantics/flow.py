"""Order and conditions inside one scope: which bindings a use can see, and which tests hold where a node runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from .nodes import COMPREHENSIONS, FUNCTIONS, ancestors, dotted, position, statement_of, up
from .scopes import Binding, Scope

LOOPS = (ast.For, ast.AsyncFor, ast.While)
EXITS = frozenset(("sys.exit", "exit", "quit", "os._exit", "os.abort", "os.execv", "os.execvp", "parser.exit"))


class Condition(NamedTuple):
    """A test, and what it is known to be."""

    test: ast.expr
    holds: bool


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements that a statement holds directly."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def block_of(statement: ast.AST) -> list[ast.stmt]:
    """The list that a statement stands in."""
    parent = up(statement)
    if parent is not None:
        for block in blocks(parent):
            if any(item is statement for item in block):
                return block
    return []


def earlier(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that stand before a node, on each way to it in its function."""
    child: ast.AST | None = node
    while child is not None and not isinstance(child, FUNCTIONS):
        for statement in block_of(child) if isinstance(child, ast.stmt) else ():
            if statement is child:
                break
            yield statement
        child = up(child)


def never_continues(block: Sequence[ast.stmt]) -> bool:
    """Whether what follows a block is never reached through it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return dotted(last.value.func) in EXITS
    if isinstance(last, ast.If):
        return never_continues(last.body) and never_continues(last.orelse)
    if isinstance(last, ast.With | ast.AsyncWith):
        return never_continues(last.body)
    if isinstance(last, ast.Try):
        return never_continues(last.finalbody) or (
            never_continues(last.orelse or last.body) and all(never_continues(h.body) for h in last.handlers)
        )
    return False


def conditions(node: ast.AST) -> Iterator[Condition]:
    """What is known to hold where a node runs, the nearest first; up to the function or module that holds it."""
    child, parent = node, up(node)
    while parent is not None:
        if isinstance(child, ast.stmt):
            yield from _decided_before(child, parent)
        yield from _decided_by(child, parent)
        if isinstance(parent, FUNCTIONS):
            return
        child, parent = parent, up(parent)


def _decided_by(child: ast.AST, parent: Any) -> Iterator[Condition]:
    if isinstance(parent, ast.If | ast.While):
        if child is not parent.test:
            yield Condition(parent.test, any(child is item for item in parent.body))
    elif isinstance(parent, ast.For):
        if any(child is item for item in parent.body) and (number := _counted_to(parent.iter)) is not None:
            yield Condition(number, True)  # it is not 0
    elif isinstance(parent, ast.match_case):
        if isinstance(child, ast.stmt):
            yield from _matched_by(parent, up(parent))
    elif isinstance(parent, ast.IfExp):
        if child is not parent.test:
            yield Condition(parent.test, child is parent.body)
    elif isinstance(parent, ast.BoolOp):
        for value in parent.values:
            if value is child:
                break
            yield Condition(value, isinstance(parent.op, ast.And))
    elif isinstance(parent, COMPREHENSIONS) and not isinstance(child, ast.comprehension):
        for generator in parent.generators:
            for test in generator.ifs:
                yield Condition(test, True)


def _counted_to(items: ast.expr) -> ast.expr | None:
    """`n` of `range(n)`"""
    if not isinstance(items, ast.Call) or dotted(items.func) != "range" or len(items.args) != 1:
        return None
    return items.args[0] if isinstance(items.args[0], ast.Name | ast.Attribute) else None


def _matched_by(case: ast.match_case, match: Any) -> Iterator[Condition]:
    """What a case of a match says of the subject: it is one of its values, and none of those of the cases before."""
    for other in match.cases:
        test = _compared(match.subject, other.pattern)
        if test is not None and (other is case or other.guard is None):
            yield Condition(test, other is case)
        if other is case:
            return


def _compared(subject: ast.expr, pattern: Any) -> ast.Compare | None:
    """`case "linux" | "darwin":` as `subject in ("linux", "darwin")`, the same test each time."""
    if not hasattr(pattern, "_torchmp_test"):
        pattern._torchmp_test = _as_comparison(subject, pattern)
    test: ast.Compare | None = pattern._torchmp_test
    return test


def _as_comparison(subject: ast.expr, pattern: ast.pattern) -> ast.Compare | None:
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(subject, [ast.Eq()], [pattern.value])
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)])
    if isinstance(pattern, ast.MatchOr):
        values = [choice.value for choice in pattern.patterns if isinstance(choice, ast.MatchValue)]
        if len(values) == len(pattern.patterns):
            return ast.Compare(subject, [ast.In()], [ast.Tuple(values, ast.Load())])
    return None


def _decided_before(statement: ast.stmt, parent: ast.AST) -> Iterator[Condition]:
    """Tests of earlier statements of the same block that leave it on one side."""
    for block in blocks(parent):
        if not any(item is statement for item in block):
            continue
        for earlier in block:
            if earlier is statement:
                return
            if isinstance(earlier, ast.Assert):
                yield Condition(earlier.test, True)
            elif isinstance(earlier, ast.If):
                if never_continues(earlier.body):
                    yield Condition(earlier.test, False)
                elif never_continues(earlier.orelse):
                    yield Condition(earlier.test, True)


def facts(condition: Condition) -> Iterator[Condition]:
    """A condition taken apart: what `a and not b` says of a and of b, when it holds."""
    test, holds = condition
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from facts(Condition(test.operand, not holds))
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:
        for value in test.values:
            yield from facts(Condition(value, holds))
    else:
        yield condition


def facts_at(node: ast.AST) -> list[Condition]:
    """All that is known to hold where a node runs, taken apart."""
    return [fact for condition in conditions(node) for fact in facts(condition)]


def contradict(some: list[Condition], others: list[Condition]) -> bool:
    """Whether the same test would have to hold and not to hold."""
    known = {_spelled(fact) for fact in some}
    return any((text, not holds) in known for text, holds in map(_spelled, others)) if known else False


def _spelled(fact: Condition) -> tuple[str, bool]:
    """A test as a text, `n != 0` and `n > 0` like `n` itself."""
    test, holds = fact
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq | ast.Gt | ast.Eq):
        other = test.comparators[0]
        if len(test.ops) == 1 and isinstance(other, ast.Constant) and other.value == 0:
            return ast.unparse(test.left), holds is not isinstance(test.ops[0], ast.Eq)
    return ast.unparse(test), holds


def caught_around(node: ast.AST) -> Iterator[str]:
    """The last names of the exceptions that are caught around a node in its function; `` for a bare except."""
    child, parent = node, up(node)
    while parent is not None and not isinstance(parent, FUNCTIONS):
        if isinstance(parent, ast.Try) and any(child is item for item in parent.body):
            for handler in parent.handlers:
                yield from caught_by(handler)
        elif isinstance(parent, ast.With | ast.AsyncWith):
            for item in parent.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] == "suppress":
                    for kind in call.args:
                        yield dotted(kind).rpartition(".")[2]
        child, parent = parent, up(parent)


def caught_by(handler: ast.ExceptHandler) -> list[str]:
    """The last names of the exceptions that a handler takes; `` for a bare except."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [dotted(kind).rpartition(".")[2] if kind is not None else "" for kind in kinds]


def is_in_block(node: ast.AST, block: Sequence[ast.stmt]) -> bool:
    """Whether a node is one of the statements of a block, or stands in one."""
    return any(outer is statement for statement in block for outer in (node, *ancestors(node)))


def following(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements behind the one that a node stands in, in its block."""
    place = statement_of(node)
    return (statement for statement in block_of(place) if position(statement) > position(place))


def is_in_handler(node: ast.AST) -> bool:
    """Whether a node runs only where something in its function has failed."""
    inside = takewhile(lambda outer: not isinstance(outer, FUNCTIONS), ancestors(node))
    return any(isinstance(outer, ast.ExceptHandler) for outer in inside)


def is_endless(loop: ast.AST) -> bool:
    """`while True:`"""
    return isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)


def reaching(bindings: Sequence[Binding], use: ast.AST, scope: Scope, use_scope: Scope) -> list[Binding]:
    """The bindings of one name of `scope` that a use can see, in source order."""
    if len(bindings) == 1:
        return list(bindings)
    key = ("reaching", use, id(bindings), use_scope)
    known: list[Binding] | None = scope.module.memo.get(key)
    if known is None:
        known = scope.module.memo[key] = _reaching(bindings, use, scope, use_scope)
    return known


def _reaching(bindings: Sequence[Binding], use: ast.AST, scope: Scope, use_scope: Scope) -> list[Binding]:
    place: ast.AST | None = use
    later_too = False
    if use_scope is not scope:
        inner = use_scope
        while inner.parent is not None and inner.parent is not scope:
            later_too = later_too or not isinstance(inner.node, COMPREHENSIONS)
            inner = inner.parent
        later_too = later_too or not isinstance(inner.node, COMPREHENSIONS)
        if later_too and scope.is_module:
            return reaching_end(bindings)
        place = inner.node
    assert place is not None
    use_position = position(use)
    chain = [place, *ancestors(place)]
    loops = [item for item in chain if isinstance(item, LOOPS)]
    seen = [
        binding
        for binding in bindings
        if position(binding.node) < use_position
        or later_too
        or any(_holds(loop, binding.node) for loop in loops)
        or (binding.kind == "for" and any(item is up(binding.node) for item in chain))
    ]
    earlier = [
        binding for binding in seen if position(binding.node) < use_position and not _is_own_target(binding, place)
    ]
    killers = [binding for binding in earlier if _dominates(binding, chain)]
    covering = _covering(earlier, chain) if len(earlier) > 2 else ()
    last = max((*(position(binding.node) for binding in killers), *map(position, covering)), default=(-1, -1))
    found = [
        binding
        for binding in seen
        if (position(binding.node) >= last or binding.kind == "augmented")
        and not _excluded(binding, chain, loops)
        and not _is_own_target(binding, place)
    ]
    return found or list(bindings)


def reaching_end(bindings: Sequence[Binding]) -> list[Binding]:
    """What a function sees of a module's name: what is bound when the module has been imported, and by functions."""
    last = (-1, -1)
    for binding in bindings:
        if binding.kind != "augmented" and _stands_at_top(binding):
            last = max(last, position(binding.node))
    return [b for b in bindings if position(b.node) >= last or b.kind == "augmented" or _in_function(b.node)]


def _in_function(node: ast.AST) -> bool:
    return any(isinstance(item, FUNCTIONS) for item in ancestors(node))


def _stands_at_top(binding: Binding) -> bool:
    return isinstance(up(_through_with(statement_of(binding.node))), ast.Module)


def _through_with(statement: ast.AST) -> ast.AST:
    parent = up(statement)
    while isinstance(parent, ast.With | ast.AsyncWith):
        statement, parent = parent, up(parent)
    return statement


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return node is outer or any(item is outer for item in ancestors(node))


def _is_own_target(binding: Binding, use: ast.AST) -> bool:
    """`x = f(x)`, `class X(X)`: the name is not bound yet where what is bound to it is made."""
    node: Any = binding.node
    if binding.kind == "class":
        return any(_holds(part, use) for part in (*node.bases, *node.keywords))
    value = binding.value
    return value is not None and binding.kind in ("assign", "unpack", "walrus") and _holds(value, use)


_PLAINLY = frozenset("assign unpack import from def class".split())
_BINDING = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def _dominates(binding: Binding, chain: Sequence[ast.AST]) -> bool:
    """Whether every way to the use passes this binding."""
    if binding.kind == "augmented":
        return False
    if binding.kind == "parameter":
        return True
    statement: ast.AST = statement_of(binding.node)
    if isinstance(statement, LOOPS):
        return any(item is statement for item in chain)
    if isinstance(statement, ast.With | ast.AsyncWith) and any(item is statement for item in chain):
        return True
    statement = _through_with(statement)
    if any(item is up(statement) for item in chain):
        block = block_of(statement)
        return any(item is candidate for candidate in block for item in chain)
    return False


def _covering(bindings: Sequence[Binding], chain: Sequence[ast.AST]) -> list[ast.If]:
    """The `if` statements before a use that bind a name whichever way they go."""
    plain = [b for b in bindings if b.kind in _PLAINLY and (b.value is not None or b.kind != "assign")]
    binding_it = [statement_of(binding.node) for binding in plain]
    around = {above: None for statement in binding_it for above in ancestors(statement) if isinstance(above, ast.If)}
    return [
        outer
        for outer in around
        if any(item is up(outer) for item in chain)
        and any(item is candidate for candidate in block_of(outer) if candidate is not outer for item in chain)
        and _binds_always([outer], binding_it)
    ]


def _binds_always(block: Sequence[ast.stmt], binding_it: Sequence[ast.AST]) -> bool:
    """Whether a block binds a name, or does not go on."""
    for statement in block:
        if isinstance(statement, ast.If):
            if _binds_always(statement.body, binding_it) and _binds_always(statement.orelse, binding_it):
                return True
        elif isinstance(statement, ast.With | ast.AsyncWith):
            if _binds_always(statement.body, binding_it):
                return True
        elif isinstance(statement, _BINDING) and any(statement is known for known in binding_it):
            return True
    return never_continues(block)


def _excluded(binding: Binding, chain: Sequence[ast.AST], loops: Sequence[ast.AST]) -> bool:
    """Whether the binding lies on a way that cannot lead to the use: the other branch, or one that leaves."""
    child: ast.AST = binding.node
    for parent in ancestors(binding.node):
        for index, item in enumerate(chain):
            if item is parent:
                repeated = any(_holds(loop, parent) for loop in loops)
                return isinstance(parent, ast.If) and not repeated and _on_other_branch(parent, child, chain[index - 1])
        if isinstance(parent, ast.If | ast.With | ast.AsyncWith | ast.Try | ast.ExceptHandler):
            for block in blocks(parent):
                if any(item is child for item in block) and _leaves(block):
                    return True
        child = parent
    return False


def _leaves(block: Sequence[ast.stmt]) -> bool:
    return never_continues(block) and not isinstance(block[-1], ast.Continue | ast.Break)


def _on_other_branch(parent: ast.If, first: ast.AST, second: ast.AST) -> bool:
    if first is parent.test or second is parent.test:
        return False
    return any(item is first for item in parent.body) != any(item is second for item in parent.body)
