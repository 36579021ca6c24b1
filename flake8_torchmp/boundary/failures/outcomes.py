"""What becomes of the handle that a call gives: an AsyncResult, a future, a context; is it ever asked how it went?"""

from __future__ import annotations

import ast
from typing import Any

from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import caught_by
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, last_name, up
from flake8_torchmp.semantics.values import Function, Method, Partial, Value

NOT_ASKING = frozenset("wait ready done running cancel cancelled".split())
"""Methods of AsyncResult and Future that never raise what the task raised."""

NAMING = frozenset(("pids",))
"""What only names the processes: nothing is asked by printing it."""
TELLING = frozenset("print len str info debug warning log".split())

ADDING = frozenset(("append", "appendleft", "add", "extend"))
PASSING_ON = frozenset("tqdm trange enumerate list tuple set reversed as_completed track".split())
"""Calls whose iteration gives the handles that they were given."""

BROAD = frozenset(("", "Exception", "BaseException"))


def is_dropped(node: ast.expr, module: Module, evaluator: Evaluator, not_asking: frozenset[str] = NOT_ASKING) -> bool:
    """Whether nobody asks the handle, or the container that it is put into, how it went."""
    holder: Any = up(node)
    if isinstance(holder, ast.Expr):
        return True
    if isinstance(holder, ast.Attribute):  # `pool.map_async(f, xs).wait()`
        call = up(holder)
        return holder.attr in not_asking and isinstance(call, ast.Call) and isinstance(up(call), ast.Expr)
    if isinstance(holder, ast.Assign | ast.AnnAssign):
        targets = holder.targets if isinstance(holder, ast.Assign) else [holder.target]
        is_handle = not isinstance(node, (*COMPREHENSIONS, ast.List, ast.Tuple, ast.Set, ast.Dict))
        return all(_is_forgotten(target, is_handle, module, evaluator, not_asking) for target in targets)
    if isinstance(holder, ast.ListComp | ast.SetComp | ast.List | ast.Tuple | ast.Set | ast.Dict):
        return is_dropped(holder, module, evaluator, not_asking)
    if isinstance(holder, ast.DictComp) and node in (holder.key, holder.value):
        return is_dropped(holder, module, evaluator, not_asking)
    if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr in ADDING:
        return _is_forgotten(holder.func.value, False, module, evaluator, not_asking)
    return False


def _is_forgotten(
    target: ast.expr, is_handle: bool, module: Module, evaluator: Evaluator, not_asking: frozenset[str]
) -> bool:
    """Whether what a target keeps is never asked: no use of it, in the function or anywhere for an attribute, asks."""
    if isinstance(target, ast.Subscript):
        return _is_forgotten(target.value, False, module, evaluator, not_asking)
    uses = _uses_of(target, module, evaluator)
    return uses is not None and all(
        _asks_nothing(use, is_handle, module, evaluator, not_asking)
        or (is_handle and _is_put_away(use, module, evaluator, not_asking))
        for use in uses
    )


def _is_put_away(use: ast.expr, module: Module, evaluator: Evaluator, not_asking: frozenset[str]) -> bool:
    """`results.append(handle)`, `self.results[i] = handle`, where nobody asks what is in there."""
    holder: Any = up(use)
    if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr in ADDING:
        return _is_forgotten(holder.func.value, False, module, evaluator, not_asking)
    if isinstance(holder, ast.Assign):
        return all(
            isinstance(target, ast.Subscript) and _is_forgotten(target, False, module, evaluator, not_asking)
            for target in holder.targets
        )
    return False


def _uses_of(target: ast.expr, module: Module, evaluator: Evaluator) -> list[ast.expr] | None:
    """Where what a target keeps is read; None where that cannot be seen."""
    if isinstance(target, ast.Name):
        scope = evaluator.scope_binding(target.id, module.scope_of(target))
        if scope is None or scope.is_class:
            return None
        if scope.is_module and len(evaluator.codebase.mentioning(target.id, module.path)) > 1:
            return None
        if any(binding.kind == "parameter" for binding in scope.bindings[target.id]):
            return None
        return [
            use
            for use in module.loads(target.id)
            if isinstance(use, ast.Name) and evaluator.scope_binding(use.id, module.scope_of(use)) is scope
        ]
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        method = module.scope_of(target).enclosing_function()
        if (
            method is None
            or method.enclosing_class() is None
            or len(evaluator.codebase.mentioning(target.attr, module.path)) > 1
        ):
            return None
        return [use for use in module.loads(target.attr) if isinstance(use, ast.Attribute)]
    return None


def _asks_nothing(
    use: ast.expr, is_handle: bool, module: Module, evaluator: Evaluator, not_asking: frozenset[str]
) -> bool:
    holder: Any = up(use)
    if isinstance(holder, ast.Attribute):
        call = up(holder)
        called = isinstance(call, ast.Call) and call.func is holder
        if called and is_handle and holder.attr in NAMING:
            return _is_told(call)
        return called and holder.attr in (not_asking if is_handle else ADDING)
    if isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Store) and holder.value is use:
        return not is_handle
    if isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Load):
        return holder.slice is use if is_handle else _is_looked_up_by_handle(holder, module)
    if isinstance(holder, ast.Call):
        name = last_name(holder.func)
        if name == "len":
            return True
        if name == "wait" and "wait" in not_asking:
            return _is_wait_forgotten(up(holder), module, evaluator, not_asking)
        return name in PASSING_ON and not is_handle and _asks_nothing(holder, False, module, evaluator, not_asking)
    if is_handle:
        return False
    if isinstance(holder, ast.For | ast.AsyncFor) and holder.iter is use:
        return _loop_asks_nothing(holder.target, holder, use, module, evaluator, not_asking)
    if isinstance(holder, ast.comprehension) and holder.iter is use:
        return _loop_asks_nothing(holder.target, up(holder), use, module, evaluator, not_asking)
    return False


def _is_looked_up_by_handle(node: ast.Subscript, module: Module) -> bool:
    """`names[future]`, where the loop goes over `as_completed(names)`."""
    key = node.slice
    bindings = module.scope_of(node).bindings.get(key.id, ()) if isinstance(key, ast.Name) else ()
    return bool(bindings) and all(
        binding.kind == "for"
        and any(
            isinstance(part, ast.Call) and last_name(part.func) == "as_completed"
            for part in ast.walk(binding.value or binding.node)
        )
        for binding in bindings
    )


def _is_wait_forgotten(holder: Any, module: Module, evaluator: Evaluator, not_asking: frozenset[str]) -> bool:
    """`wait(futures)`, and `done, pending = wait(futures)` where nobody asks what is done."""
    if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Tuple):
        parts = holder.targets[0].elts
        return all(_is_forgotten(part, False, module, evaluator, not_asking) for part in parts)
    return isinstance(holder, ast.Expr)


def _is_told(call: ast.AST | None) -> bool:
    holder = up(call) if call is not None else None
    return isinstance(holder, ast.FormattedValue | ast.Expr) or (
        isinstance(holder, ast.Call) and last_name(holder.func) in TELLING
    )


def _loop_asks_nothing(
    target: ast.expr,
    loop: Any,
    iterated: ast.expr,
    module: Module,
    evaluator: Evaluator,
    not_asking: frozenset[str],
) -> bool:
    counted = isinstance(iterated, ast.Call) and last_name(iterated.func) == "enumerate"
    if counted and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    if not isinstance(target, ast.Name):
        return False
    inside = {id(part) for part in ast.walk(loop)}
    uses = [use for use in module.loads(target.id) if id(use) in inside]
    return all(_asks_nothing(use, True, module, evaluator, not_asking) for use in uses)


def handles_its_failures(value: Value) -> bool:
    """Whether a function catches whatever goes wrong in it, and does not just raise it again unseen."""
    if isinstance(value, Partial):
        return handles_its_failures(value.callee)
    function = value.function if isinstance(value, Method) else value
    if not isinstance(function, Function) or isinstance(function.node, ast.Lambda):
        return False
    return all(_cannot_fail_unseen(statement) for statement in function.node.body)


def _cannot_fail_unseen(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Try):
        return any(_is_broad(handler) for handler in statement.handlers)
    if isinstance(statement, ast.With):
        return all(_cannot_fail_unseen(inner) for inner in statement.body)
    if isinstance(statement, ast.While | ast.For):
        return all(_cannot_fail_unseen(inner) for inner in statement.body)
    return not any(
        isinstance(part, ast.Call | ast.Subscript | ast.BinOp | ast.Raise) for part in ast.walk(statement)
    ) or (
        isinstance(statement, ast.Expr)
        and last_name(getattr(statement.value, "func", statement)) in ("print", "info", "debug", "set_num_threads")
    )


def _is_broad(handler: ast.ExceptHandler) -> bool:
    parts = [part for statement in handler.body for part in ast.walk(statement)]
    raises = any(isinstance(part, ast.Raise) for part in parts)
    tells = any(isinstance(part, ast.Call) and not isinstance(up(part), ast.Raise) for part in parts)
    return not BROAD.isdisjoint(caught_by(handler)) and (tells or not raises)
