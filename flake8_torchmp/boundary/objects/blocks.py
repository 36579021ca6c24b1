"""Blocks of shared memory: who makes them, who unlinks them, and whether that happens when something goes wrong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, position, up, without_keys
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, External, Function, Instance, Result, Value

NAME = "multiprocessing.shared_memory.SharedMemory"
LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_UNLINK = re.compile(rb"(?<!\bos\.)\bunlink\b")
"""What may unlink a block; `os.unlink` removes a file."""


class Leak(NamedTuple):
    node: ast.AST
    text: str


def made_in(module: Module, evaluator: Evaluator) -> Iterator[ast.Call]:
    """The calls that make a block, not those that attach to one."""
    for call in module.calls_of("SharedMemory"):
        frame = evaluator.frame_at(call, module)
        if not any(isinstance(value, External) and value.name == NAME for value in evaluator.values(call.func, frame)):
            continue
        source = evaluator.arguments(call, frame).get(1, "create")
        values = evaluator.of(source) if source is not None else ()
        if values and all(isinstance(value, Constant) and value.value is True for value in values):
            yield call


def leaks_of(module: Module, evaluator: Evaluator) -> Iterator[Leak]:
    """Blocks that a function or class makes and keeps to itself, and does not unlink for sure."""
    for call in made_in(module, evaluator):
        holder: Any = up(call)
        if isinstance(holder, ast.Call) and _only_closes(holder, module, evaluator):
            holder = up(holder)
        if isinstance(holder, ast.Assign | ast.AnnAssign | ast.withitem | ast.NamedExpr):
            targets = _targets(holder)
            target = targets[0]
            if len(targets) == 1 and isinstance(target, ast.Name):
                text = _fate_of_name(target, call, module, evaluator)
            elif len(targets) == 1 and isinstance(without_keys(target), ast.Attribute):
                text = _fate_of_attribute(module, evaluator)
            else:
                text = ""
            if text:
                yield Leak(call, text)
        elif isinstance(holder, ast.Expr):
            yield Leak(call, "is never unlinked")
        elif isinstance(holder, ast.Call) and (owner := _owner_of(call, holder, module, evaluator)) is not None:
            if text := _fate_of_attribute(owner, evaluator):
                yield Leak(call, text)
        elif _is_kept_in_attribute(call) and (text := _fate_of_attribute(module, evaluator)):
            yield Leak(call, text)


def _owner_of(given: ast.expr, making: ast.Call, module: Module, evaluator: Evaluator) -> Module | None:
    """Where the class is whose object keeps in an attribute what it is made with: `Ring(SharedMemory(…))`."""
    index = making.args.index(given) if given in making.args else None
    keyword = next((k.arg for k in making.keywords if k.value is given), None)
    for value in evaluator.values(making, evaluator.frame_at(making, module)):
        init = classes.find_method(evaluator, value.cls, "__init__") if isinstance(value, Instance) else None
        if init is None:
            continue
        for parameter in parameters(init.node).values():
            if parameter.name == keyword or (index is not None and parameter.index == index + 1):
                uses = [use for use in init.scope.module.loads(parameter.name) if init.node in ancestors(use)]
                if any(_is_stored(use) for use in uses if isinstance(use, ast.Name)):
                    return init.scope.module
    return None


def _targets(holder: ast.Assign | ast.AnnAssign | ast.withitem | ast.NamedExpr) -> list[ast.expr]:
    if isinstance(holder, ast.Assign):
        return holder.targets
    if isinstance(holder, ast.withitem):
        return [holder.optional_vars] if holder.optional_vars is not None else []
    return [holder.target]


def _is_kept_in_attribute(call: ast.expr) -> bool:
    """`self.blocks = [SharedMemory(…) for …]`, `self.blocks.append(SharedMemory(…))`."""
    child: ast.AST = call
    holder: Any = up(call)
    while isinstance(holder, ast.ListComp | ast.DictComp | ast.List | ast.Tuple | ast.Dict):
        child, holder = holder, up(holder)
    if isinstance(holder, ast.Call):
        method = holder.func
        if not isinstance(method, ast.Attribute) or method.attr != "append" or child not in holder.args:
            return False
        return isinstance(method.value, ast.Attribute)
    return isinstance(holder, ast.Assign) and child is not call and isinstance(holder.targets[0], ast.Attribute)


def _is_stored(use: ast.Name) -> bool:
    """`self.blocks.append(block)`, `self.blocks[name] = block`, `self.block = block`."""
    holder: Any = up(use)
    is_put = isinstance(holder, ast.Assign) and holder.value is use
    return _is_kept_in_attribute(use) or (is_put and isinstance(without_keys(holder.targets[0]), ast.Attribute))


def _only_closes(holder: ast.Call, module: Module, evaluator: Evaluator) -> bool:
    """`with closing(SharedMemory(…)) as block:`"""
    values = evaluator.values(holder.func, evaluator.frame_at(holder, module))
    return any(isinstance(v, External) and v.name == "contextlib.closing" for v in values)


def _fate_of_name(target: ast.Name, call: ast.Call, module: Module, evaluator: Evaluator) -> str:
    scope = evaluator.scope_binding(target.id, module.scope_of(target))
    if scope is None:
        return ""
    uses = [
        use
        for use in module.loads(target.id)
        if isinstance(use, ast.Name) and evaluator.scope_binding(use.id, module.scope_of(use)) is scope
    ]
    unlinking: list[ast.AST] = []
    is_kept = False
    shares_name = evaluator.arguments(call, evaluator.frame_at(call, module)).get(0, "name") is not None
    for use in uses:
        holder: Any = up(use)
        if _is_stored(use):
            is_kept = True
            continue
        if isinstance(holder, ast.Call) and _only_uses(holder, use, module, evaluator):
            shares_name = True
            continue
        if not isinstance(holder, ast.Attribute):
            return ""  # handed on, returned
        above: Any = up(holder)
        if holder.attr == "unlink":
            if not (isinstance(above, ast.Call) and above.func is holder):
                return ""  # `stack.callback(block.unlink)`
            unlinking.append(above)
        elif holder.attr in ("name", "_name"):
            shares_name = True
    if is_kept:
        return "" if unlinking else _fate_of_attribute(module, evaluator)
    if not unlinking:
        elsewhere = _may_be_unlinked_in(module, call, evaluator) or _is_unlinked_by_users(module, evaluator)
        returned = shares_name and _leaves(scope, target.id)
        return "" if (shares_name and elsewhere) or returned or (scope.is_module and elsewhere) else "is never unlinked"
    if scope.is_module or any(_is_sure(node, call, module) for node in unlinking):
        return ""
    first = min(unlinking, key=position)
    return "is unlinked only if nothing fails before" if _may_fail_between(call, first, scope) else ""


def _only_uses(call: ast.Call, given: ast.Name, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function of the project reads and writes a block that it is given, and does no more with it."""
    values = evaluator.values(call.func, evaluator.frame_at(call, module))
    if given not in call.args or not values:
        return False
    for value in values:
        if not isinstance(value, Function) or not isinstance(value.node, FUNCTIONS):
            return False
        index = call.args.index(given)
        name = next((p.name for p in parameters(value.node).values() if p.index == index), "")
        uses = [use for use in value.scope.module.loads(name) if value.node in ancestors(use)]
        if not name or not all(isinstance(use, ast.Name) and _is_of_block(use) for use in uses):
            return False
    return True


def _is_of_block(use: ast.Name) -> bool:
    """`block.buf`, not `block.unlink`."""
    holder = up(use)
    return isinstance(holder, ast.Attribute) and holder.attr in ("buf", "size", "name", "close")


def _may_be_unlinked_in(module: Module, made: ast.Call, evaluator: Evaluator) -> bool:
    """Whether a module unlinks anything but blocks that are seen to be made elsewhere."""
    calls = [call for call in module.calls.get("unlink", ()) if isinstance(call.func, ast.Attribute)]
    return len(calls) < len(_UNLINK.findall(module.data)) or not all(
        values and all(_is_other_block(value, made) for value in values)
        for values in (
            evaluator.values(call.func.value, evaluator.frame_at(call, module))  # type: ignore[attr-defined]
            for call in calls
        )
    )


def _is_other_block(value: Value, made: ast.Call) -> bool:
    is_made = isinstance(value, Result) and value.name == NAME and value.arguments.get(1, "create") is not None
    return is_made and isinstance(value, Result) and value.arguments.call is not made


def _leaves(scope: Scope, name: str) -> bool:
    """Whether a function gives the block's name away, so that a caller can unlink it."""
    found = [*scope.returns]
    return scope.is_generator or any(
        isinstance(part, ast.Attribute) and part.attr == "name" and getattr(part.value, "id", "") == name
        for statement in found
        for part in ast.walk(statement)
    )


def _is_sure(node: ast.AST, call: ast.Call, module: Module) -> bool:
    """In a `finally`, in a function of its own, or in a handler that catches all."""
    if module.scope_of(node).enclosing_function() is not module.scope_of(call).enclosing_function():
        return True
    child: ast.AST = node
    for above in ancestors(node):
        if isinstance(above, ast.Try) and any(child is item for item in above.finalbody):
            return True
        if isinstance(above, ast.ExceptHandler):
            return True
        child = above
    return False


def _may_fail_between(call: ast.Call, unlink: ast.AST, scope: Scope) -> bool:
    nodes = body_nodes(scope.node) if isinstance(scope.node, FUNCTIONS) else []
    return any(
        isinstance(node, ast.Call | ast.Raise | ast.Subscript)
        and position(call) < position(node) < position(unlink)
        and not _is_part(node, call)
        and not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "close")
        for node in nodes
    )


def _is_part(node: ast.AST, whole: ast.AST) -> bool:
    return any(above is whole for above in ancestors(node))


def _fate_of_attribute(module: Module, evaluator: Evaluator) -> str:
    """An attribute is somebody's: whoever unlinks anything here, where it is used or what it derives from may do it."""
    bases = evaluator.codebase.imports(module.path)
    if _UNLINK.search(module.data) or _is_unlinked_by_users(module, evaluator):
        return ""
    return "" if any(evaluator.codebase.matches(path, _UNLINK) for path in bases) else "is never unlinked"


def _is_unlinked_by_users(module: Module, evaluator: Evaluator) -> bool:
    users = [path for path in evaluator.codebase.users([module.path]) if path != module.path]
    return any(evaluator.codebase.matches(path, _UNLINK) for path in users)


def unlinked_in(scope: Scope, evaluator: Evaluator) -> Iterator[ast.Call]:
    """Where a function unlinks a block to which it only attached."""
    assert isinstance(scope.node, FUNCTIONS)
    if "unlink" not in scope.module.calls:
        return
    for node in body_nodes(scope.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unlink":
            if any(True for _ in conditions(node)):
                continue  # one of them may do it for all
            frame = evaluator.frame_at(node, scope.module)
            if any(_is_attached(value) for value in evaluator.values(node.func.value, frame)):
                yield node


def _is_attached(value: Value) -> bool:
    if not isinstance(value, Result) or value.name != NAME:
        return False
    return value.arguments.get(1, "create") is None and not value.arguments.open_keywords


def are_made_once(module: Module, evaluator: Evaluator) -> bool:
    """Whether all blocks of a module are made outside of loops, so that its workers share them."""
    made = list(made_in(module, evaluator))
    return bool(made) and not any(isinstance(above, LOOPS) for call in made for above in ancestors(call))
