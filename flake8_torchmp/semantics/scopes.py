"""Scopes: which names a module, class or function binds, and what is changed through them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from .nodes import FUNCTIONS, ScopeNode, position

if TYPE_CHECKING:
    from .module import Module

Place = tuple[str, int, int]


class Binding(NamedTuple):
    """One place where a name gets a value."""

    name: str
    kind: str
    """assign, unpack, augmented, for, with, import, from, def, class, parameter, except, walrus, delete, match"""
    node: ast.AST
    """The name's own node, or the definition or alias that binds it."""
    value: ast.expr | None
    scope: Scope
    path: tuple[int, ...] = ()
    """For unpacked targets: the positions that lead from the value to this name; -1 where a star hides it."""


class Change(NamedTuple):
    """One place where an object is changed through a name: `x.append(1)`, `x[k] = v`, `x.a = v`, `x += [1]`."""

    kind: str
    """method, item, attribute, augmented, delete, argument"""
    target: ast.expr
    """The expression that is changed: `x`, or `x.a` of `x.a.append(1)`."""
    node: ast.AST
    name: str
    """The method or attribute, if any."""
    value: ast.expr | None
    path: tuple[int, ...] = ()
    """As in a binding: where in the value it stands, for unpacked targets."""


class Scope:
    __slots__ = (
        "bindings",
        "global_names",
        "is_class",
        "is_function",
        "is_generator",
        "is_module",
        "module",
        "node",
        "nonlocal_names",
        "parent",
        "returns",
        "star_imports",
    )

    def __init__(self, node: ScopeNode, parent: Scope | None, module: Module) -> None:
        self.node = node
        self.parent = parent
        self.module = module
        self.is_module = parent is None
        self.is_function = isinstance(node, FUNCTIONS)
        self.is_class = isinstance(node, ast.ClassDef)
        self.bindings: dict[str, list[Binding]] = {}
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.returns: list[ast.Return] = []
        self.is_generator = False
        self.star_imports: list[ast.ImportFrom] = []

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>" if isinstance(self.node, ast.Lambda) else "")

    @property
    def place(self) -> Place:
        """Tells a function or class from all others of a project, also after its module was read anew."""
        return (self.module.path, *position(self.node))

    def enclosing_function(self) -> Scope | None:
        """The function whose body this scope is part of, itself included; None at module level."""
        scope: Scope | None = self
        while scope is not None and not scope.is_function:
            scope = scope.parent
        return scope

    def enclosing_class(self) -> Scope | None:
        """The class that a function of this scope is a method of."""
        scope: Scope | None = self
        while scope is not None:
            if scope.is_function and scope.parent is not None and scope.parent.is_class:
                return scope.parent
            scope = scope.parent
        return None

    def outermost(self) -> Scope:
        """The function or class at module level that this scope is part of, itself included."""
        scope = self
        while scope.parent is not None and not scope.parent.is_module:
            scope = scope.parent
        return scope

    def bind(self, binding: Binding) -> None:
        self.bindings.setdefault(binding.name, []).append(binding)

    def __repr__(self) -> str:
        return f"<Scope {self.name or type(self.node).__name__} of {self.module.name}>"
