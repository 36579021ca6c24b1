"""What takes the place of data that a handler hides: what nobody can tell from data, or nothing at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.effects import HANDING_OVER
from flake8_torchmp.semantics.flow import block_of, is_in_block
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, is_none, last_name, root_name
from flake8_torchmp.semantics.scopes import Binding, Scope

BLANK = frozenset("zeros ones full empty zeros_like ones_like full_like empty_like rand randn new tensor array".split())
"""Calls that make what looks like any other sample."""
WRITING = frozenset("save savez savez_compressed dump imwrite write write_text write_bytes to_csv to_file".split())
"""Calls by which a task gives what it has made, where that is files."""

READING = frozenset(
    "open load loads loadtxt genfromtxt imread imdecode read read_text read_bytes readline readlines read_csv "
    "read_image read_video".split()
)
"""Calls that bring what a sample is made of."""

_COUNTING = frozenset("range enumerate zip len".split())
_MADE_OF_CONSTANTS = frozenset("tensor array new full".split())


def hides_data(
    body: Sequence[ast.stmt], handled: Sequence[ast.stmt], scope: Scope, receivers: set[str], is_near: bool
) -> bool:
    """Whether a failure in a block leaves something that looks like data, or takes something away unseen.

    Near the boundary, in the very function that worker code begins with, an empty container is a result like any
    other, and what a block writes to files is the result.
    """
    if _runs_what_others_give(body, scope):
        return True
    if _only_looks_up(body) or (not is_near and _only_asks(body) and not leaves_blank(body, handled, scope, receivers)):
        return False
    for statement in handled:
        if isinstance(statement, ast.Return | ast.Assign | ast.AnnAssign) and statement.value is not None:
            if _stands_in(statement.value, scope, receivers, is_near):
                return True
        elif isinstance(statement, ast.Expr) and _hands_over(statement.value):
            return True  # `results.put(0)`: what tells has been seen before
    if not all(_does_nothing(statement) for statement in handled) or _is_tried_again(body):
        return False
    return _is_missed(body, scope, receivers, is_near)


def _is_tried_again(body: Sequence[ast.stmt]) -> bool:
    """Whether the loop around a block ends once the block has succeeded, or enough has been found."""
    loop = next((outer for outer in _around(body[0]) if isinstance(outer, ast.For | ast.While)), None)
    for part in ast.walk(loop) if loop is not None else ():
        if isinstance(part, ast.Break) and next(o for o in _around(part) if isinstance(o, ast.For | ast.While)) is loop:
            tests = [outer.test for outer in _around(part) if isinstance(outer, ast.If)]
            if any(part is statement for statement in body) or any(_counts(test) for test in tests):
                return True
    return False


def gives_up_blank(
    body: Sequence[ast.stmt], handled: Sequence[ast.stmt], scope: Scope, receivers: set[str], is_near: bool
) -> bool:
    """Whether a loop tries to return something a few times, and what looks like data comes behind it."""
    loop = next((outer for outer in _around(body[0]) if isinstance(outer, ast.For | ast.While)), None)
    if not isinstance(loop, ast.For) or not isinstance(body[-1], ast.Return):
        return False
    block = block_of(loop)
    behind = block[next(place for place, item in enumerate(block) if item is loop) + 1 :]
    return all(_does_nothing(statement) or _waits(statement) for statement in handled) and any(
        isinstance(s, ast.Return) and s.value is not None and _stands_in(s.value, scope, receivers, is_near)
        for s in behind[:1]
    )


def _waits(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) == "sleep"


def _counts(test: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) and last_name(part.func) == "len" for part in ast.walk(test))


def _only_looks_up(body: Sequence[ast.stmt]) -> bool:
    """`items = bought[user]`: what has no entry gets the default; so does each of `for i in wanted: q[i] = p[i]`."""
    only = body[0] if len(body) == 1 else None
    if isinstance(only, ast.For):
        calls = {last_name(part.func) for part in ast.walk(only.iter) if isinstance(part, ast.Call)}
        return calls <= _COUNTING and all(_only_looks_up([statement]) for statement in only.body)
    value = _value_of(body)
    keys = []
    while isinstance(value, ast.Subscript | ast.Attribute):
        keys += [value.slice] if isinstance(value, ast.Subscript) else []
        value = value.value
    return isinstance(value, ast.Name) and bool(keys) and not any(isinstance(key, ast.Constant) for key in keys)


def _only_asks(body: Sequence[ast.stmt]) -> bool:
    """`area = roc_auc_score(truth, guess)` in a helper: it is not defined for all that callers have."""
    value = _value_of(body)
    return isinstance(value, ast.Call) and last_name(value.func) not in READING and not _converts_entry(value)


def _converts_entry(value: ast.Call) -> bool:
    """`int(record["class"])`, which is data like any other."""
    return last_name(value.func) in ("int", "float") and any(
        isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str)
        for argument in value.args
        for part in ast.walk(argument)
    )


def leaves_blank(body: Sequence[ast.stmt], handled: Sequence[ast.stmt], scope: Scope, receivers: set[str]) -> bool:
    """Whether a blank tensor or array takes the place of what a block asks for, or of the entry that it is to fill."""
    given = _value_of(handled)
    if given is not None and _is_blank_data(given, scope, receivers):
        return True
    target = body[0].targets[0] if isinstance(body[0], ast.Assign) else None
    made = scope.bindings.get(root_name(target), ()) if isinstance(target, ast.Subscript) else ()
    return any(isinstance(binding.value, ast.Call) and is_blank(binding.value) for binding in made)


def _is_blank_data(value: ast.expr, scope: Scope, receivers: set[str]) -> bool:
    """Whether a value is blank and no mere number, which may be the answer for what is not defined."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Attribute) and _stands_in(value, scope, receivers, False)
    if is_blank(value):
        return not _is_made_of_number(value)
    given = [given for _, given in (*_results(value, scope), *_own_results(value, scope, receivers))]
    if _is_record(value, scope):
        given = [*value.args, *(keyword.value for keyword in value.keywords)]
        return _are_stand_ins(given, scope, receivers)
    return bool(given) and all(isinstance(part, ast.Call) and is_blank(part) for part in given)


def _value_of(body: Sequence[ast.stmt]) -> ast.expr | None:
    """What a block of one statement assigns or returns."""
    only = body[0] if len(body) == 1 else None
    return only.value if isinstance(only, ast.Assign | ast.AnnAssign | ast.Return) else None


def _hands_over(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in HANDING_OVER


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return statement.value is None or is_none(statement.value)
    return isinstance(statement, ast.Pass | ast.Continue) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _runs_what_others_give(body: Sequence[ast.stmt], scope: Scope) -> bool:
    """Whether a block runs what a context manager or decorator is put around."""
    outer = scope.parent
    given = parameters(outer.node) if outer is not None and isinstance(outer.node, FUNCTIONS) else {}
    parts = [part for statement in body for part in ast.walk(statement)]
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in parts) or any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in given for part in parts
    )


def _stands_in(value: ast.expr, scope: Scope, receivers: set[str], is_near: bool) -> bool:
    """Whether a value looks like any other sample or result: a number, something blank, an empty container."""
    if is_number(value):
        return True
    if isinstance(value, ast.Call) and is_blank(value):
        return True
    if isinstance(value, ast.Call) and _is_record(value, scope):
        return _are_stand_ins([*value.args, *(k.value for k in value.keywords)], scope, receivers)
    if isinstance(value, ast.Call):
        results = list(_results(value, scope))
        return any(
            _stands_in(given, method, receivers, is_near) for method, given in _own_results(value, scope, receivers)
        ) or (bool(results) and all(_stands_in(given, made, set(), is_near) for made, given in results))
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id in receivers:
        return _stays_blank(value.attr, scope)
    if isinstance(value, ast.BinOp):
        return any(_stands_in(side, scope, receivers, is_near) for side in (value.left, value.right))
    if isinstance(value, ast.Tuple | ast.List | ast.Set | ast.Dict):
        elements = [e for e in (value.values if isinstance(value, ast.Dict) else value.elts) if e is not None]
        return _are_stand_ins(elements, scope, receivers) if elements else is_near
    return isinstance(value, ast.Name) and _is_name_of_stand_in(value, scope, receivers, is_near)


def _are_stand_ins(elements: Sequence[ast.expr], scope: Scope, receivers: set[str]) -> bool:
    if any(isinstance(e, ast.Constant) and not is_number(e) for e in elements):
        return False  # None, a bool or a text says that something is wrong
    return any(_stands_in(e, scope, receivers, False) for e in elements)


def _is_record(call: ast.Call, scope: Scope) -> bool:
    """`dict(image=image)`, and a class of the module that a sample is an object of."""
    if not isinstance(call.func, ast.Name) or any(keyword.arg is None for keyword in call.keywords):
        return False
    bindings = scope.module.scope.bindings.get(call.func.id, ())
    if call.func.id == "dict":
        return not bindings and not call.args
    return len(bindings) == 1 and bindings[0].kind == "class"


def _results(call: ast.Call, scope: Scope) -> Iterator[tuple[Scope, ast.expr]]:
    """What `blank(size)` gives, as the module's function says it."""
    bindings = scope.module.scope.bindings.get(call.func.id, ()) if isinstance(call.func, ast.Name) else ()
    if len(bindings) == 1 and isinstance(bindings[0].node, ast.FunctionDef):
        made = scope.module.scopes[bindings[0].node]
        yield from ((made, given.value) for given in made.returns if given.value is not None and made is not scope)


def _stays_blank(name: str, scope: Scope) -> bool:
    """Whether an object keeps something blank under a name: whatever its class stores there is."""
    owner = scope.enclosing_class()
    stored = [b.value for b in owner.bindings.get(name, ())] if owner is not None else []
    for node in ast.walk(owner.node) if owner is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Attribute) and target.attr == name for target in targets):
            stored.append(node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None)
    return bool(stored) and all(isinstance(made, ast.Call) and is_blank(made) for made in stored)


def is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def is_blank(value: ast.Call) -> bool:
    name = last_name(value.func)
    if name in _MADE_OF_CONSTANTS:
        arguments = value.args[-1:] if name == "full" else value.args[:1]
        return not any(isinstance(part, ast.Name) for argument in arguments for part in ast.walk(argument))
    return name in BLANK


def _is_made_of_number(call: ast.Call) -> bool:
    """`torch.tensor(0.0)`"""
    return last_name(call.func) in _MADE_OF_CONSTANTS and any(map(is_number, call.args[:1]))


def _own_results(call: ast.Call, scope: Scope, receivers: set[str]) -> Iterator[tuple[Scope, ast.expr]]:
    """What `self.silence()` gives, as its class says."""
    function = call.func
    owner = scope.enclosing_class()
    if owner is None or not isinstance(function, ast.Attribute) or root_name(function) not in receivers:
        return
    for binding in owner.bindings.get(function.attr, ()):
        if isinstance(binding.node, ast.FunctionDef):
            method = scope.module.scopes[binding.node]
            yield from ((method, given.value) for given in method.returns if given.value is not None)


def _is_name_of_stand_in(name: ast.Name, scope: Scope, receivers: set[str], is_near: bool) -> bool:
    for place in (scope, scope.module.scope):
        if name.id in place.bindings:
            bindings = place.bindings[name.id]
            made = bindings[0].value
            return (
                len(bindings) == 1
                and bindings[0].kind == "assign"
                and isinstance(made, ast.expr)
                and not isinstance(made, ast.Name)
                and _stands_in(made, scope, receivers, is_near)
            )
    return False


def _is_missed(body: Sequence[ast.stmt], scope: Scope, receivers: set[str], is_near: bool) -> bool:
    """Whether something is missing, or left as it was, where a block fails and nothing else is done."""
    parts = [part for statement in body for part in ast.walk(statement)]
    calls = {last_name(part.func) for part in parts if isinstance(part, ast.Call)}
    if calls & HANDING_OVER or (is_near and calls & WRITING):
        return True
    if any(isinstance(part, ast.AugAssign) and not _is_text(part.value) for part in parts):
        return True
    if any(isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) for part in parts):
        return True
    bound = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    if any(_is_left_behind(name, body, scope, receivers) for name in bound):
        return True
    return isinstance(body[-1], ast.Return) and any(
        isinstance(s, ast.Return) and s.value is not None and _stands_in(s.value, scope, receivers, is_near)
        for s in _after(body)
    )


def _is_text(value: ast.expr) -> bool:
    """What is added to a text, which is a text without it."""
    return isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))


def _is_left_behind(name: str, body: Sequence[ast.stmt], scope: Scope, receivers: set[str]) -> bool:
    """Whether a variable that is read after a block keeps what stood in for it, or what the last round left."""
    if name not in scope.bindings or not _is_read_outside(name, body, scope):
        return False
    told = receivers | set(steps_of(receivers, scope))
    steps = (s.value for s in body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call))
    if any(root_name(step.func) in told for step in steps):
        return True  # `image = self.augment(image)`
    others = [b for b in scope.bindings[name] if not is_in_block(b.node, body)]
    if not others:
        return any(isinstance(outer, ast.For | ast.While) for outer in _around(body[0]))
    earlier = [binding for binding in others if 0 < _line(binding) < body[0].lineno]
    made = max(earlier, key=_line).value if earlier else None
    return isinstance(made, ast.expr) and _stands_in(made, scope, receivers, True)


def steps_of(receivers: set[str], scope: Scope) -> Iterator[str]:
    """What an object goes through of its own: `step` of `for step in self.steps`."""
    for name, bindings in scope.bindings.items():
        gone_through = (binding.value for binding in bindings if binding.kind == "for" and binding.value is not None)
        parts = (part for value in gone_through for part in (value, *getattr(value, "args", ())))
        if any(isinstance(part, ast.Attribute | ast.Subscript) and root_name(part) in receivers for part in parts):
            yield name


def _is_read_outside(name: str, body: Sequence[ast.stmt], scope: Scope) -> bool:
    return any(
        isinstance(load, ast.Name)
        and not is_in_block(load, body)
        and scope.module.scope_of(load).enclosing_function() is scope
        for load in scope.module.loads(name)
    )


def _line(binding: Binding) -> int:
    return getattr(binding.node, "lineno", 0)


def _around(node: ast.AST) -> Iterator[ast.AST]:
    for outer in ancestors(node):
        if isinstance(outer, FUNCTIONS):
            return
        yield outer


def _after(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements that follow the `try` or `with` of a block."""
    around = next(ancestors(body[0]))
    assert isinstance(around, ast.stmt)
    block = block_of(around)
    return block[next(place for place, item in enumerate(block) if item is around) + 1 :]
