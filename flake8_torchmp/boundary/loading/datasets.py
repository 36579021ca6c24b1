"""Dataset classes, and whether their objects ever leave the parent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import reaching
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import is_none, last_name, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Function

from .loaders import Loaders

UNSEEN_LOADER = apis.Api("a DataLoader", "loader", apis.LOADER)


class Datasets:
    def __init__(self, outline: Evaluator, loaders: Loaders, bases: tuple[str, ...]) -> None:
        self.outline = outline
        self.loaders = loaders
        self.bases = frozenset(bases)
        self.names = frozenset(name.rpartition(".")[2] for name in bases)

    def of(self, module: Module) -> Iterator[Class]:
        for node in module.classes:
            scope = module.scopes[node]
            assert scope.parent is not None
            cls = Class(scope, self.outline.frame_of(scope.parent))
            if self.is_dataset(cls):
                yield cls

    def is_dataset(self, cls: Class) -> bool:
        for base in self.outline.mro(cls)[1:]:
            if isinstance(base, Class):
                name = f"{base.scope.module.name}.{base.scope.name}"
                if name in self.bases:
                    return True
        return any(
            apis.is_dataset_name(name) or name in self.bases for name in classes.library_bases(self.outline, cls)
        )

    def are_used_in_parent_alone(self, cls: Class) -> bool:
        """Whether the project shows loaders of a dataset class, and none of them has workers.

        Objects of a class inside a function that are handed to nobody else meet no loader at all.
        """
        have_workers = self.loaders.have_workers(cls.scope)
        if have_workers:
            return not any(have_workers)
        if cls.is_local:
            return _stays_inside(cls)
        return self._stays_with_its_holders(cls) or self._is_read_out_by_its_script(cls)

    def _is_read_out_by_its_script(self, cls: Class) -> bool:
        """Whether its own file alone makes objects of a class, and only has functions go through them."""
        module, codebase = cls.scope.module, self.outline.codebase
        loads = list(codebase.loads(cls.scope.name, codebase.mentions.of(cls.scope)))
        own = list(module.loads(cls.scope.name))
        made = [up(load) for load in own]
        return (
            bool(made)
            and len(loads) == len(own)
            and all(
                isinstance(call, ast.Call) and call.func is load and self._is_read_out(call, module)
                for load, call in zip(own, made, strict=True)
            )
        )

    def _is_read_out(self, made: ast.Call, module: Module) -> bool:
        """Whether a function gives a name to what a call makes, and only works with that or has others do so."""
        holder: Any = up(made)
        target = holder.targets[0] if isinstance(holder, ast.Assign) and len(holder.targets) == 1 else None
        scope = module.scope_of(made).enclosing_function()
        if scope is None or not isinstance(target, ast.Name) or len(scope.bindings[target.id]) > 1:
            return False
        return self._only_goes_through(target.id, scope)

    def _only_goes_through(self, name: str, scope: Scope, depth: int = 2) -> bool:
        module = scope.module
        loads = [load for load in module.loads(name) if module.scope_of(load).enclosing_function() is scope]
        return all(_only_works_with(load) or self._is_given_to_such(load, module, depth) for load in loads)

    def _is_given_to_such(self, load: ast.expr, module: Module, depth: int) -> bool:
        """Whether a function of the project gets something, and only goes through it."""
        call: Any = up(load)
        if not isinstance(call, ast.Call) or load not in call.args or not depth:
            return False
        if last_name(call.func) in _CONSUMING:
            return True
        callees = self.outline.values(call.func, self.outline.frame_at(call, module))
        place = call.args.index(load)
        functions = [callee.scope for callee in callees if isinstance(callee, Function)]
        names = [list(parameters(function.node))[place : place + 1] for function in functions]  # type: ignore[arg-type]
        return len(functions) == len(callees) > 0 and all(
            self._only_goes_through(name[0], function, depth - 1) if name else False
            for function, name in zip(functions, names, strict=True)
        )

    def _stays_with_its_holders(self, cls: Class) -> bool:
        """Whether the project keeps each object of a class as an attribute, and never hands that to anybody."""
        codebase = self.outline.codebase
        held: set[str] = set()
        for load in codebase.loads(cls.scope.name, codebase.mentions.of(cls.scope)):
            call: Any = up(load)
            holder: Any = up(call)
            if not isinstance(call, ast.Call) or call.func is not load or not isinstance(holder, ast.Assign):
                return False
            targets = [target for target in holder.targets if isinstance(target, ast.Attribute)]
            if len(targets) < len(holder.targets):
                return False
            held |= {target.attr for target in targets}
        return bool(held) and all(
            _only_works_with(load)
            for name in held
            for load in codebase.loads(name, codebase.mentioning(name, cls.scope.module.path))
            if isinstance(load, ast.Attribute)
        )


_CONSUMING = frozenset(name.rpartition(".")[2] for name in apis.CONSUMERS)
LOOKING = frozenset("len str repr list iter next enumerate isinstance type print sorted zip range".split())
"""Functions that keep nothing of what they are given."""


def _stays_inside(cls: Class) -> bool:
    """Whether a function that defines a class makes objects of it, and itself alone works with them."""
    module = cls.scope.module
    made = [up(load) for load in module.loads(cls.scope.name)]
    holders = [up(call) for call in made if isinstance(call, ast.Call) and last_name(call.func) == cls.scope.name]
    names = {
        target.id
        for holder in holders
        if isinstance(holder, ast.Assign)
        for target in holder.targets
        if isinstance(target, ast.Name)
    }
    return (
        bool(names)
        and len(holders) == len(made) == sum(isinstance(holder, ast.Assign) for holder in holders)
        and all(_only_works_with(load) for name in names for load in module.loads(name))
    )


def stays_in_its_function(load: ast.expr, module: Module, evaluator: Evaluator) -> bool:
    """Whether an object that a function, or the main program behind its guard, made for itself is handed to nobody."""
    scope = module.scope_of(load).enclosing_function() or module.scope
    bindings = list(scope.bindings.get(load.id, ())) if isinstance(load, ast.Name) else []
    made = [binding.value for binding in bindings if isinstance(binding.value, ast.Call)]
    empty = [binding for binding in bindings if binding.value is not None and is_none(binding.value)]
    return (
        bool(made)
        and len(made) + len(empty) == len(bindings)
        and all(is_kept_to_itself(call, module, evaluator) for call in made)
    )


def is_kept_to_itself(call: ast.AST, module: Module, evaluator: Evaluator) -> bool:
    """Whether the object that a call makes is given to nobody, wherever the variable that it gets is read."""
    holder: Any = up(call)
    if not isinstance(holder, ast.Assign) or len(holder.targets) > 1 or not isinstance(holder.targets[0], ast.Name):
        return False
    name = holder.targets[0].id
    scope = module.scope_of(call).enclosing_function() or module.scope
    if scope.is_module and not is_guarded(evaluator, call, module):
        return False  # others can import it
    bindings = scope.bindings.get(name, ())
    return all(
        _only_works_with(load)
        for load in module.loads(name)
        if _is_read_of(load, scope, module, evaluator)
        and any(binding.value is call for binding in reaching(bindings, load, scope, module.scope_of(load)))
    )


def _is_read_of(load: ast.expr, scope: Scope, module: Module, evaluator: Evaluator) -> bool:
    """Whether a name is read in a function, or where it is the variable of a module."""
    if not scope.is_module:
        return module.scope_of(load).enclosing_function() is scope
    return isinstance(load, ast.Name) and evaluator.scope_binding(load.id, module.scope_of(load)) is scope


def _only_works_with(load: ast.AST) -> bool:
    holder: Any = up(load)
    if isinstance(holder, ast.Attribute | ast.Subscript):
        return holder.value is load
    if isinstance(holder, ast.Compare):
        return True  # `dataset is None`
    if isinstance(holder, ast.Call):
        return isinstance(holder.func, ast.Name) and holder.func.id in LOOKING
    return isinstance(holder, ast.For | ast.comprehension) and holder.iter is load
