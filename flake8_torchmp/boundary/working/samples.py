"""Samples: how the loaders of a dataset put them together, and who asks a dataset for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from flake8_torchmp.boundary.crossing.crossings import Crossing, Crossings
from flake8_torchmp.boundary.loading.loaders import Loaders
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.choices import is_choice
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Method,
    Partial,
    Result,
    Value,
)

from .workers import WorkerFunction

COLLATING = frozenset(
    "torch.utils.data.DataLoader torch.utils.data.dataloader.DataLoader "
    "torchdata.stateful_dataloader.StatefulDataLoader".split()
)
"""Loaders that collate by torch's `default_collate` unless told otherwise."""
DEFAULT_COLLATE = ("default_collate", "default_convert")
PASSING = {"operator.add"}.union(
    f"torch.utils.data.{place}{name}"
    for place in ("", "dataset.")
    for name in ("Subset", "ConcatDataset", "random_split")
)
"""What hands out the samples of the datasets that it is given."""
CONSUMING = frozenset(name.rpartition(".")[2] for name in apis.CONSUMERS)
"""Calls that ask what they are given first for its samples."""
DEEPEST = 3
_COLLATE = re.compile(rb"\bcollate_fn\b")


def frames_of_given(loaders: Loaders, worker: WorkerFunction) -> list[Frame]:
    """A dataset's method as it runs for each object that a loader with workers is seen to be given."""
    receiver, scope = worker.receiver, worker.scope
    if worker.kind != "dataset" or not isinstance(receiver, Instance):
        return []
    given = {
        hanging.value.key: hanging.value
        for crossing in loaders.of(receiver.cls.scope)
        for hanging in (crossing.hanging if crossing.has_workers else ())
        if isinstance(hanging.value, Instance) and hanging.value.cls.scope is receiver.cls.scope
    }
    evaluator = loaders.crossings.evaluator
    closure = evaluator.frame_of(scope).closure
    return [evaluator.frame(scope, None, closure, instance) for instance in given.values()]


def is_collating(crossing: Crossing, crossings: Crossings) -> bool:
    """Whether a loader is one of torch's and known to put samples together by torch's own function."""
    evaluator = crossings.evaluator
    values = evaluator.values(crossing.call.func, crossing.frame)
    if not any(isinstance(v, External) and v.name.removesuffix(".__init__") in COLLATING for v in values):
        return False
    arguments = evaluator.arguments(crossing.call, crossing.frame)
    given = arguments.get(6, "collate_fn")
    for value in evaluator.of(given) if given is not None else ():
        is_default = isinstance(value, External) and value.name.rpartition(".")[2] in DEFAULT_COLLATE
        if not is_default and not (isinstance(value, Constant) and value.value is None):
            return False
    size = arguments.get(1, "batch_size")
    sizes = evaluator.of(size) if size is not None else ()
    is_unbatched = any(isinstance(value, Constant) and value.value is None for value in sizes)
    return not is_unbatched and (not arguments.is_open or given is not None)


def are_all_collated_by_default(loaders: Loaders, cls: Scope) -> bool:
    """Whether no loader of the project shows that None was thought of."""
    return all(is_collating(crossing, loaders.crossings) for crossing in loaders.of(cls))


def may_be_sampled_in_parent(loaders: Loaders, cls: Class) -> bool:
    """Whether a dataset's loaders may have no workers, or the parent is seen to ask it for samples itself."""
    evaluator = loaders.crossings.evaluator
    given = list(loaders.of(cls.scope))
    return (
        not given
        or any(_may_have_none(evaluator, evaluator.arguments(c.call, c.frame)) for c in given)
        or any(_is_sampled_by(evaluator, cls))
    )


def may_be_collated_in_parent(crossings: Crossings, function: Scope) -> bool:
    """Whether a loader that may have no workers collates by a function, or by an object with that method."""
    evaluator = crossings.evaluator
    for path in evaluator.codebase.mentions.of(function):
        module = evaluator.codebase.module(path) if evaluator.codebase.matches(path, _COLLATE) else None
        for call in crossings.calls(module) if module is not None else ():
            place = next((p.position for p in call.api.parameters if p.keyword == "collate_fn"), None)
            given = call.arguments.get(place, "collate_fn") if call.api.kind == "loader" else None
            if given is not None and _may_have_none(evaluator, call.arguments):
                for value in evaluator.of(given):
                    value = value.callee if isinstance(value, Partial) else value
                    value = value.function if isinstance(value, Method) else value
                    if isinstance(value, Instance):
                        value = classes.find_method(crossings.outline, value.cls, "__call__") or value
                    if isinstance(value, Function) and (value.scope is function or _calls(value.scope, function)):
                        return True
    return False


def _calls(caller: Scope, function: Scope) -> bool:
    """Whether a function calls another one of its module, or of its object, by name."""
    return function.module is caller.module and any(
        caller.module.scope_of(call).enclosing_function() is caller for call in caller.module.calls_of(function.name)
    )


def _may_have_none(evaluator: Evaluator, arguments: Arguments) -> bool:
    count = arguments.get(apis.LOADER_POSITIONS["num_workers"], "num_workers")
    values = evaluator.of(count) if count is not None else ()
    return not values or any(not isinstance(v, Constant) or not v.value or is_choice(v) for v in values)


def _is_sampled_by(evaluator: Evaluator, cls: Class) -> Iterator[bool]:
    """The places where code that is no method of the dataset indexes or iterates an object of it."""
    for path in evaluator.codebase.mentions.of(cls.scope):
        module = evaluator.codebase.module(path)
        for node in ast.walk(module.tree) if module is not None else ():
            sampled: ast.expr | None = None
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                sampled = node.value
            elif isinstance(node, ast.For | ast.comprehension):
                sampled = node.iter
            elif isinstance(node, ast.Call) and last_name(node.func) in CONSUMING and node.args:
                sampled = node.args[0]
            if module is None or not isinstance(sampled, ast.Name | ast.Attribute | ast.Call):
                continue
            if isinstance(sampled, ast.Name) or not _is_in_dataset(sampled, module, evaluator):
                for value in evaluator.values(sampled, evaluator.frame_at(sampled, module)):
                    if isinstance(value, Instance) and value.cls.scope is cls.scope:
                        yield True


def _is_in_dataset(node: ast.AST, module: Module, evaluator: Evaluator) -> bool:
    """Whether a dataset around another one may be what samples it, in the worker."""
    owner = module.scope_of(node).enclosing_class()
    if owner is None or owner.parent is None:
        return False
    bases = classes.library_bases(evaluator, Class(owner, evaluator.frame_of(owner.parent)))
    return any(apis.is_dataset_name(base) for base in bases)


def given_to(evaluator: Evaluator, values: Sequence[Value], depth: int = 0) -> Iterator[Instance]:
    """The datasets of the project whose samples a loader gets."""
    for value in values:
        if isinstance(value, Instance):
            yield value
        elif isinstance(value, Result) and depth < DEEPEST and value.name.removesuffix("()") in PASSING:
            for _, source in value.arguments.all():
                inner = evaluator.of(source)
                yield from given_to(evaluator, inner, depth + 1)
                for _, item in (pair for v in inner for pair in evaluator.items(v)):
                    yield from given_to(evaluator, evaluator.of(item), depth + 1)
        elif isinstance(value, Member) and value.is_element and depth < DEEPEST:
            yield from given_to(evaluator, (value.owner,), depth + 1)
