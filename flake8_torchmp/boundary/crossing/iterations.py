"""What a node iterates, and which loader that is."""

from __future__ import annotations

import ast
from collections.abc import Collection

from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.tables.ecosystem import has_no_workers
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, body_nodes
from flake8_torchmp.semantics.values import (
    External,
    Instance,
    Result,
    Unknown,
    Value,
)

CONSUMING = apis.CONSUMERS | apis.CONSUMERS_BEHIND_FUNCTION
LOOPS = (ast.For, ast.AsyncFor)
ITERATING = (*COMPREHENSIONS, *LOOPS, ast.Starred, ast.YieldFrom, ast.Assign)

_OWN_RESULTS = frozenset(
    "range sorted list tuple set frozenset dict str repr open len vars dir items keys values split splitlines rsplit "
    "readlines glob iglob rglob iterdir listdir scandir walk tolist topk parameters named_parameters modules "
    "named_modules children named_children".split()
)
"""Calls whose result is no loader, whatever they are given."""
_WRAPPERS = frozenset("enumerate zip tqdm trange iter reversed islice cycle chain map filter track".split())
_NO_OBJECTS = (
    *(ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Compare, ast.Lambda, ast.UnaryOp),
    *COMPREHENSIONS,
)


def iterated(node: ast.AST) -> list[ast.expr]:
    """The expressions that a node iterates by itself."""
    if isinstance(node, LOOPS):
        return [node.iter]
    if isinstance(node, COMPREHENSIONS):
        return [generator.iter for generator in node.generators]
    if isinstance(node, ast.Starred | ast.YieldFrom):
        return [node.value]
    if isinstance(node, ast.Assign) and any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
        return [node.value]
    return []


def may_be_loader(expression: ast.expr) -> bool:
    if isinstance(expression, _NO_OBJECTS):
        return False
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Slice):
        return False
    if isinstance(expression, ast.Call):
        function = expression.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if name in _OWN_RESULTS:
            return False
        if name in _WRAPPERS:
            return any(may_be_loader(argument) for argument in _given(expression))
    return True


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


class Iterations:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, loaders: Collection[str]) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.loaders = loaders

    def may_be_by(self, node: ast.AST, module: Module) -> bool:
        """Whether a node can iterate a loader by itself, from definitions alone."""
        return any(self.may_give_loader(expression, module) for expression in iterated(node))

    def may_be_unpacked(self, node: ast.AST, module: Module) -> bool:
        """Whether `first, second = loader` takes a loader apart that is made or kept right there."""
        return isinstance(node, ast.Assign) and any(
            isinstance(value, Result) and value.name in self.loaders
            for expression in iterated(node)
            if may_be_loader(expression)
            for value in self.outline.values(expression, self.outline.frame_at(expression, module))
        )

    def may_be_consumed(self, callee: Value, call: ast.Call, module: Module) -> bool:
        """Whether a library's function may iterate a loader that it is given."""
        is_consumer = isinstance(callee, External) and callee.name in CONSUMING
        return is_consumer and any(self.may_give_loader(argument, module) for argument in call.args)

    def may_give_loader(self, expression: ast.expr, module: Module) -> bool:
        key = ("may give loader", expression)
        known: bool | None = module.memo.get(key)
        if known is None:
            known = module.memo[key] = may_be_loader(expression) and any(
                self._may_be_loader(value)
                for value in self.outline.values(expression, self.outline.frame_at(expression, module))
            )
        return known

    def _may_be_loader(self, value: Value, depth: int = 0) -> bool:
        if isinstance(value, Result) and value.name.removesuffix("()") not in self.loaders:
            return (
                depth < 4
                and isinstance(value.callee, External)
                and any(
                    self._may_be_loader(inner, depth + 1)
                    for _, source in value.arguments.all()
                    for inner in self.outline.of(source)
                )
            )
        return isinstance(value, Unknown | Instance | Result)

    def loader_in(self, value: Value, depth: int = 0) -> Result | Instance | None:
        """A loader with workers that a value is, or that iterating it iterates."""
        if isinstance(value, Result):
            name = value.name.removesuffix("()")
            if name in self.loaders:
                return None if has_no_workers(self.evaluator, value.arguments) else value
            if depth < 4 and isinstance(value.callee, External):
                for _, source in value.arguments.all():
                    for inner in self.evaluator.of(source):
                        found = self.loader_in(inner, depth + 1)
                        if found is not None:
                            return found
        elif isinstance(value, Instance):
            for base, arguments in classes.library_init(self.evaluator, value):
                if base in self.loaders:
                    return None if has_no_workers(self.evaluator, arguments) else value
            return self._loader_of_iterable(value, depth)
        return None

    def _loader_of_iterable(self, value: Instance, depth: int) -> Result | Instance | None:
        """An object whose `__iter__` iterates a loader that it keeps."""
        method = classes.find_method(self.evaluator, value.cls, "__iter__")
        if method is None or depth > 2:
            return None
        frame = self.evaluator.frame(method.scope, None, method.closure, value)
        for node in body_nodes(method.node):
            expressions = [node.iter] if isinstance(node, LOOPS) else []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("iter", "enumerate"):
                expressions = node.args[:1]
            if isinstance(node, ast.YieldFrom):
                expressions = [node.value]
            for expression in expressions:
                inner = self.evaluator.frame_in(method.scope.module.scope_of(expression), frame)
                for candidate in self.evaluator.values(expression, inner):
                    found = self.loader_in(candidate, depth + 1)
                    if found is not None:
                        return found
        return None

    def arguments_of(self, loader: Result | Instance) -> Arguments | None:
        """With what torch's own class is made."""
        for base, arguments in classes.library_init(self.evaluator, loader) if isinstance(loader, Instance) else ():
            if base in self.loaders:
                return arguments
        return loader.arguments
