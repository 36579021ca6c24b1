"""Calls: which argument a parameter gets, and the frame in which a function's body is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .module import Module
from .nodes import FUNCTIONS, FunctionNode, last_name, root_name
from .scopes import Scope
from .values import Source, Value


class Arguments:
    """The arguments of one call, `*` and `**` spread out as far as they can be seen."""

    __slots__ = ("call", "frame", "keywords", "loose", "open_keywords", "open_positional", "positional")

    def __init__(self, call: ast.AST, frame: Frame) -> None:
        self.call = call
        self.frame = frame
        self.positional: list[Source] = []
        self.loose: list[Source] = []
        """Positional arguments of which only running tells the place: `*steps`, where more was appended to `steps`."""
        self.keywords: dict[str, Source] = {}
        self.open_positional = False
        """Whether unseen positional arguments may follow."""
        self.open_keywords = False

    def get(self, index: int | None, name: str = "") -> Source | None:
        """The argument at a position or with a name."""
        if index is not None and 0 <= index < len(self.positional):
            return self.positional[index]
        return self.keywords.get(name) if name else None

    @property
    def is_open(self) -> bool:
        return self.open_positional or self.open_keywords

    def all(self) -> Iterator[tuple[str, Source]]:
        for index, source in enumerate(self.positional):
            yield str(index), source
        for index, source in enumerate(self.loose, len(self.positional) + 1):
            yield str(index), source
        yield from self.keywords.items()

    def before(self, later: Arguments) -> Arguments:
        """These arguments, bound by a partial, with those of the call that comes later."""
        joined = Arguments(later.call, later.frame)
        joined.positional = [*self.positional, *later.positional]
        joined.loose = [*self.loose, *later.loose]
        joined.keywords = {**self.keywords, **later.keywords}
        joined.open_positional = self.open_positional or later.open_positional
        joined.open_keywords = self.open_keywords or later.open_keywords
        return joined


class Frame:
    """A function's body as one call runs it, or as any call might (then `arguments` is None)."""

    __slots__ = ("arguments", "closure", "depth", "receiver", "scope")

    def __init__(
        self, scope: Scope, arguments: Arguments | None, closure: Frame | None, receiver: Value | None
    ) -> None:
        self.scope = scope
        self.arguments = arguments
        self.closure = closure
        self.receiver = receiver
        """What the first parameter of a method is."""
        self.depth: int = arguments.frame.depth + 1 if arguments is not None else 0

    @property
    def module(self) -> Module:
        return self.scope.module

    def of(self, scope: Scope) -> Frame | None:
        """This frame or the one around it that runs a scope."""
        frame: Frame | None = self
        while frame is not None and frame.scope is not scope:
            frame = frame.closure
        return frame


class Parameter:
    """A parameter of a function: where it stands and what it is when it is left out."""

    __slots__ = ("default", "index", "kind", "name")

    def __init__(self, name: str, kind: str, index: int | None, default: ast.expr | None) -> None:
        self.name = name
        self.kind = kind
        """positional, keyword, rest (`*args`) or options (`**kwargs`)"""
        self.index = index
        self.default = default


def parameters(node: FunctionNode) -> dict[str, Parameter]:
    known: dict[str, Parameter] | None = getattr(node, "_torchmp_parameters", None)
    if known is None:
        known = node._torchmp_parameters = _find_parameters(node)  # type: ignore[union-attr]
    return known


def _find_parameters(node: FunctionNode) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[Any] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        found[argument.arg] = Parameter(argument.arg, "positional", index, default)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found[argument.arg] = Parameter(argument.arg, "keyword", None, default)
    if arguments.vararg:
        found[arguments.vararg.arg] = Parameter(arguments.vararg.arg, "rest", len(positional), None)
    if arguments.kwarg:
        found[arguments.kwarg.arg] = Parameter(arguments.kwarg.arg, "options", None, None)
    return found


def bound_to(scope: Scope, arguments: Arguments) -> Iterator[tuple[str, Source]]:
    """The parameters of a function that a call gives arguments by position or by name, and what it gives them."""
    node: Any = scope.node
    shift = int(has_receiver(scope))
    for name, parameter in parameters(node).items():
        source = arguments.get(None if parameter.index is None else parameter.index - shift, name)
        if source is not None and parameter.kind in ("positional", "keyword"):
            yield name, source


def is_static(node: FunctionNode) -> bool:
    return _decorated_as(node, "staticmethod")


def is_class_method(node: Any) -> bool:
    return _decorated_as(node, "classmethod") or getattr(node, "name", "") in ("__new__", "__init_subclass__")


def is_property(node: Any) -> bool:
    """Whether reading an attribute calls the method, also by a library's decorator such as `lazy_property`."""
    decorators = getattr(node, "decorator_list", ())
    return any(last_name(item.func if isinstance(item, ast.Call) else item).endswith("property") for item in decorators)


def is_cached_property(node: Any) -> bool:
    """Whether the first reading of an attribute stores what the method returns."""
    return _decorated_as(node, "cached_property")


def remembers_results(node: Any) -> bool:
    """Whether a function gives again what it has once given: `@functools.cache`, `@lru_cache(maxsize=None)`."""
    decorators = getattr(node, "decorator_list", ())
    return any(last_name(d.func if isinstance(d, ast.Call) else d) in ("cache", "lru_cache") for d in decorators)


def is_plain(node: Any) -> bool:
    """Whether no decorator changes what calling a function gives, as contextlib's do."""
    if isinstance(node, ast.AsyncFunctionDef):
        return False
    return all(isinstance(d, ast.Name) and d.id.endswith("method") for d in getattr(node, "decorator_list", ()))


def is_manager(node: Any) -> bool:
    """Whether a generator is made what `with` enters: it then gives what it yields."""
    decorators = getattr(node, "decorator_list", ())
    return any(last_name(d) in ("contextmanager", "asynccontextmanager") for d in decorators)


def _decorated_as(node: FunctionNode, name: str) -> bool:
    decorators = getattr(node, "decorator_list", ())
    if not decorators:  # asked of every function
        return False
    return any((item.id if isinstance(item, ast.Name) else getattr(item, "attr", "")) == name for item in decorators)


def has_receiver(scope: Scope) -> bool:
    """Whether a function's first parameter is the object or class that it is called on."""
    if scope.parent is None or not scope.parent.is_class or isinstance(scope.node, ast.Lambda):
        return False
    node: Any = scope.node
    return not is_static(node)


def receiver_name(scope: Scope) -> str:
    """`self`, as a method calls it; nothing for functions, classes and modules."""
    if not scope.is_function or scope.parent is None or not scope.parent.is_class:
        return ""
    node: Any = scope.node
    names = node.args.posonlyargs or node.args.args
    return names[0].arg if names and has_receiver(scope) else ""


def handed_names(scope: Scope) -> set[str]:
    """The parameters of a function without `self`, and its names for parts of them: `line, options = job`."""
    assert isinstance(scope.node, FUNCTIONS)
    found = set(parameters(scope.node)) - {receiver_name(scope)}
    for name, bindings in scope.bindings.items():
        values = [b.value for b in bindings if b.kind in ("assign", "unpack") and b.value is not None]
        if len(values) == len(bindings) and all(root_name(value) in found for value in values):
            found.add(name)
    return found


def made_by_class_methods(class_scope: Scope) -> list[ast.Call]:
    """`cls(…)` in the class methods of a class, whatever they call it."""
    assert isinstance(class_scope.node, ast.ClassDef)
    module = class_scope.module
    methods = [statement for statement in class_scope.node.body if isinstance(statement, FUNCTIONS)]
    names = {receiver_name(module.scopes[method]): None for method in methods if is_class_method(method)}
    calls = [call for name in names if name for call in module.calls.get(name, ())]
    return [call for call in calls if module.scope_of(call).enclosing_class() is class_scope]
