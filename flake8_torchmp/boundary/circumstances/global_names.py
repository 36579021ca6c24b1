"""Globals of the project: which variable a name or attribute stands for, and what a function reads of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.findings import Step
from flake8_torchmp.semantics.calls import Parameter, has_receiver, parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import reaching
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, dotted, position, up
from flake8_torchmp.semantics.scopes import Binding, Scope
from flake8_torchmp.semantics.values import ModuleValue, Value


class Global(NamedTuple):
    """A variable of a module of the project."""

    module: Module
    name: str

    @property
    def bindings(self) -> list[Binding]:
        return self.module.scope.bindings.get(self.name, [])

    @property
    def text(self) -> str:
        return f"{self.module.name}.{self.name}"

    def made(self, how: str) -> list[Step]:
        """Where it is made, as the first step of a way; `globals()["x"] = 1` alone binds nothing that can be shown."""
        return [Step(self.module.path, position(b.node)[0], f"{self.name} {how}") for b in self.bindings[:1]]


class GlobalNames:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.forget()

    def forget(self) -> None:
        self._reads: dict[int, list[tuple[ast.expr, Global]]] = {}

    def read_by(self, scope: Scope) -> Iterator[tuple[ast.expr, Global]]:
        """The reads of globals of the project in a function's body, in source order."""
        known = self._reads.get(id(scope))
        if known is None:
            assert isinstance(scope.node, FUNCTIONS)
            known = self._reads[id(scope)] = self.reads_among(body_nodes(scope.node), scope.module)
        yield from known

    def read_by_default(self, scope: Scope) -> Iterator[tuple[ast.expr, Global]]:
        """The reads of parameters whose default is a global, where a call leaves that in force."""
        defaults = parameters(scope.node).values()  # type: ignore[arg-type]
        for parameter in defaults:
            if isinstance(parameter.default, ast.Name):
                for load in scope.module.loads(parameter.name):
                    inside = isinstance(load, ast.Name) and scope.module.scope_of(load).enclosing_function() is scope
                    variable = self.by_default(load, scope.module) if isinstance(load, ast.Name) and inside else None
                    if variable is not None:
                        yield load, variable

    def names_in(self, scope: Scope) -> Iterator[tuple[ast.Name, Global]]:
        """The names of its own module that a function reads, whatever they stand for, in source order."""
        assert isinstance(scope.node, FUNCTIONS)
        for node in body_nodes(scope.node):
            if isinstance(node, ast.Name) and _is_read(node) and not _is_unread(node, scope.module):
                binding = self.evaluator.scope_binding(node.id, scope.module.scope_of(node))
                if binding is not None and binding.is_module:
                    yield node, Global(scope.module, node.id)

    def reads_among(self, nodes: list[ast.AST], module: Module) -> list[tuple[ast.expr, Global]]:
        found: list[tuple[ast.expr, Global]] = []
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                variable = self.of_name(node, module)
                if variable is not None:
                    found.append((node, variable))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                variable = self.of_attribute(node, module)
                if variable is not None:
                    found.append((node, variable))
        return sorted(found, key=lambda item: position(item[0]))

    def of_name(self, node: ast.Name, module: Module) -> Global | None:
        scope = self.evaluator.scope_binding(node.id, module.scope_of(node))
        if scope is None:
            return self._starred(node.id, module)
        if scope.is_module:
            return self.origin(Global(module, node.id))
        bindings = scope.bindings[node.id]
        if len(bindings) == 1 and bindings[0].kind == "from":  # imported inside the function
            return self._imported(bindings[0].node, module)
        return None

    def of_attribute(self, node: ast.Attribute, module: Module) -> Global | None:
        """`data.VOCAB`, where `data` is a module of the project."""
        if not dotted(node):
            return None
        base = node.value
        root: ast.expr = base
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        scope = self.evaluator.scope_binding(root.id, module.scope_of(root))
        if scope is None or not any(b.kind in ("import", "from") for b in scope.bindings[root.id]):
            return None
        for value in self.evaluator.values(base, self.evaluator.frame_at(node, module)):
            if isinstance(value, ModuleValue) and value.path:
                other = self.evaluator.codebase.module(value.path)
                if other is not None and node.attr in other.scope.bindings:
                    return self.origin(Global(other, node.attr))
        return None

    def _starred(self, name: str, module: Module) -> Global | None:
        for node in module.scope.star_imports:
            codebase = self.evaluator.codebase
            found = codebase.find(node.module or "", module.path, node.level)
            may_offer = found is not None and found[1] and codebase.may_offer(found[1], name)
            other = codebase.module(found[1]) if found is not None and may_offer else None
            if other is not None and name in other.scope.bindings:
                return self.origin(Global(other, name))
        return None

    def may_be_starred(self, variable: Global) -> bool:
        """Whether a star import may bind a variable: one of what the project does not show, or of what has the name."""
        codebase, module = self.evaluator.codebase, variable.module
        found = (codebase.find(node.module or "", module.path, node.level) for node in module.scope.star_imports)
        return any(one is None or not one[1] or codebase.may_offer(one[1], variable.name) for one in found)

    def origin(self, variable: Global, depth: int = 0) -> Global | None:
        """The variable that an imported name stands for; None for what is no variable of the project."""
        bindings = variable.bindings
        imports = [b for b in bindings if b.kind == "from"]
        if not imports:
            return variable
        if len(bindings) > 1 or depth > 8:
            return None
        return self._imported(imports[0].node, variable.module, depth)

    def _imported(self, alias: Any, module: Module, depth: int = 0) -> Global | None:
        node: Any = up(alias)
        found = self.evaluator.codebase.find(node.module or "", module.path, node.level)
        other = self.evaluator.codebase.module(found[1]) if found is not None and found[1] else None
        if other is None or other is module or alias.name not in other.scope.bindings:
            return None
        return self.origin(Global(other, alias.name), depth + 1)

    def values(self, variable: Global) -> tuple[Value, ...]:
        return self.evaluator.name_in_module(variable.name, variable.module)

    def by_default(self, name: ast.Name, module: Module) -> Global | None:
        """`def add(word, vocab=VOCAB)`: the variable that a parameter is where a call leaves its default in force."""
        scope = self.evaluator.scope_binding(name.id, module.scope_of(name))
        if scope is None or not scope.is_function:
            return None
        parameter = parameters(scope.node).get(name.id)  # type: ignore[arg-type]
        if parameter is None or not isinstance(parameter.default, ast.Name):
            return None
        module = scope.module
        calls = [c for c in module.calls.get(scope.name, ()) if module.scope_of(c).enclosing_function() is not scope]
        if calls and all(_gives(call, parameter, has_receiver(scope)) for call in calls):
            return None
        bound = reaching(scope.bindings[name.id], name, scope, module.scope_of(name))
        return self.of_name(parameter.default, module) if any(b.kind == "parameter" for b in bound) else None


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load) or isinstance(up(name), ast.AugAssign)


def _is_unread(name: ast.Name, module: Module) -> bool:
    """Whether a name stands in the annotation of a function's variable, which nobody evaluates."""
    part: ast.AST = name
    holder = up(name)
    while isinstance(holder, ast.expr):
        part, holder = holder, up(holder)
    return isinstance(holder, ast.AnnAssign) and part is holder.annotation and module.scope_of(holder).is_function


def _gives(call: ast.Call, parameter: Parameter, shift: bool) -> bool:
    """Whether a call gives an argument for a parameter, or may do so."""
    if any(keyword.arg in (None, parameter.name) for keyword in call.keywords):
        return True
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    return parameter.index is not None and len(call.args) > parameter.index - shift
