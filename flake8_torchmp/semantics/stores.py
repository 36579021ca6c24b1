"""What the methods of a class store on their object, as its own code says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from . import changes, classes, looped
from .calls import is_class_method, receiver_name
from .nodes import FUNCTIONS, dotted, last_name, up
from .scopes import Change, Scope
from .values import Class


def by_attribute(cls: Class) -> dict[str, list[tuple[Change, Scope]]]:
    """What the methods that a class itself defines store on their object, by attribute."""
    key = ("stores", cls.node)
    memo = cls.scope.module.memo
    if key not in memo:
        memo[key] = _by_attribute(cls)
    known: dict[str, list[tuple[Change, Scope]]] = memo[key]
    return known


def holds_always(owners: Sequence[Class], change: Change) -> bool:
    """Whether a change stores the constant that an attribute holds from the start: `self.is_fitted = True`."""
    if change.kind != "attribute" or not isinstance(change.value, ast.Constant):
        return False
    sets = [pair for cls in owners for pair in by_attribute(cls).get(change.name, ())]
    if any(change.name in _counted(cls) for cls in owners):
        return False
    alike = ast.dump(change.value)
    return any(method.name == "__init__" for _, method in sets) and all(
        other.value is not None and ast.dump(other.value) == alike for other, _ in sets
    )


def _counted(cls: Class) -> set[str]:
    """The attributes that a class changes in another way than by storing: `self.count += 1`."""
    changed = (change for name in _receiver_names(cls) for change in cls.scope.module.changes.get(name, ()))
    targets = (change.target for change in changed if change.kind != "attribute")
    return {target.attr for target in targets if isinstance(target, ast.Attribute)}


def _by_attribute(cls: Class) -> dict[str, list[tuple[Change, Scope]]]:
    found: dict[str, list[tuple[Change, Scope]]] = {}
    module = cls.scope.module
    for name in _receiver_names(cls):
        for change in module.changes.get(name, ()):
            method = method_around(change.target, cls)
            if method is None or receiver_name(method) != name or is_class_method(method.node):
                continue
            if change.kind == "attribute" and isinstance(change.target, ast.Name):
                found.setdefault(change.name, []).append((change, method))
    return found


def dict_around(expression: ast.expr, method: Scope) -> ast.expr | None:
    """The dict whose entries are stored: as a whole, or by `for key, value in options.items()`."""
    call = up(expression)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return expression if isinstance(call, ast.Call) or getattr(call, "arg", "") is None else None
    key = call.args[1]
    bindings = method.bindings.get(expression.id, ()) if isinstance(expression, ast.Name) else ()
    looped_over = bindings[0].value if len(bindings) == 1 and bindings[0].path == (1,) else None
    if not isinstance(looped_over, ast.Call) or last_name(looped_over.func) != "items":
        return None
    is_pair = isinstance(key, ast.Name) and [b.path for b in method.bindings.get(key.id, ())] == [(0,)]
    return looped_over.func.value if is_pair and isinstance(looped_over.func, ast.Attribute) else None


def poured(cls: Class) -> list[tuple[ast.expr, Scope]]:
    module = cls.scope.module
    key = ("poured", cls.node)
    if key not in module.memo:
        found: list[tuple[ast.expr, Scope]] = []
        for call in (*module.calls.get("setattr", ()), *module.calls.get("update", ())):
            method = module.scope_of(call).enclosing_function()
            if method is not None and method.parent is cls.scope and receiver_name(method):
                found += [(expression, method) for expression in _poured_by(call, receiver_name(method))]
        module.memo[key] = found
    known: list[tuple[ast.expr, Scope]] = module.memo[key]
    return known


def _poured_by(call: ast.Call, receiver: str) -> list[ast.expr]:
    function = call.func
    if isinstance(function, ast.Name):
        computed = len(call.args) == 3 and not isinstance(call.args[1], ast.Constant)
        return call.args[2:] if computed and dotted(call.args[0]) == receiver else []
    assert isinstance(function, ast.Attribute)
    owner = function.value
    if isinstance(owner, ast.Call):
        is_state = dotted(owner.func) == "vars" and len(owner.args) == 1 and dotted(owner.args[0]) == receiver
    else:
        is_state = dotted(owner) == f"{receiver}.__dict__"
    return [*call.args, *(keyword.value for keyword in call.keywords)] if is_state else []


def cleared(cls: Class) -> frozenset[str]:
    """The attributes that a class's own `__init__` deletes or sets to None again at its end."""
    key = ("cleared", cls.node)
    memo = cls.scope.module.memo
    if key not in memo:
        found: set[str] = set()
        for node in classes.own(cls, "__init__")[-1:]:
            receiver = receiver_name(cls.scope.module.scopes[node])
            for statement in node.body:
                for target, stays in _stored_by(statement):
                    if isinstance(target, ast.Attribute) and dotted(target.value) == receiver:
                        (found.discard if stays else found.add)(target.attr)
        stored_elsewhere = {
            name for name, stored in by_attribute(cls).items() if any(method.name != "__init__" for _, method in stored)
        }
        memo[key] = frozenset(found - stored_elsewhere)
    known: frozenset[str] = memo[key]
    return known


def _stored_by(statement: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """What a statement stores or deletes, and whether something stays there."""
    if isinstance(statement, ast.Delete):
        yield from ((target, False) for target in statement.targets)
    elif isinstance(statement, ast.Assign):
        stays = not (isinstance(statement.value, ast.Constant) and statement.value.value is None)
        yield from ((target, stays) for target in statement.targets)
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield node, True


def growth(cls: Class, attribute: str) -> list[tuple[Change, Scope]]:
    """What a class's methods add to the object that an attribute holds: `self.steps.append(x)`."""
    module = cls.scope.module
    key = ("growth", cls.node, attribute)
    if key not in module.memo:
        module.memo[key] = _growth(cls, attribute)
    known: list[tuple[Change, Scope]] = module.memo[key]
    return known


def _growth(cls: Class, attribute: str) -> list[tuple[Change, Scope]]:
    found: list[tuple[Change, Scope]] = []
    module = cls.scope.module
    for name in _receiver_names(cls):
        for change in module.changes.get(name, ()):
            target = change.target
            if isinstance(target, ast.Subscript) and change.kind == "method":
                target = target.value  # `self.hooks[name].append(x)`
            if (
                isinstance(target, ast.Attribute)
                and target.attr == attribute
                and isinstance(target.value, ast.Name)
                and changes.adds(change)
                and (method := method_around(target, cls)) is not None
            ):
                found.append((change, method))
        found += [
            (change, method)
            for change in looped.changes_by_name(module).get(f"{name}.{attribute}", ())
            if (method := method_around(change.target, cls)) is not None
        ]
    return found


def method_around(node: ast.AST, cls: Class) -> Scope | None:
    """The method of a class that a node is part of, also inside of functions there."""
    method = cls.scope.module.scope_of(node).enclosing_function()
    while method is not None and method.parent is not cls.scope:
        method = method.parent.enclosing_function() if method.parent is not None else None
    return method


def _receiver_names(cls: Class) -> list[str]:
    names = {
        receiver_name(cls.scope.module.scopes[statement])
        for statement in cls.node.body
        if isinstance(statement, FUNCTIONS)
    }
    return sorted(names - {""})


def calls_base(cls: Class, name: str) -> bool:
    """Whether a class's methods call `super().name(…)` or `Base.name(…)`, or take it from there."""
    module = cls.scope.module
    key = ("calls base", cls.node, name)
    if key not in module.memo:
        module.memo[key] = any(
            isinstance(node, ast.Attribute)
            and (method := method_around(node, cls)) is not None
            and not (isinstance(node.value, ast.Name) and node.value.id == receiver_name(method))
            for node in module.read.get(name, ())
        )
    known: bool = module.memo[key]
    return known
