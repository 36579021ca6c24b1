"""Handlers that catch everything, and what they make of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TypeGuard

from flake8_torchmp.semantics.calls import receiver_name
from flake8_torchmp.semantics.flow import block_of
from flake8_torchmp.semantics.nodes import (
    FUNCTIONS,
    ancestors,
    body_nodes,
    dotted,
    is_none,
    last_name,
    position,
    root_name,
    statement_of,
    up,
)
from flake8_torchmp.semantics.scopes import Scope

from . import courtesies
from .exits import is_signal_handler
from .stand_ins import BLANK, gives_up_blank, hides_data

BROAD = frozenset(("Exception", "BaseException"))
TELLING = frozenset(
    "print log exception error warning warn info debug critical fatal print_exc print_exception format_exc exc_info "
    "capture_exception write put put_nowait send append add set sleep exit _exit abort kill fail skip update "
    "emit set_trace breakpoint post_mortem ExceptionWrapper".split()
)
"""Calls that tell somebody, keep what happened, or try again later, by their last name."""
ABOUT_INDEX = frozenset("isinstance is_tensor hasattr type abs int len item".split())
"""Calls that ask what an index is."""
KEEPING = frozenset("put put_nowait send append add".split())
TIDYING = frozenset(
    "close remove unlink rmtree rmdir terminate join shutdown kill flush release stop cancel disconnect chmod utime "
    "get get_nowait recv poll set_num_threads setNumThreads setlocale nice sched_setaffinity signal "
    "set_sharing_strategy retain_grad head".split()
)
"""Calls whose failure changes no sample."""
SAVING = TIDYING | frozenset(
    "save savez savez_compressed dump makedirs mkdir touch rename replace copy copyfile move write write_text "
    "write_bytes".split()
)
"""Calls that keep what is there already for the next time."""
ASKING_SYSTEM = frozenset(
    "sched_getaffinity cpu_count process_cpu_count getloadavg virtual_memory get_worker_info get_rank get_world_size "
    "getenv gethostname get_ident".split()
)
"""Calls that ask what the machine has, which worker this is, or how it was started."""
ANSWERING = ASKING_SYSTEM | {"len", "int", "max", "min", "float", "get"}
"""And what is done with the answer."""


def swallowing(scope: Scope, is_near: bool, prepares: bool) -> Iterator[ast.AST]:
    """The handlers of a function that hide a failure behind what looks like data; broad `suppress` likewise.

    A `return` in a `finally` drops whatever was raised, and so does an `__exit__` that only returns True.
    """
    if scope.name == "__exit__" and (answer := _always_true(scope)) is not None:
        yield answer
    for node in body_nodes(scope.node):
        if isinstance(node, ast.Try) and (_is_told_outside(node) or _is_at_the_end(node, scope)):
            continue
        if isinstance(node, ast.Try) and not _is_optional(node.body, scope) and not _leaves_marker(node):
            yield from (h for h in node.handlers if _is_broad(h.type) and _hides(h, node, scope, is_near, prepares))
            is_caught = any(_is_broad(handler.type) for handler in node.handlers)
            if not is_caught and node.finalbody and isinstance(node.finalbody[-1], ast.Return):
                yield node.finalbody[-1]
        elif isinstance(node, ast.With) and not _is_optional(node.body, scope):
            suppressing = scope.module.names_of("suppress")
            calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
            broad = [c for c in calls if last_name(c.func) in suppressing and any(map(_is_broad, c.args))]
            receivers = _receivers(scope) if broad else set()
            if not broad or courtesies.improves(node.body, (), scope, receivers):
                continue
            if hides_data(node.body, (), scope, receivers, is_near):
                yield from broad


def is_told_before(node: ast.AST) -> bool:
    """Whether what stands right before something in its block tells why: `logger.error(text); sys.exit(1)`."""
    place = statement_of(node)
    told = (statement.value for statement in block_of(place) if isinstance(statement, ast.Expr))
    return any(isinstance(call, ast.Call) and position(call) < position(place) and _tells(call) for call in told)


def _hides(handler: ast.ExceptHandler, around: ast.Try, scope: Scope, is_near: bool, prepares: bool) -> bool:
    blocks = around.body, handler.body
    receivers = _receivers(scope)
    if gives_up_blank(*blocks, scope, receivers, is_near):
        return not courtesies.gives_reason(handler, scope.module.lines)
    return (
        _goes_on_silently(handler, around, scope)
        and not _is_thought_of(handler, around, scope)
        and (prepares or hides_data(*blocks, scope, receivers, is_near))
    )


def _is_thought_of(handler: ast.ExceptHandler, around: ast.Try, scope: Scope) -> bool:
    """Whether what goes on after a failure is what the author means to go on with."""
    return (
        courtesies.is_usual(handler, around)
        or (isinstance(handler.body[-1], ast.Continue) and all(map(courtesies.only_draws, around.body)))
        or courtesies.only_looks(around.body)
        or courtesies.only_reports(around.body, handler.body)
        or courtesies.notes_what_is_a_number(around.body, handler.body, scope)
        or courtesies.gives_what_was_asked_for(handler.body, around.body, scope)
        or courtesies.is_done_again(handler.body, around.body)
        or courtesies.is_tried_otherwise(around)
        or courtesies.improves(around.body, handler.body, scope, _receivers(scope))
        or courtesies.gives_reason(handler, scope.module.lines)
    )


def _is_at_the_end(node: ast.Try, scope: Scope) -> bool:
    """Whether a block tidies up: in a `__del__`, in what `atexit` or a signal calls."""
    for outer in ancestors(node):
        if isinstance(outer, FUNCTIONS):
            function = scope.module.scopes[outer]
            if function.name == "__del__" or is_signal_handler(function):
                return True
            if function is scope:
                break
    return False


def _always_true(scope: Scope) -> ast.Return | None:
    """The one `return True` of an `__exit__` that looks at nothing and tells nobody."""
    node = scope.node
    if not isinstance(node, ast.FunctionDef) or len(scope.returns) != 1 or scope.returns[0] is not node.body[-1]:
        return None
    (answer,) = scope.returns
    given = {argument.arg for argument in (*node.args.args[1:], node.args.vararg) if argument is not None}
    if not isinstance(answer.value, ast.Constant) or answer.value.value is not True:
        return None
    for part in body_nodes(node):
        if isinstance(part, ast.Raise | ast.AugAssign) or (isinstance(part, ast.Name) and part.id in given):
            return None
        if isinstance(part, ast.Call) and _tells(part):
            return None
    return answer


def _is_told_outside(node: ast.Try) -> bool:
    """Whether it stands in a handler that raises or tells all the same: what fails there is how it is reported."""
    inner: ast.AST = node
    for outer in ancestors(node):
        if isinstance(outer, FUNCTIONS):
            return False
        if isinstance(outer, ast.ExceptHandler):
            others = (part for statement in outer.body if statement is not inner for part in ast.walk(statement))
            return any(isinstance(p, ast.Raise) or (isinstance(p, ast.Call) and _tells(p)) for p in others)
        inner = outer
    return False


def _is_broad(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    if isinstance(kind, ast.Tuple):
        return any(map(_is_broad, kind.elts))
    return dotted(kind) in BROAD


def _is_optional(body: Sequence[ast.stmt], scope: Scope) -> bool:
    """Whether a block is harmless, or keeps for later what its function gives all the same."""
    gives = any(given.value is not None and not _is_marker(given.value) for given in scope.returns)
    done = list(_done_in(body, body, scope))
    return _is_harmless(done) or (gives and all(map(_saves, done)))


def _done_in(body: Sequence[ast.stmt], around: Sequence[ast.stmt], scope: Scope) -> Iterator[ast.stmt]:
    """The statements of a block but for those that only get ready, with what libraries offer, for the others."""
    for statement in body:
        if isinstance(statement, ast.If) and not statement.orelse and _asks_libraries(statement.test, scope):
            yield from _done_in(statement.body, around, scope)
        elif not _gets_ready(statement, around, scope):
            yield statement


def _gets_ready(statement: ast.stmt, around: Sequence[ast.stmt], scope: Scope) -> bool:
    """`path = os.path.join(root, name)`, where nobody reads `path` after the block."""
    if not isinstance(statement, ast.Assign) or not all(isinstance(target, ast.Name) for target in statement.targets):
        return False
    names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return _asks_libraries(statement.value, scope) and all(
        any(outer is item for item in around for outer in ancestors(load))
        for name in names
        for load in scope.module.loads(name)
        if scope.module.scope_of(load).enclosing_function() is scope
    )


def _asks_libraries(value: ast.expr, scope: Scope) -> bool:
    calls = [part for part in ast.walk(value) if isinstance(part, ast.Call)]
    return all(_is_module(root_name(call.func), scope) for call in calls)


def _saves(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.With):
        return all(map(_saves, statement.body))
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in SAVING


def _is_harmless(body: Sequence[ast.stmt]) -> bool:
    """Whether a block only imports, tidies up or tries settings."""
    return all(
        isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass)
        or (
            isinstance(statement, ast.Expr | ast.Assign)
            and isinstance(statement.value, ast.Call)
            and last_name(statement.value.func) in TIDYING
        )
        or _asks_system(statement)
        or courtesies.only_notes(statement)
        or courtesies.only_passes_on(statement)
        for statement in body
    )


def _leaves_marker(node: ast.Try) -> bool:
    """Whether all that a block is to find was set to None right before it: whoever reads it can tell."""
    targets = [t for s in node.body if isinstance(s, ast.Assign) for t in s.targets]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    block = block_of(node)
    before = block[: next(place for place, item in enumerate(block) if item is node)]
    marked = {
        target.id
        for statement in before
        if isinstance(statement, ast.Assign) and _is_marker(statement.value)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    return len(names) == len(targets) == len(node.body) and bool(names) and names <= marked


def _asks_system(statement: ast.stmt) -> bool:
    names = {last_name(part.func) for part in ast.walk(statement) if isinstance(part, ast.Call)}
    asks = bool(names & ASKING_SYSTEM) or any(dotted(part) == "os.environ" for part in ast.walk(statement))
    return isinstance(statement, ast.Assign) and asks and names <= ANSWERING


def _goes_on_silently(handler: ast.ExceptHandler, around: ast.Try, scope: Scope) -> bool:
    receivers = _receivers(scope)
    tried = {
        part.id
        for statement in around.body
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and part.id not in receivers and not _is_module(part.id, scope)
    }
    objects = {name for name in tried if name not in scope.module.scope.bindings}
    found = {part.id for s in around.body for part in ast.walk(s) if _is_stored_name(part)}
    if _sets_flag(handler, around):
        return False
    for statement in handler.body:
        if isinstance(statement, ast.Raise | ast.Break | ast.Assert | ast.AugAssign | ast.Delete | ast.Global):
            return False
        if isinstance(statement, ast.Return) and statement.value is None and _gives_nothing(scope):
            continue  # it ends as it always does
        if isinstance(statement, ast.Return | ast.Assign) and _is_marker(statement.value):
            return False
        if isinstance(statement, ast.Return) and _answers_by_nothing(scope):
            return False  # what comes back at all says that it went wrong
        for part in ast.walk(statement):
            if isinstance(part, ast.Raise | ast.Yield | ast.AugAssign):
                return False
            if isinstance(part, ast.Name) and part.id == handler.name:
                return False
            if isinstance(part, ast.Call) and (_tells(part) or _tries_otherwise(part, tried, objects)):
                return False
            if isinstance(part, ast.Subscript) and dotted(part.value) in receivers:
                return False  # another sample, which is TMP904's
            if _is_another_entry(part, objects) or _searches(part, found):
                return False
    return True


def _sets_flag(handler: ast.ExceptHandler, around: ast.Try) -> bool:
    """Whether a variable says how it went: `status = 0` at the end of what is tried, `status = -1` in the handler."""
    last = (around.orelse or around.body)[-1]
    flags = {dotted(target) for target in last.targets} if _sets_constant(last) else set()
    return any(_sets_constant(s) and any(dotted(target) in flags for target in s.targets) for s in handler.body)


def _sets_constant(statement: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant | ast.UnaryOp)


def _gives_nothing(scope: Scope) -> bool:
    """Whether nobody can tell by what a function gives how it ended."""
    return not scope.is_generator and all(s.value is None or is_none(s.value) for s in scope.returns)


def _answers_by_nothing(scope: Scope) -> bool:
    """Whether a function gives None wherever it does not handle a failure."""
    usual = [s for s in scope.returns if not any(isinstance(outer, ast.ExceptHandler) for outer in ancestors(s))]
    return bool(usual) and all(s.value is None or is_none(s.value) for s in usual)


def _receivers(scope: Scope) -> set[str]:
    """The names for the object whose method a function is, or stands in."""
    names: set[str] = set()
    function: Scope | None = scope
    while function is not None:
        if function.is_function and receiver_name(function):
            names.add(receiver_name(function))
        function = function.parent
    return names


def _is_module(name: str, scope: Scope) -> bool:
    bindings = [*scope.module.scope.bindings.get(name, ()), *scope.bindings.get(name, ())]
    return any(binding.kind == "import" for binding in bindings)


def _is_marker(value: ast.expr | None) -> bool:
    """None, a bool or something with one in it: whoever gets it can tell."""
    if value is None:
        return True
    if isinstance(value, ast.Tuple | ast.List):
        return any(isinstance(e, ast.Constant) and (e.value is None or isinstance(e.value, bool)) for e in value.elts)
    return isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, bool))


def _tells(call: ast.Call) -> bool:
    name = last_name(call.func)
    if _keeps_filler(call):
        return False
    return name in TELLING or name.startswith(("log", "warn", "report", "record", "__getitem__"))


def _keeps_filler(call: ast.Call) -> bool:
    """`results.put(0.0)`"""
    return last_name(call.func) in KEEPING and bool(call.args) and all(map(_is_filler, call.args))


def _is_filler(value: ast.expr) -> bool:
    """A number or blank tensor that looks like any other result."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, float | int) and not isinstance(value.value, bool)
    return isinstance(value, ast.Call) and last_name(value.func) in BLANK


def _tries_otherwise(call: ast.Call, tried: set[str], objects: set[str]) -> bool:
    """A call that is given what the failing code was given, or asks the same object: a second way to the same thing."""
    name = last_name(call.func)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if _keeps_filler(call):
        return False
    if name in BLANK:
        return name in ("tensor", "array") and any(
            isinstance(part, ast.comprehension) and isinstance(part.iter, ast.Name) and part.iter.id in tried
            for argument in given
            for part in ast.walk(argument)
        )
    if name == "len" and any(isinstance(a, ast.Call) and last_name(a.func) in BLANK for a in ancestors(call)):
        return False  # how large the blank is
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id in objects:
        return True
    return any(isinstance(part, ast.Name) and part.id in tried for argument in given for part in ast.walk(argument))


def _is_another_entry(node: ast.AST, objects: set[str]) -> bool:
    """`record["image"]`, where the failing code asked the record for something else."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and dotted(node.value) in objects
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def _searches(node: ast.AST, found: set[str]) -> bool:
    """A loop that looks for what the failing code was to find."""
    return isinstance(node, ast.For) and any(_is_stored_name(part) and part.id in found for part in ast.walk(node))


def _is_stored_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def retries(scope: Scope) -> Iterator[ast.AST]:
    """Where a `__getitem__` gives another sample than it was asked for: `return self[index + 1]`, `x = self[…]`."""
    node = scope.node
    assert isinstance(node, FUNCTIONS)
    names = [argument.arg for argument in node.args.args]
    if len(names) < 2:
        return
    receiver, index = names[:2]
    for part in body_nodes(node):
        if isinstance(part, ast.Return | ast.Assign) and part.value is not None and _is_conditional(part, index):
            asked = _asked_again(part.value, receiver)
            if asked is not None and not (
                isinstance(asked, ast.Name) and asked.id == index and not _rebinds(part, index)
            ):
                yield part
        elif isinstance(part, ast.ExceptHandler) and _rebinds_in(part, index) and _is_looped(part):
            yield part


def asked_in_need(scope: Scope) -> Iterator[str]:
    """The methods of its own object to which a handler of a function turns for what it gives."""
    for part in body_nodes(scope.node):
        if not isinstance(part, ast.Return | ast.Assign) or not isinstance(part.value, ast.Call):
            continue
        function = part.value.func
        is_own = isinstance(function, ast.Attribute) and dotted(function.value) == receiver_name(scope)
        if is_own and any(isinstance(outer, ast.ExceptHandler) for outer in _inside(part)):
            yield last_name(function)


def gives_samples_of_its_own(scope: Scope) -> Iterator[ast.Return]:
    """Where a method gives nothing but a sample of its own object: `return self[index + 1]`."""
    receiver = receiver_name(scope)
    return (r for r in scope.returns if r.value is not None and receiver and _asked_again(r.value, receiver))


def _asked_again(value: ast.expr, receiver: str) -> ast.expr | None:
    if isinstance(value, ast.Subscript) and dotted(value.value) == receiver:
        return value.slice
    if isinstance(value, ast.Call) and last_name(value.func) == "__getitem__" and len(value.args) == 1:
        return value.args[0]
    return None


def _is_conditional(node: ast.AST, index: str) -> bool:
    """Whether it is up to the data that a statement runs: `if index < 0` asks for nothing but the index."""
    return any(
        isinstance(a, ast.ExceptHandler) or (isinstance(a, ast.If | ast.While) and not _asks_for_index(a.test, index))
        for a in _inside(node)
    )


def _asks_for_index(test: ast.expr, index: str) -> bool:
    """Whether a test compares an index, or asks what it is, without looking anything up by it."""
    named = [part for part in ast.walk(test) if isinstance(part, ast.Name) and part.id == index]
    return bool(named) and not any(
        isinstance(outer, ast.Subscript) or (isinstance(outer, ast.Call) and last_name(outer.func) not in ABOUT_INDEX)
        for part in named
        for outer in takewhile(lambda item: item is not up(test), ancestors(part))
    )


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    for parent in ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return
        yield parent


def _rebinds(node: ast.AST, name: str) -> bool:
    parent = up(node)
    return parent is not None and _rebinds_in(parent, name)


def _rebinds_in(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store) for part in ast.walk(node)
    )


def _is_looped(node: ast.AST) -> bool:
    return any(isinstance(a, ast.While | ast.For) for a in _inside(node))
