"""What runs when a program's files are imported, by whatever calls: loops over lists of functions, decorators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from flake8_torchmp.boundary.circumstances.guards import is_guarded, runs_at_import
from flake8_torchmp.boundary.circumstances.phases import Phases
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.flow import caught_around
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import is_called, last_name
from flake8_torchmp.semantics.scopes import Scope

from .starts import Starts, import_nodes

MOST_USERS = 20


class ImportTime:
    def __init__(self, evaluator: Evaluator, starts: Starts, phases: Phases) -> None:
        self.evaluator = evaluator
        self.starts = starts
        self.phases = phases

    def comes_to(self, node: ast.AST, module: Module, kept_by: frozenset[str]) -> bool:
        """Whether importing a file runs a place, and nobody on the way catches one of some exceptions."""
        if is_program_file(module):
            return False
        scope = module.scope_of(node).enclosing_function()
        if scope is None:
            return not self._is_left_to_the_parent(module)
        seen = {id(scope)}
        pending = [scope]
        while pending:
            current = pending.pop()
            if self.starts.is_run_by_decorator(current) or self._decorates(current) or self._is_run_by_class(current):
                return True
            for reference, place in self.phases.references(current):
                if not _runs(reference, current) or self._is_kept_away(reference, place, kept_by):
                    continue
                caller = place.scope_of(reference).enclosing_function()
                if caller is None:
                    if not is_program_file(place) and not self._is_left_to_the_parent(place):
                        return True
                elif id(caller) not in seen:
                    seen.add(id(caller))
                    pending.append(caller)
        return self._is_called_from_a_list(seen, module, kept_by)

    def _is_left_to_the_parent(self, module: Module) -> bool:
        """Whether only functions and guarded code import a module, and it has nothing that children look up in it."""
        codebase = self.evaluator.codebase
        importers = [codebase.module(path) for path in codebase.importers(module.path)]
        if (
            not importers
            or module.classes
            or not all(place and self._imports_late(place, module) for place in importers)
        ):
            return False
        own = [module.scopes[node] for node in module.functions if runs_at_import(node, module)]
        return all(is_called(node) for scope in own for node, _ in self.phases.references(scope))

    def _imports_late(self, place: Module, module: Module) -> bool:
        imports = [node for node in ast.walk(place.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        return all(
            not runs_at_import(node, place) or is_guarded(self.evaluator, node, place)
            for node in imports
            if any(self._leads_to(name, node, place, module) for name in _modules_named(node))
        )

    def _leads_to(self, name: str, node: ast.Import | ast.ImportFrom, place: Module, module: Module) -> bool:
        found = self.evaluator.codebase.find(name, place.path, getattr(node, "level", 0))
        return found is not None and found[1] == module.path

    def _is_kept_away(self, node: ast.AST, module: Module, kept_by: Iterable[str]) -> bool:
        return is_guarded(self.evaluator, node, module) or not set(kept_by).isdisjoint(caught_around(node))

    def _is_called_from_a_list(self, functions: set[int], module: Module, kept_by: frozenset[str]) -> bool:
        """Whether `for step in STEPS: step()` runs one of some functions, in its module or a user of that."""
        for path in self.evaluator.codebase.users([module.path])[:MOST_USERS]:
            place = self.evaluator.codebase.module(path)
            if place is None or is_program_file(place):
                continue
            for node in import_nodes(place):
                called = node.func if isinstance(node, ast.Call) else None
                if not isinstance(called, ast.Name | ast.Subscript) or self._is_kept_away(node, place, kept_by):
                    continue
                for value in self.evaluator.values(called, self.evaluator.frame_at(node, place)):
                    function = self.starts.possible.function_of(value)
                    if function is not None and id(function.scope) in functions:
                        return True
        return False

    def _is_run_by_class(self, function: Scope) -> bool:
        """Whether it is an `__init_subclass__`, which runs where classes are derived."""
        if function.name != "__init_subclass__" or function.parent is None:
            return False
        return any(
            runs_at_import(cls.node, cls.scope.module) and not is_guarded(self.evaluator, cls.node, cls.scope.module)
            for cls in self.evaluator.callers.subclasses(function.parent)
        )

    def _decorates(self, function: Scope) -> bool:
        """Whether calls give this function, to decorate what stands at module level: `@with_method("spawn")`."""
        maker = function.parent
        if maker is None or not maker.is_function or isinstance(maker.node, ast.Lambda):
            return False
        if not any(isinstance(given.value, ast.Name) and given.value.id == function.name for given in maker.returns):
            return False
        return any(
            runs_at_import(decorated, place) and not is_guarded(self.evaluator, decorated, place)
            for decorated, place in self.phases.references(maker)
            if isinstance(decorated, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        )


def _modules_named(node: ast.Import | ast.ImportFrom) -> list[str]:
    """What an import may load: `from package import part` the package, or its part; packages around it first."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [node.module or "", *(f"{node.module}.{name}" if node.module else name for name in names)]
    around = {name[:end]: None for name in names for end, letter in enumerate(name) if letter == "."}
    return [*around, *names]


def _runs(reference: ast.AST, function: Scope) -> bool:
    """Whether a function is called where it is named, or decorates what stands there."""
    if isinstance(reference, ast.Name | ast.Attribute):
        return is_called(reference)
    return function.name in map(_decorating, getattr(reference, "decorator_list", ()))


def _decorating(decorator: ast.expr) -> str:
    """The name of the function that runs where something is decorated."""
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)


def is_program_file(module: Module) -> bool:
    """Whether no child imports a module again as its main one: `__main__.py`, or tests that pytest collects."""
    if re.split(r"[\\/]", module.path)[-1] == "__main__.py":
        return True
    tests = _tests_in(module)
    return "pytest" in module.scope.bindings and any(module.scope_of(test) is module.scope for test in tests)


def has_tests(module: Module) -> bool:
    """Whether a module has tests, and says so by its name."""
    return bool(_tests_in(module))


def _tests_in(module: Module) -> list[ast.AST]:
    if not is_called_test(module.path):
        return []
    functions = (node for node in module.functions if not isinstance(node, ast.Lambda))
    return [node for node in functions if node.name.startswith("test")]
