"""One module: a single walk over its tree collects scopes, bindings, calls, changes and classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Any

from flake8_torchmp import source

from .binder import Binder
from .nodes import COMPREHENSIONS, FUNCTIONS, FunctionNode, last_name, position, up
from .scopes import Binding, Change, Scope


class Module:
    def __init__(self, path: str, name: str, tree: ast.Module, data: bytes, is_package: bool = False) -> None:
        self.path = path
        self.name = name
        self.tree = tree
        self.data = data
        self.is_package = is_package
        self.scopes: dict[ast.AST, Scope] = {}
        self.calls: defaultdict[str, list[ast.Call]] = defaultdict(list)
        """By the last name of what is called: `a.b.c()` and `c()` are both at "c"."""
        self.changes: defaultdict[str, list[Change]] = defaultdict(list)
        """By the first name of what is changed: `self.a.append(1)` is at "self"."""
        self.decorators: defaultdict[str, list[tuple[ast.expr, ast.AST]]] = defaultdict(list)
        """The decorators with what they decorate, by their last name."""
        self.nodes: list[ast.AST] = []
        """What the walk came by, in source order."""
        self.classes: list[ast.ClassDef] = []
        self.functions: list[FunctionNode] = []
        self.scope = Scope(tree, None, self)
        self._lines: list[str] | None = None
        self.read: defaultdict[str, list[ast.expr]] = defaultdict(list)
        """The names and attributes that are read, by their last name, as the walk comes by."""
        self._names: defaultdict[str, dict[str, None]] | None = None
        self.memo: dict[tuple[object, ...], Any] = {}
        """Answers that depend on this module's tree alone."""
        Binder(self).run()

    @property
    def lines(self) -> list[str]:
        if self._lines is None:
            self._lines = source.lines_of(source.decode(self.data))
        return self._lines

    def names_of(self, name: str) -> list[str]:
        """A name and the other names under which the module imports or keeps what it stands for."""
        if self._names is None:
            self._names = defaultdict(dict)
            for scope in self.scopes.values():
                for other, bindings in scope.bindings.items():
                    for binding in bindings:
                        meant = _stands_for(binding)
                        if meant and meant != other:
                            self._names[meant][other] = None
        return [name, *self._names.get(name, ())]

    def imported_as(self, name: str) -> list[str]:
        """The names that the module has at its own level for what it imports under a name."""
        key = ("imported as",)
        if key not in self.memo:
            known: defaultdict[str, dict[str, None]] = defaultdict(dict)
            for own, bindings in self.scope.bindings.items():
                for binding in bindings:
                    if binding.kind == "from":
                        known[getattr(binding.node, "name", "")][own] = None
            self.memo[key] = known
        return list(self.memo[key].get(name, ()))

    def all_names_of(self, names: frozenset[str]) -> frozenset[str]:
        """Some names and all other names under which the module imports or keeps what they stand for."""
        key = ("all names", names)
        known: frozenset[str] | None = self.memo.get(key)
        if known is None:
            known = self.memo[key] = names.union(*(self.names_of(name) for name in names))
        return known

    def reference(self, definition: Any) -> ast.expr:
        """A name that stands for a function or class right behind its definition."""
        known: ast.expr | None = getattr(definition, "_torchmp_reference", None)
        if known is None:
            line, column = definition.end_lineno, definition.end_col_offset
            known = ast.Name(definition.name, ast.Load(), lineno=line, col_offset=column)
            known._torchmp_up = definition  # type: ignore[attr-defined]
            known._torchmp_scope = self.scope_of(definition)  # type: ignore[attr-defined]
            definition._torchmp_reference = known
        return known

    def loads(self, name: str) -> list[ast.expr]:
        """Where a name or attribute is read, in source order; annotations of parameters aside."""
        return sorted(self.read.get(name, ()), key=position)

    def calls_of(self, name: str) -> list[ast.Call]:
        """The calls of something by its name or another name for it."""
        return [call for known in self.names_of(name) for call in self.calls.get(known, ())]

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which an expression or statement is evaluated; for a definition, where it is bound."""
        try:
            return node._torchmp_scope  # type: ignore[attr-defined,no-any-return]
        except AttributeError:  # a part that the walk does not stop at
            known = node._torchmp_scope = self._find_scope(node)  # type: ignore[attr-defined]
            return known

    def _find_scope(self, node: ast.AST) -> Scope:
        child, parent = node, up(node)
        while parent is not None:
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                if not _is_header(parent, child):
                    return self.scopes[parent]
            elif isinstance(parent, ast.comprehension):
                comprehension: Any = up(parent)
                if comprehension.generators[0] is parent and child is parent.iter:
                    parent = comprehension  # evaluated outside
            elif isinstance(parent, COMPREHENSIONS):
                return self.scopes[parent]
            child, parent = parent, up(parent)
        return self.scope

    def take_apart(self) -> None:
        """Frees the tree: nodes and scopes hold one another in circles, which Python takes long to find."""
        for node in self.nodes:
            node.__dict__.clear()
        for scope in self.scopes.values():
            scope.bindings.clear()
        self.tree.__dict__.clear()
        self.__dict__.clear()

    def __repr__(self) -> str:
        return f"<Module {self.name}>"


def _stands_for(binding: Binding) -> str:
    """The name of which a binding makes another name."""
    if binding.kind == "from":
        return getattr(binding.node, "name", "")
    return last_name(binding.value) if binding.kind == "assign" and binding.value is not None else ""


def _is_header(definition: ast.AST, child: ast.AST) -> bool:
    """Whether a part of a definition is evaluated where the definition stands, not inside."""
    if isinstance(definition, ast.Lambda):
        return child is definition.args
    return not isinstance(child, ast.stmt)


def is_reference(node: ast.AST) -> bool:
    """Whether a name stands in no text: for what a decorator is called with."""
    return getattr(getattr(node, "_torchmp_up", None), "_torchmp_reference", None) is node
