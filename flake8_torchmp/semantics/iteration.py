"""What loops, `with` and unpacking take out of values, one by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import classes
from .calls import Arguments
from .nodes import body_nodes
from .values import EACH, UNKNOWN, Collection, Entry, Function, Member, Method, Result, Source, Value

if TYPE_CHECKING:
    from .evaluate import Evaluator

SAME_ELEMENTS = frozenset(
    "tqdm.tqdm tqdm.auto.tqdm tqdm.autonotebook.tqdm tqdm.notebook.tqdm rich.progress.track itertools.islice".split()
)
"""What gives, one by one, the elements of its first argument."""
ITERATORS = frozenset(f"builtins.{name}" for name in "enumerate filter map reversed zip".split())


def iterated(evaluator: Evaluator, value: Result) -> Iterator[Value]:
    """What a loop over a result gives: `enumerate(xs)`, `zip(xs, ys)`, `d.items()`."""
    name = value.name.removesuffix("()")
    module = value.arguments.frame.module
    if isinstance(value.callee, Member) and isinstance(value.callee.owner, Collection) and value.callee.name == "items":
        for key, item in evaluator.items(value.callee.owner):
            yield Collection("tuple", (Entry(None, _key(key, item)), Entry(None, item)), True, item.node, module)
        return
    sources = value.arguments.positional
    if name == "builtins.enumerate" and sources:
        for inner in evaluator.of(sources[0]):
            items = [item for _, item in evaluator.items(inner)]
            for item in items:
                yield Collection("tuple", (Entry(None, _unknown(item)), Entry(None, item)), True, item.node, module)
            if not items:
                counted = (Entry(None, _unknown(sources[0])), Entry(None, element(sources[0])))
                yield Collection("tuple", counted, True, sources[0].node, module)
    elif name in ("builtins.zip", "itertools.product") and sources:
        columns = [list(column_of(evaluator, source)) for source in sources]
        if not any(columns):
            yield UNKNOWN
            return
        columns = [column or [element(source)] for column, source in zip(columns, sources, strict=True)]
        for row in range(max(len(column) for column in columns)):
            entries = tuple(Entry(None, column[min(row, len(column) - 1)]) for column in columns)
            yield Collection("tuple", entries, True, entries[0].source.node, module)
    elif name == "builtins.map" and len(sources) > 1:
        given = Arguments(value.arguments.call, value.arguments.frame)
        given.positional = [element(source) for source in sources[1:]]
        for function in evaluator.of(sources[0]):
            yield from evaluator.result(function, given)
    elif name == "builtins.filter" and len(sources) > 1:
        yield from evaluator.elements(evaluator.of(sources[1]))
    elif name == "itertools.repeat" and sources:
        yield from evaluator.of(sources[0])
    elif name in SAME_ELEMENTS and sources:
        yield from evaluator.elements(evaluator.of(sources[0]))
    elif isinstance(value.callee, Function | Method):
        yield from _yielded(evaluator, value.callee, value.arguments)
    else:
        if not name.startswith(("builtins.", "itertools.")):
            yield Member(value, EACH)  # a library's own, as `random_split(…)[0]`
        yield UNKNOWN


def only_added(value: Value) -> Source | None:
    """What each element of a list is that a loop fills: `for part in parts: loaders.append(DataLoader(part))`."""
    if not isinstance(value, Collection) or value.kind != "list" or value.entries:
        return None
    added = value.added_items()
    return added[0].source if len(added) == 1 and added[0].kind == "element" else None


def entered(evaluator: Evaluator, value: Value) -> tuple[Value, ...]:
    """What `with value as x` binds."""
    if isinstance(value, Result) and isinstance(value.callee, Function | Method):
        return tuple(_yielded(evaluator, value.callee, value.arguments))
    return classes.entered(evaluator, value)


def _yielded(evaluator: Evaluator, generator: Function | Method, arguments: Arguments) -> Iterator[Value]:
    """What a generator of the project gives."""
    frame = evaluator.enter(generator, arguments)
    found = False
    for node in body_nodes(frame.scope.node, nested=False) if frame is not None else ():
        if isinstance(node, ast.Yield | ast.YieldFrom) and node.value is not None and frame is not None:
            found = True
            inner = evaluator.values(node.value, evaluator.frame_in(frame.module.scope_of(node), frame))
            yield from inner if isinstance(node, ast.Yield) else evaluator.elements(inner)
    if not found:
        yield UNKNOWN


def column_of(evaluator: Evaluator, source: Source) -> Iterator[Source]:
    for value in evaluator.of(source):
        if isinstance(value, Result) and value.name == "itertools.repeat":
            yield from value.arguments.positional[:1]
        else:
            yield from (item for _, item in evaluator.items(value))


def _key(key: object, source: Source) -> Source:
    """The key that an entry of a dict has, if it is known."""
    if not isinstance(key, str | bytes | int | float):
        return _unknown(source)
    memo, place = source.frame.module.memo, ("key", source.node)
    if place not in memo:
        memo[place] = ast.copy_location(ast.Constant(key), source.node)
    return Source(memo[place], source.frame)


def element(source: Source) -> Source:
    """An element of what a function of the project or a library gives one by one."""
    memo, key = source.frame.module.memo, ("element of", source.node)
    if key not in memo:
        memo[key] = ast.copy_location(ast.Starred(source.node), source.node)
    return Source(memo[key], source.frame)


def _unknown(source: Source) -> Source:
    """Some element of what cannot be seen."""
    memo, key = source.frame.module.memo, ("element", source.node)
    if key not in memo:
        memo[key] = ast.copy_location(ast.Await(source.node), source.node)
    return Source(memo[key], source.frame)
