"""What names stand for: imports, star imports, decorated definitions, and what a module offers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import builtin, changes, classes
from .calls import Frame
from .flow import reaching_end
from .module import Module
from .nodes import up
from .scopes import Scope
from .values import (
    UNKNOWN,
    Class,
    Collection,
    External,
    Function,
    Instance,
    Method,
    ModuleValue,
    Result,
    Value,
)

if TYPE_CHECKING:
    from .evaluate import Evaluator


def from_star(evaluator: Evaluator, name: str, module: Module) -> Iterator[Value]:
    """What a name is that no binding of a module explains: of a star import, or built in."""
    found = False
    for node in module.scope.star_imports:
        target = evaluator.codebase.find(node.module or "", module.path, node.level)
        if target is None or not target[1] or not evaluator.codebase.may_offer(target[1], name):
            continue
        other = evaluator.codebase.module(target[1])
        if other is not None and other is not module and (name in other.scope.bindings or other.scope.star_imports):
            for value in evaluator.name_in_module(name, other):
                if not (isinstance(value, External) and value.name.startswith("builtins.")):
                    found = True
                    yield value
    if found:
        return
    outside = [
        n
        for n in module.scope.star_imports
        if not n.level and n.module and not evaluator.codebase.find(n.module, module.path)
    ]
    if name in builtin.NAMES:
        yield External(f"builtins.{name}", module.tree, module)
    elif len(outside) == 1:
        yield External(f"{outside[0].module}.{name}", outside[0], module)
    else:
        yield UNKNOWN


def offered(evaluator: Evaluator, name: str, module: Module) -> Iterator[Value]:
    """What a module offers under a name, once it has been imported."""
    frame = evaluator.frame_of(module.scope)
    if name not in module.scope.bindings:
        inner = evaluator.codebase.submodule(module.path, name) if module.is_package else None
        if inner is not None:
            yield ModuleValue(f"{module.name}.{name}", inner[1])
        else:
            yield from from_star(evaluator, name, module)
        return
    additions = changes.additions(evaluator, name, module.scope, frame)
    bindings = module.scope.bindings[name]
    for binding in reaching_end(bindings) if len(bindings) > 1 else bindings:
        if binding.kind == "augmented" and len(bindings) > 1:
            continue
        for value in evaluator.bound(binding, frame):
            if additions is not None and isinstance(value, Collection | Instance | Result | Class):
                value = value.with_additions(additions)
            yield value


def defined(evaluator: Evaluator, node: Any, frame: Frame) -> Iterator[Value]:
    """A function as its decorators leave it."""
    function = Function(frame.module.scopes[node], frame)
    for decorator in reversed(node.decorator_list):
        for value in evaluator.values(decorator, frame):
            replacement = _replacement(evaluator, value, function)
            if replacement is not None:
                function.decorated_by = replacement
    yield function


def _replacement(evaluator: Evaluator, decorator: Value, function: Function) -> Function | Class | None:
    """What a decorator of the project gives instead: an object, or a function that does not take over the name."""
    if isinstance(decorator, Class):
        return decorator
    receiver: Value | None = None
    if isinstance(decorator, Instance):  # `@Retry(times=3)`
        receiver, called = decorator, classes.find_method(evaluator, decorator.cls, "__call__")
    elif isinstance(decorator, Method):
        receiver, called = decorator.receiver, decorator.function
    else:
        called = decorator if isinstance(decorator, Function) else None
    return _replacement_by(evaluator, called, receiver, function) if called is not None else None


def _replacement_by(
    evaluator: Evaluator, decorator: Function, receiver: Value | None, function: Function
) -> Function | Class | None:
    returned = evaluator.returned(evaluator.frame(decorator.scope, None, decorator.closure, receiver))
    for value in returned:
        if isinstance(value, Instance) and value.cls.scope.parent is decorator.scope:
            return value.cls
    inner_scopes = [
        value.scope for value in returned if isinstance(value, Function) and value.scope.parent is decorator.scope
    ]
    for scope in inner_scopes:
        if scope is function.scope:
            continue
        if not _keeps_name(decorator.scope):
            return Function(scope, evaluator.frame_of(decorator.scope))
    return None


_WRAPPERS = frozenset(("wraps", "update_wrapper", "wraps_func", "wrapt", "decorator"))


def _keeps_name(decorator: Scope) -> bool:
    """Whether a decorator gives what it returns the name of what it decorates."""
    memo, key = decorator.module.memo, ("keeps name", decorator.node)
    if key not in memo:
        memo[key] = any(
            getattr(node, "attr", getattr(node, "id", "")) in _WRAPPERS
            or (isinstance(node, ast.Attribute) and node.attr == "__qualname__" and isinstance(node.ctx, ast.Store))
            for node in ast.walk(decorator.node)
        )
    known: bool = memo[key]
    return known


def imported(evaluator: Evaluator, alias: Any, module: Module) -> Iterator[Value]:
    name = alias.name if alias.asname else alias.name.partition(".")[0]
    yield _module(evaluator, name, alias, module)


def _module(evaluator: Evaluator, name: str, node: ast.AST, module: Module) -> Value:
    found = evaluator.codebase.find(name, module.path)
    if found is not None:
        return ModuleValue(name, found[1])
    return External(name, node, module)


def imported_from(evaluator: Evaluator, alias: Any, module: Module) -> Iterator[Value]:
    node: Any = up(alias)
    origin = node.module or ""
    found = evaluator.codebase.find(origin, module.path, node.level)
    if found is None:
        yield (
            External(f"{origin}.{alias.name}" if origin else alias.name, alias, module) if not node.level else UNKNOWN
        )
        return
    if found[1] == module.path:
        other = module if alias.name in module.scope.bindings and not module.is_package else None
    else:
        other = evaluator.codebase.module(found[1]) if found[1] else None
    if other is not None and (alias.name in other.scope.bindings or other.scope.star_imports):
        yield from evaluator.name_in_module(alias.name, other)
        return
    prefix = f"{origin}." if origin else ""
    inner = evaluator.codebase.find(prefix + alias.name, module.path, node.level)
    if inner is not None:
        yield ModuleValue(inner[0], inner[1])
    else:
        yield UNKNOWN
