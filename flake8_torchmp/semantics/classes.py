"""The project's classes: what they derive from and define, and how their objects are made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .calls import Arguments, Frame
from .scopes import Scope
from .values import (
    Class,
    External,
    Function,
    Instance,
    Method,
    Result,
    Value,
)

if TYPE_CHECKING:
    from .evaluate import Evaluator

RECORD_BASES = frozenset(("typing.NamedTuple", "typing_extensions.NamedTuple", "pydantic.BaseModel", "msgspec.Struct"))


def linearize(evaluator: Evaluator, cls: Class) -> tuple[Value, ...]:
    """The class, then its bases from left to right, each before its own bases; a base counts where it comes last."""
    found: list[Value] = [cls]
    frame = cls.closure or evaluator.frame_of(cls.scope.module.scope)
    for base in cls.node.bases:
        for value in evaluator.values(base, frame):
            if isinstance(value, Class):
                inner = evaluator.mro(value)
            elif isinstance(value, Result) and isinstance(value.callee, External):
                inner = (value, *_bases_in_call(evaluator, value))
            else:
                inner = (value,)
            keys = {item.key for item in inner}
            found = [item for item in found if item is cls or item.key not in keys] + list(inner)
            break
    return tuple(found)


def _bases_in_call(evaluator: Evaluator, value: Result) -> Iterator[Value]:
    """`with_metaclass(Meta, Base)`: the arguments may be bases."""
    for source in value.arguments.positional:
        for inner in evaluator.of(source):
            if isinstance(inner, Class):
                yield from evaluator.mro(inner)
            elif isinstance(inner, External):
                yield inner


def project_classes(evaluator: Evaluator, cls: Class) -> list[Class]:
    return [item for item in evaluator.mro(cls) if isinstance(item, Class)]


def scopes_above(evaluator: Evaluator, scope: Scope) -> list[Scope]:
    """A class and those above it."""
    assert scope.parent is not None
    return [item.scope for item in project_classes(evaluator, Class(scope, evaluator.frame_of(scope.parent)))]


def library_bases(evaluator: Evaluator, cls: Class) -> list[str]:
    """The qualified names of the library classes that a class derives from."""
    return [item.name for item in evaluator.mro(cls) if isinstance(item, External)]


def own(cls: Class, name: str) -> list[Any]:
    """The functions that a class itself defines under a name."""
    return [b.node for b in cls.scope.bindings.get(name, ()) if b.kind == "def"]


def find_method(evaluator: Evaluator, cls: Class, name: str) -> Function | None:
    for item in project_classes(evaluator, cls):
        for node in own(item, name)[-1:]:
            return Function(item.scope.module.scopes[node], class_frame(evaluator, item))
    return None


def class_frame(evaluator: Evaluator, cls: Class) -> Frame:
    """The frame of a class's own body."""
    return evaluator.frame(cls.scope, None, cls.closure, None)


def is_record(evaluator: Evaluator, cls: Class) -> bool:
    """Whether the class gets an `__init__` from its annotated fields."""
    for decorator in cls.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        if name in ("dataclass", "define", "frozen", "mutable", "attrs", "s", "pydantic_dataclass"):
            return True
    return any(name in RECORD_BASES for name in library_bases(evaluator, cls))


def fields(evaluator: Evaluator, cls: Class) -> dict[str, tuple[ast.expr | None, Class]]:
    """The fields of a record class with their defaults, the bases' first."""
    found: dict[str, tuple[ast.expr | None, Class]] = {}
    for item in reversed(project_classes(evaluator, cls)):
        if not is_record(evaluator, item):
            continue
        for statement in item.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                annotation = statement.annotation
                text = ast.unparse(annotation) if not isinstance(annotation, ast.Constant) else str(annotation.value)
                if "ClassVar" not in text:
                    found[statement.target.id] = (statement.value, item)
    return found


# making objects


def entered(evaluator: Evaluator, value: Value) -> tuple[Value, ...]:
    """What an object gives where it is entered."""
    if isinstance(value, Instance):
        method = find_method(evaluator, value.cls, "__enter__")
        if method is not None:
            return evaluator.returned(evaluator.frame(method.scope, None, method.closure, value))
    return (value,)


def is_bare(instance: Instance) -> bool:
    """Whether an object was made by `cls.__new__(cls)`, which runs no `__init__`."""
    call = instance.arguments.call if instance.arguments is not None else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "__new__"


def init_frame(evaluator: Evaluator, instance: Instance, cls: Class) -> Frame | None:
    """The frame in which the `__init__` that a class itself defines makes an object, perhaps of a subclass."""
    nodes = own(cls, "__init__")
    if not nodes:
        return None
    scope = cls.scope.module.scopes[nodes[-1]]
    closure = class_frame(evaluator, cls)
    if instance.arguments is None or is_bare(instance):
        return evaluator.frame(scope, None, closure, instance)
    arguments: Arguments | None = instance.arguments
    for item in project_classes(evaluator, instance.cls):
        if item.scope is cls.scope:
            break
        for node in own(item, "__init__")[-1:]:
            inner = evaluator.frame(item.scope.module.scopes[node], arguments, class_frame(evaluator, item), instance)
            handed_on = super_call(evaluator, inner, scope)
            if handed_on is not None:
                arguments = handed_on
    return evaluator.frame(scope, arguments, closure, instance)


def maker(evaluator: Evaluator, cls: Class) -> Function | None:
    """What of the project runs when an object of a class is made."""
    init = find_method(evaluator, cls, "__init__")
    if init is None and is_record(evaluator, cls):
        return find_method(evaluator, cls, "__post_init__")
    return init


def making_frame(evaluator: Evaluator, instance: Instance) -> Frame | None:
    """The frame in which that runs."""
    made_by = maker(evaluator, instance.cls)
    if made_by is None or made_by.scope.name != "__init__":
        return evaluator.frame(made_by.scope, None, made_by.closure, instance) if made_by is not None else None
    owners = project_classes(evaluator, instance.cls)
    return init_frame(evaluator, instance, next(cls for cls in owners if cls.scope is made_by.scope.parent))


def super_call(evaluator: Evaluator, frame: Frame, target: Scope) -> Arguments | None:
    """The arguments with which an `__init__` calls that of a base."""
    for call in frame.module.calls["__init__"]:
        if frame.module.scope_of(call).enclosing_function() is not frame.scope:
            continue
        for callee in evaluator.values(call.func, frame):
            if isinstance(callee, Method) and callee.function.scope is target:
                return evaluator.arguments(call, frame)
            if isinstance(callee, Function) and callee.scope is target:
                entered = evaluator.enter(callee, evaluator.arguments(call, frame))
                return entered.arguments if entered is not None else None
    return None


def library_init(evaluator: Evaluator, instance: Instance) -> list[tuple[str, Arguments]]:
    """With what the `__init__` of library bases is called: (qualified name of the base, arguments)."""
    found: list[tuple[str, Arguments]] = []
    inits = [item for item in project_classes(evaluator, instance.cls) if own(item, "__init__")]
    for item in inits:
        frame = init_frame(evaluator, instance, item)
        if frame is None:
            continue
        for call in frame.module.calls["__init__"]:
            if frame.module.scope_of(call).enclosing_function() is frame.scope:
                found += [
                    (callee.name.removesuffix(".__init__"), evaluator.arguments(call, frame))
                    for callee in evaluator.values(call.func, frame)
                    if isinstance(callee, External)
                ]
    if not inits and instance.arguments is not None and not is_record(evaluator, instance.cls):
        found += [(name, instance.arguments) for name in library_bases(evaluator, instance.cls)]
    return found


def method_around(scope: Scope, owner: Scope) -> Scope | None:
    """The method of a class that a scope is part of."""
    current: Scope | None = scope
    while current is not None and current.parent is not owner:
        current = current.parent
    return current


def is_replaced(scope: Scope, owner: Scope, derived: Scope) -> bool:
    """Whether a derived class has its own instead of the method that a scope is part of, and does not call it."""
    method = method_around(scope, owner) if owner is not derived else None
    bound = derived.bindings.get(method.name, ()) if method is not None else ()
    replacing = [binding.node for binding in bound if binding.kind == "def"]
    return bool(replacing) and not any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and method and part.func.attr == method.name
        for node in replacing
        for part in ast.walk(node)
    )
