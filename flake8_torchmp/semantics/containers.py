"""Classes of the project that are dicts or lists themselves: what their objects hold as elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import attributes, classes
from .calls import receiver_name
from .evaluate import Evaluator
from .nodes import dotted
from .scopes import Change, Scope
from .values import Class, Instance, Value

CONTAINERS = frozenset(
    "builtins.dict builtins.list builtins.set collections.OrderedDict collections.UserDict collections.UserList "
    "collections.defaultdict collections.deque".split()
)
ONE_BY_ONE = frozenset("append appendleft add insert setdefault".split())


def elements(evaluator: Evaluator, instance: Instance) -> Iterator[Value]:
    """What is put into an object by whoever has it, and by its own methods: `self[name] = x`, `self.append(x)`."""
    if CONTAINERS.isdisjoint(classes.library_bases(evaluator, instance.cls)):
        return
    for extra in instance.added_items():
        for value in evaluator.of(extra.source):
            if extra.kind == "elements":
                for _, source in evaluator.items(value):
                    yield from evaluator.of(source)
            else:
                yield value
    for cls in classes.project_classes(evaluator, instance.cls):
        for change, method in _stores(cls):
            assert change.value is not None
            frame = attributes.store_frame(evaluator, instance, cls, method)
            scope = cls.scope.module.scope_of(change.target)
            yield from evaluator.values(change.value, evaluator.frame_in(scope, frame))


def _stores(cls: Class) -> list[tuple[Change, Scope]]:
    module = cls.scope.module
    key = ("items stored", cls.node)
    if key not in module.memo:
        methods = [module.scopes[b.node] for bs in cls.scope.bindings.values() for b in bs if b.kind == "def"]
        module.memo[key] = [
            (change, method)
            for method in methods
            for change in module.changes.get(receiver_name(method), ())
            if change.value is not None and isinstance(change.target, ast.Name)
            if change.kind == "item" or (change.kind == "method" and change.name in ONE_BY_ONE)
            if module.scope_of(change.target) is method
        ]
    known: list[tuple[Change, Scope]] = module.memo[key]
    return known


def written_entries(made: ast.expr) -> list[tuple[ast.expr | None, ast.expr]] | None:
    """The keys and values of `{"index": index}` or `dict(index=index)`; None for anything else."""
    if isinstance(made, ast.Dict):
        return list(zip(made.keys, made.values, strict=True))
    if not isinstance(made, ast.Call) or dotted(made.func) != "dict" or made.args:
        return None
    return [(ast.copy_location(ast.Constant(k.arg), k) if k.arg else None, k.value) for k in made.keywords]
