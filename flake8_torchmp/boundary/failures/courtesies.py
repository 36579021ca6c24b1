"""Failures that are thought of: blocks that only improve what is there already, handlers that say why they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.comments import words_above, words_of
from flake8_torchmp.semantics.flow import block_of
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, dotted, last_name, root_name
from flake8_torchmp.semantics.scopes import Scope

from .stand_ins import BLANK, READING, steps_of

FEWEST_WORDS = 4
"""A comment of fewer words gives no reason."""

_DRAWING = frozenset("choice choices sample".split())
_FILES = frozenset("exists isfile isdir islink lexists is_file is_dir basename dirname join split splitext".split())
_NOTING = frozenset(("append", "add"))
_SENDING = frozenset(("send", "put", "put_nowait"))
_SPELLED = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.expr_context)
_CONVERTING = frozenset("int float complex Decimal Fraction literal_eval fromisoformat strptime".split())
_TRIMMING = frozenset("str strip lstrip rstrip lower upper removeprefix removesuffix replace sub item".split())


def only_looks(body: Sequence[ast.stmt]) -> bool:
    """Whether a block calls and computes nothing, but asks for attributes that an object may not have."""
    parts = [part for statement in body for part in ast.walk(statement)]
    return any(isinstance(part, ast.Attribute) for part in parts) and not any(isinstance(p, _WORKING) for p in parts)


_WORKING = (ast.Call, ast.Subscript, ast.BinOp, ast.Await, ast.Yield, ast.YieldFrom, ast.Raise, ast.Assert, ast.With)


def improves(body: Sequence[ast.stmt], handled: Sequence[ast.stmt], scope: Scope, receivers: set[str]) -> bool:
    """Whether a block makes what is there already a little better: `image = upright(image)`, where `image` stays.

    What an object is told to do with its samples (`image = self.transform(image)`, each of its steps) is more.
    """
    parts = [part for statement in body for part in ast.walk(statement)]
    calls = [part for part in parts if isinstance(part, ast.Call)]
    told = receivers | set(steps_of(receivers, scope))
    if any(root_name(call.func) in told or last_name(call.func) in READING for call in calls):
        return _hands_on(body, handled) and not any(root_name(call.func) in told for call in calls)
    if not all(map(_passes, handled)):
        return _hands_on(body, handled)
    changed = _changed(parts)
    if changed & receivers:
        return all(map(_makes_anew, body))
    given = parameters(scope.node) if isinstance(scope.node, FUNCTIONS) else {}
    own = (name for name in changed if name in scope.bindings)  # a comprehension's are its own
    names = {name for name in own if name in given or _is_read_after(name, body, scope)}
    return bool(names) and all(_was_made_before(name, body, scope) and _is_read_in(name, parts) for name in names)


def gives_what_was_asked_for(handled: Sequence[ast.stmt], body: Sequence[ast.stmt], scope: Scope) -> bool:
    """`return default`, where the caller of the function says what that is, and nothing else is done with it."""
    given = handled[0].value if len(handled) == 1 and isinstance(handled[0], ast.Return) else None
    tried = {part.id for statement in body for part in ast.walk(statement) if isinstance(part, ast.Name)}
    return (
        isinstance(given, ast.Name)
        and isinstance(scope.node, FUNCTIONS)
        and given.id in parameters(scope.node)
        and given.id not in tried
    )


def is_done_again(handled: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> bool:
    """`return np.array(rows)`, and where that fails `return np.array(rows, dtype=object)`."""
    tried, instead = body[0], handled[0]
    if len(body) != 1 or len(handled) != 1 or type(tried) is not type(instead):
        return False
    if not isinstance(tried, ast.Return | ast.Assign) or not isinstance(instead, ast.Return | ast.Assign):
        return False
    first, second = tried.value, instead.value
    if not isinstance(first, ast.Call) or not isinstance(second, ast.Call) or _targets(tried) != _targets(instead):
        return False
    arguments = [ast.dump(argument) for argument in first.args]
    return (
        ast.dump(first.func) == ast.dump(second.func)
        and any(isinstance(part, ast.Name) for argument in first.args for part in ast.walk(argument))
        and [ast.dump(argument) for argument in second.args[: len(arguments)]] == arguments
    )


def is_tried_otherwise(around: ast.Try) -> bool:
    """`return parse(text)`, and behind the block, where that failed, `return parse(repaired(text))`."""
    first = around.body[-1]
    function = next(outer for outer in ancestors(around) if isinstance(outer, FUNCTIONS))
    last = function.body[-1] if isinstance(function.body, list) else first
    if not isinstance(first, ast.Return) or not isinstance(last, ast.Return) or not isinstance(first.value, ast.Call):
        return False
    called = ast.dump(first.value.func)
    return isinstance(last.value, ast.Call) and ast.dump(last.value.func) == called


def is_usual(handler: ast.ExceptHandler, around: ast.Try) -> bool:
    """Whether a handler does what another branch does without trying: `names = set()`, as where there is no list."""
    done = [ast.dump(statement) for statement in handler.body]
    if not all(isinstance(statement, ast.Assign) for statement in handler.body):
        return False
    return any(set(done) <= {ast.dump(statement) for statement in branch} for branch in _other_branches(around))


def gives_reason(handler: ast.ExceptHandler, lines: Sequence[str]) -> bool:
    """Whether a comment at the head of a handler says, in a few words, when it is needed."""
    first = handler.body[0].lineno if handler.body else handler.lineno
    words = words_of(lines[handler.lineno - 1]) if first > handler.lineno else []
    return len(words + words_above(lines, first)) >= FEWEST_WORDS


def only_notes(statement: ast.stmt) -> bool:
    """`if os.path.exists(path): found.append(path)`, which does not fail."""
    if not isinstance(statement, ast.If | ast.Expr):
        return False
    calls = [part for part in ast.walk(statement) if isinstance(part, ast.Call)]
    nested = [part for part in ast.walk(statement) if isinstance(part, ast.Subscript | ast.Assign)]
    names = {last_name(call.func) for call in calls}
    return bool(names & _NOTING) and names <= _FILES | _NOTING and not nested


def notes_what_is_a_number(body: Sequence[ast.stmt], handled: Sequence[ast.stmt], scope: Scope) -> bool:
    """`scalars[name] = float(value)`, where anything that is no number is left out."""
    if not all(map(_passes, handled)):
        return False
    names = {last_name(part.func) for statement in body for part in ast.walk(statement) if isinstance(part, ast.Call)}
    if not names & _CONVERTING or not names <= _CONVERTING | _TRIMMING | _NOTING:
        return False
    *_, last = body
    is_noted = isinstance(last, ast.Expr) or (
        isinstance(last, ast.Assign) and all(isinstance(target, ast.Subscript) for target in last.targets)
    )
    return is_noted and not any(
        isinstance(target, ast.Name) and _is_read_after(target.id, [last], scope)
        for statement in body[:-1]
        for target in getattr(statement, "targets", ())
    )


def only_draws(statement: ast.stmt) -> bool:
    """`patch = random.choice(fitting)`: there may be nothing to draw from."""
    drawn = statement.value if isinstance(statement, ast.Assign) else None
    while isinstance(drawn, ast.Subscript):
        drawn = drawn.value
    return isinstance(drawn, ast.Call) and last_name(drawn.func) in _DRAWING


def only_passes_on(statement: ast.stmt) -> bool:
    """`kept.put(given.get())`: what does not come now comes later."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and last_name(call.func) in ("put", "put_nowait")
        and bool(call.args)
        and all(isinstance(a, ast.Call) and last_name(a.func) in ("get", "get_nowait") for a in call.args)
    )


def only_reports(body: Sequence[ast.stmt], handled: Sequence[ast.stmt]) -> bool:
    """A block that only sends something: whoever does not hear it is gone, and the function ends.

    What is spelled out in the call, `answers.put({"ok": True})`, is no result of anything that could have failed.
    """
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or last_name(call.func) not in _SENDING:
        return False
    if last_name(call.func) == "send" and isinstance(handled[-1], ast.Return):
        return True
    return bool(call.args) and all(isinstance(part, _SPELLED) for given in call.args for part in ast.walk(given))


def _passes(statement: ast.stmt) -> bool:
    """`pass`, `continue`, `...`, and anything else that is only there because something has to."""
    is_idle = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_idle or isinstance(statement, ast.Pass | ast.Continue)


def _hands_on(body: Sequence[ast.stmt], handled: Sequence[ast.stmt]) -> bool:
    """`return decoded(text)`, and where that fails `return text`; `name = names[code]`, or else `name = code`."""
    if len(body) != 1 or len(handled) != 1:
        return False
    tried, instead = body[0], handled[0]
    if not (isinstance(tried, ast.Return | ast.Assign) and isinstance(instead, ast.Return | ast.Assign)):
        return False
    if not isinstance(instead.value, ast.Name):
        return False
    if type(tried) is not type(instead) or _targets(tried) != _targets(instead):
        return False
    if isinstance(tried.value, ast.Subscript):
        return isinstance(tried.value.slice, ast.Name) and tried.value.slice.id == instead.value.id
    given = tried.value.args if isinstance(tried.value, ast.Call) else []
    return any(isinstance(value, ast.Name) and value.id == instead.value.id for value in given)


def _targets(statement: ast.Return | ast.Assign) -> list[str]:
    return [ast.dump(target) for target in statement.targets] if isinstance(statement, ast.Assign) else []


def _changed(parts: Sequence[ast.AST]) -> set[str]:
    """The variables that a block binds, or puts something into."""
    names = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    entries = (part for part in parts if isinstance(part, ast.Subscript | ast.Attribute))
    return names | {root_name(part) for part in entries if isinstance(part.ctx, ast.Store)}


def _makes_anew(statement: ast.stmt) -> bool:
    """`self.key = int(self.key)`"""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    read = [dotted(part) for part in ast.walk(statement.value) if isinstance(part, ast.Attribute)]
    return isinstance(statement.targets[0], ast.Attribute) and dotted(statement.targets[0]) in read


def _is_read_after(name: str, body: Sequence[ast.stmt], scope: Scope) -> bool:
    return any(
        not any(outer is item for item in body for outer in ancestors(load))
        and scope.module.scope_of(load).enclosing_function() is scope
        and load.lineno >= body[0].lineno
        for load in scope.module.loads(name)
    )


def _was_made_before(name: str, body: Sequence[ast.stmt], scope: Scope) -> bool:
    """Whether a variable holds something already that is no stand-in for what the block finds."""
    earlier = [b for b in scope.bindings.get(name, ()) if 0 < getattr(b.node, "lineno", 0) < body[0].lineno]
    if any(binding.kind == "parameter" for binding in scope.bindings.get(name, ())):
        return True
    last = max(earlier, key=lambda binding: getattr(binding.node, "lineno", 0), default=None)
    made = last.value if last is not None else None
    return isinstance(made, ast.expr) and not _is_stand_in(made)


def _is_stand_in(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return last_name(value.func) in BLANK
    if isinstance(value, ast.BinOp):
        return _is_stand_in(value.left) or _is_stand_in(value.right)
    return not isinstance(value, ast.Attribute | ast.Name | ast.Subscript)


def _is_read_in(name: str, parts: Sequence[ast.AST]) -> bool:
    names = {name, *(entry for part in parts[:1] for entry in _entries_of(name, part))}
    return any(
        isinstance(part, ast.Name)
        and part.id in names
        and isinstance(part.ctx, ast.Load)
        and not any(isinstance(outer, ast.Subscript) and outer.value is part for outer in _stored_entries(parts))
        for part in parts
    )


def _entries_of(name: str, inside: ast.AST) -> Iterator[str]:
    """`value` of `for key, value in fields.items()`, in that loop."""
    for loop in ancestors(inside):
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Tuple) and isinstance(loop.iter, ast.Call):
            asked = loop.iter.args[0] if dotted(loop.iter.func) == "enumerate" and loop.iter.args else loop.iter.func
            if dotted(asked).removesuffix(".items") == name and isinstance(loop.target.elts[-1], ast.Name):
                yield loop.target.elts[-1].id
        if isinstance(loop, FUNCTIONS):
            return


def _stored_entries(parts: Sequence[ast.AST]) -> Iterator[ast.Subscript]:
    return (part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store))


def _other_branches(around: ast.Try) -> Iterator[Sequence[ast.stmt]]:
    """What is done where the tests around a block do not hold, and right before them."""
    inner: ast.AST = around
    for outer in ancestors(around):
        if isinstance(outer, FUNCTIONS):
            return
        if isinstance(outer, ast.If):
            yield outer.orelse if any(inner is item for item in outer.body) else outer.body
            block = block_of(outer)
            yield block[: next(place for place, item in enumerate(block) if item is outer)]
        inner = outer
