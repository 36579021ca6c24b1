"""When code runs: while a module is imported, or in the parent once the program runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import made_by_class_methods, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import DEFINITIONS, FUNCTIONS, ancestors, body_nodes, dotted, last_name
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import Class, Function, Method

from .construction import CONSTRUCTION
from .guards import is_guarded

CALLING = "__call__"
COMMANDS = frozenset(("command", "callback"))
"""Methods of click, Typer, cyclopts and cleo that make the function behind them a command of the program."""


class Phases:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._phases: dict[Place, str] = {}
        self.forget()

    def forget(self) -> None:
        self._references: dict[int, dict[str, list[tuple[ast.AST, Module]]]] = {}

    def at(self, node: ast.AST, module: Module) -> str:
        """When a statement runs: at "import", in the "parent" once the program runs, or "unknown"."""
        phase, function = self.here(node, module)
        return phase if function is None else self.of(function)

    def of(self, scope: Scope) -> str:
        """When a function runs, as all that leads to it says; the parent outweighs the import."""
        known = self._phases.get(scope.place)
        if known is None:
            known = self._phases[scope.place] = self._search(scope)
        return known

    def here(self, node: ast.AST, module: Module) -> tuple[str, Scope | None]:
        """What a place itself says, or the function that decides."""
        if is_guarded(self.evaluator, node, module):
            return "parent", None
        function = module.scope_of(node).enclosing_function()
        return ("import", None) if function is None else ("", function)

    def _search(self, scope: Scope) -> str:
        """Goes from function to function, against the calls: the answer is the same wherever a circle is entered."""
        seen = {scope.place}
        pending = [scope]
        runs_at_import = False
        while pending:
            current = pending.pop(0)
            for phase, function in self._led_to_by(current):
                if function is not None:
                    phase = self._phases.get(function.place, "")
                    if not phase and function.place not in seen:
                        seen.add(function.place)
                        pending.append(function)
                if phase == "parent":
                    return "parent"
                runs_at_import = runs_at_import or phase == "import"
        if runs_at_import:
            return "import"
        self._phases.update(dict.fromkeys(seen, "unknown"))
        return "unknown"

    def _led_to_by(self, scope: Scope) -> Iterator[tuple[str, Scope | None]]:
        outer = scope.parent.enclosing_function() if scope.parent is not None else None
        referred = outer is not None
        if outer is not None:
            yield "", outer
        paths = self._paths_naming(scope)
        using = [path for path in paths if not self._only_decorates(path, scope)]
        if len(using) < len(paths):
            referred = True
            yield "import", None
        for node, module in self._references_in(using, scope):
            referred = True
            yield self.here(node, module)
        if not referred and self._is_entry(scope):
            yield "parent", None

    def _is_entry(self, scope: Scope) -> bool:
        """A function that nobody in the project refers to, and that does the work of a program."""
        assert isinstance(scope.node, FUNCTIONS)
        decorators = getattr(scope.node, "decorator_list", ())
        if scope.name == "main" or any(_makes_command(decorator) for decorator in decorators):
            return True
        return any(isinstance(n, ast.Call) and last_name(n.func).endswith("oader") for n in body_nodes(scope.node))

    def references(self, scope: Scope) -> list[tuple[ast.AST, Module]]:
        """Where the project names a function, other than in its own body."""
        return list(self._references_in(self._paths_naming(scope), scope))

    @staticmethod
    def _name_in_use(scope: Scope) -> str:
        """The name by which a function is called: for what makes an object or is run by calling it, its class's."""
        owner = scope.parent
        is_by_class = scope.name in (*CONSTRUCTION, CALLING) and owner is not None and owner.is_class
        return owner.name if is_by_class and owner is not None else scope.name

    def _paths_naming(self, scope: Scope) -> list[str]:
        owner = scope.parent
        if owner is None or isinstance(scope.node, ast.Lambda):
            return []
        paths = self._paths_for(self._name_in_use(scope), scope)
        if owner.is_class:
            named = self._paths_for(owner.name, scope)
            paths = [path for path in paths if path in named]
        return paths

    def _paths_for(self, name: str, scope: Scope) -> list[str]:
        codebase = self.evaluator.codebase
        known = codebase.known_as(name, scope.module.path)
        return list(dict.fromkeys(path for other, home in known for path in codebase.mentioning(other, home)))

    def _references_in(self, paths: list[str], scope: Scope) -> Iterator[tuple[ast.AST, Module]]:
        codebase = self.evaluator.codebase
        known_as = codebase.known_as(self._name_in_use(scope), scope.module.path)
        names = list(dict.fromkeys(name for name, _ in known_as))
        reading = [path for path in paths if any(codebase.reads(path, name) for name in names)]
        known = self._references.setdefault(id(scope), {})
        for path in codebase.worth_parsing(reading, scope.module.path):
            if path not in known:
                known[path] = list(self._find_references(path, names, scope))
            yield from known[path]

    def _find_references(self, path: str, names: list[str], scope: Scope) -> Iterator[tuple[ast.AST, Module]]:
        module = self.evaluator.codebase.module(path)
        if module is None:
            return
        reading = (name for name in names if self.evaluator.codebase.reads(path, name))
        for node in (load for name in reading for load in module.loads(name)):
            if not any(item is scope.node for item in ancestors(node)) and self._names_function(node, scope, module):
                yield self._place(node), module
        owner = scope.parent
        if scope.name in CONSTRUCTION and module is scope.module and owner is not None and owner.is_class:
            for call in made_by_class_methods(owner):
                yield self._place(call.func), module

    def _only_decorates(self, path: str, scope: Scope) -> bool:
        """Whether a file uses a function at module level alone, as a decorator, going by its bytes."""
        codebase = self.evaluator.codebase
        data = codebase.data(path)
        name = self._name_in_use(scope)
        if path == scope.module.path or b"__main__" in data or codebase.binds(path, name):
            return False
        word = re.escape(name.encode())
        decorators = re.findall(rb"^@" + word + rb"\b", data, re.MULTILINE)
        uses = re.findall(rb"\b" + word + rb"\b", codebase.without_imports(path))
        return bool(decorators) and len(decorators) == len(uses)

    def _names_function(self, node: Any, scope: Scope, module: Module) -> bool:
        if isinstance(node, ast.Attribute) and scope.parent is not None and scope.parent.is_class:
            return not self._is_of_another_class(node, scope, module)
        for value in self.evaluator.values(node, self.evaluator.frame_at(node, module)):
            target = value.function if isinstance(value, Method) else value
            if isinstance(target, Function) and target.scope is scope:
                return True
            if isinstance(target, Class) and target.scope is scope.parent:
                return True
        return False

    def _is_of_another_class(self, node: ast.Attribute, scope: Scope, module: Module) -> bool:
        """Whether `self.name` means a method of a class that has nothing to do with the one asked for."""
        around = module.scope_of(node).enclosing_function()
        own, owner = around.enclosing_class() if around is not None else None, scope.parent
        if own is None or around is None or owner is None or dotted(node.value) != receiver_name(around):
            return False
        first, second = (Class(item, self.evaluator.frame_of(item.parent)) for item in (own, owner) if item.parent)
        found = classes.find_method(self.evaluator, first, node.attr)
        return (
            found is not None
            and found.scope is not scope
            and not any(cls.scope is own for cls in classes.project_classes(self.evaluator, second))
        )

    @staticmethod
    def _place(node: ast.AST) -> ast.AST:
        """Where a reference counts: for a decorator, where the decorated function is defined."""
        child = node
        for parent in ancestors(node):
            if isinstance(parent, DEFINITIONS) and child in parent.decorator_list:
                return parent
            if isinstance(parent, ast.stmt):
                break
            child = parent
        return node


def _makes_command(decorator: ast.expr) -> bool:
    """`@cli.command()`, `@app.command`."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr in COMMANDS
