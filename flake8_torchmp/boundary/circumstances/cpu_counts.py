"""Counts of all processors: where a number comes from `os.cpu_count()`, also by way of arithmetic and names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments, Frame, has_receiver, parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import reaching
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, last_name
from flake8_torchmp.semantics.values import External, Function, Instance, Result, Source

COUNTS = frozenset("os.cpu_count multiprocessing.cpu_count torch.multiprocessing.cpu_count psutil.cpu_count".split())
CAREFUL = frozenset(("sched_getaffinity", "process_cpu_count", "cpu_affinity"))
"""Who asks for these knows the difference."""
DEEPEST = 5


def counts_in(evaluator: Evaluator, source: Source, depth: int = 0) -> Iterator[Source]:
    """The calls that count all processors in an expression and in what its names stand for."""
    node, frame = source
    if any(last_name(part) in CAREFUL for part in ast.walk(node)):
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            for callee in evaluator.values(part.func, frame):
                if isinstance(callee, External) and callee.name in COUNTS:
                    yield Source(part, frame)
                elif isinstance(callee, Function) and depth < DEEPEST:
                    yield from _returned(evaluator, callee, evaluator.arguments(part, frame), depth)
        elif isinstance(part, ast.Name | ast.Attribute) and depth < DEEPEST:
            for value in evaluator.values(part, frame):
                if not isinstance(value, Result) or not isinstance(value.arguments.call, ast.expr):
                    continue
                if value.name in COUNTS and not _is_second_choice(value.arguments.call):
                    yield Source(value.arguments.call, value.arguments.frame)
            if isinstance(part, ast.Name):
                yield from _named(evaluator, part, frame, depth)
            else:
                yield from _made_for_field(evaluator, part, frame, depth)


def _is_second_choice(count: ast.expr) -> bool:
    """`os.cpu_count()` where the system has no `os.sched_getaffinity`."""
    choices = (outer for outer in ancestors(count) if isinstance(outer, ast.IfExp | ast.BoolOp))
    return any(last_name(part) in CAREFUL for choice in choices for part in ast.walk(choice))


def _returned(evaluator: Evaluator, function: Function, arguments: Arguments, depth: int) -> Iterator[Source]:
    inner = evaluator.enter(function, arguments)
    for statement in function.scope.returns if inner is not None else ():
        if statement.value is not None and inner is not None:
            yield from counts_in(evaluator, Source(statement.value, inner), depth + 1)


def _made_for_field(evaluator: Evaluator, read: ast.Attribute, frame: Frame, depth: int) -> Iterator[Source]:
    """What a record makes for a field that it is not given: `field(default_factory=lambda: os.cpu_count() or 1)`."""
    for owner in evaluator.values(read.value, frame):
        if not isinstance(owner, Instance) or owner.arguments is None:
            continue
        fields = classes.fields(evaluator, owner.cls)
        index = list(fields).index(read.attr) if read.attr in fields else None
        if owner.arguments.get(index, read.attr) is not None:
            continue
        default, cls = fields.get(read.attr, (None, owner.cls))
        given = {keyword.arg: keyword.value for keyword in default.keywords} if isinstance(default, ast.Call) else {}
        factory = given.get("default_factory")
        if isinstance(factory, ast.Lambda):
            inner = evaluator.frame_in(cls.scope.module.scope_of(factory.body), evaluator.frame_of(cls.scope))
            yield from counts_in(evaluator, Source(factory.body, inner), depth + 1)
        elif factory is not None:
            around = evaluator.frame_of(cls.scope)
            for callee in evaluator.values(factory, around):
                if isinstance(callee, Function):
                    yield from _returned(evaluator, callee, Arguments(factory, around), depth)
        elif default is not None:
            yield from counts_in(evaluator, Source(default, evaluator.frame_of(cls.scope)), depth + 1)


def _named(evaluator: Evaluator, name: ast.Name, frame: Frame, depth: int) -> Iterator[Source]:
    use_scope = frame.module.scope_of(name)
    scope = evaluator.scope_binding(name.id, use_scope)
    if scope is None:
        return
    inner = evaluator.frame_in(scope, frame)
    for binding in reaching(scope.bindings[name.id], name, scope, use_scope):
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            yield from counts_in(evaluator, Source(binding.value, inner), depth + 1)
        elif binding.kind == "parameter" and isinstance(scope.node, FUNCTIONS):
            given = _argument(evaluator, name.id, inner)
            if given is not None:
                yield from counts_in(evaluator, given, depth + 1)


def _argument(evaluator: Evaluator, name: str, frame: Frame) -> Source | None:
    """What a parameter is given in a frame, or its default."""
    parameter = parameters(frame.scope.node)[name]  # type: ignore[arg-type]
    if frame.arguments is not None:
        index = None if parameter.index is None else parameter.index - has_receiver(frame.scope)
        given = frame.arguments.get(index, name)
        if given is not None:
            return given
    outer = frame.closure or evaluator.frame_of(frame.module.scope)
    return Source(parameter.default, outer) if parameter.default is not None else None
