"""Which tests a program may have decided before it runs, and what it makes of `config["flag"]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import choices
from .calls import Frame
from .flow import Condition, conditions, facts
from .module import Module
from .narrowing import asks_for_type
from .pouring import only_fills_up
from .values import Collection, truth_of

if TYPE_CHECKING:
    from .evaluate import Evaluator

_UNTOLD: frozenset[bool | None] = frozenset((None,))


def decidable_facts(node: ast.AST, module: Module) -> list[Condition]:
    """What is known to hold where a node runs, as far as it pays to ask for it."""
    key = ("facts", node)
    known: list[Condition] | None = module.memo.get(key)
    if known is None:
        known = module.memo[key] = [
            fact for condition in conditions(node) for fact in facts(condition) if may_be_decided(fact.test)
        ]
    return known


def may_be_decided(test: ast.expr) -> bool:
    """Whether it pays to find out what a test is: what calls and looked-up items give is hardly ever known."""
    if isinstance(test, ast.BoolOp):
        enough = any if isinstance(test.op, ast.And) else all
        return enough(map(may_be_decided, test.values))
    if isinstance(test, ast.Subscript):
        return asks_for_entry(test)
    if not isinstance(test, ast.Compare):
        return isinstance(test, ast.Name | ast.Attribute | ast.Constant) or asks_for_type(test)
    parts = (test.left, *test.comparators)
    return not any(isinstance(part, ast.Call | ast.Subscript) for part in parts)


def asks_for_entry(test: ast.expr) -> bool:
    """`config["flag"]`"""
    return (
        isinstance(test, ast.Subscript) and isinstance(test.slice, ast.Constant) and isinstance(test.slice.value, str)
    )


def truth_of_entry(evaluator: Evaluator, test: ast.Subscript, frame: Frame) -> bool | None:
    """Whether an entry of a dict that the program spells out holds; None where something else may take its place."""
    key = (id(test), id(frame), "holds")
    told = evaluator.deeper(key, lambda: frozenset(_told_by_entry(evaluator, test, frame)), _UNTOLD)
    return next(iter(told)) if len(told) == 1 else None


def _told_by_entry(evaluator: Evaluator, test: ast.Subscript, frame: Frame) -> Iterator[bool | None]:
    assert isinstance(test.slice, ast.Constant)
    key = test.slice.value
    for holder in evaluator.values(test.value, frame):
        if not isinstance(holder, Collection) or holder.kind != "dict" or not holder.complete:
            yield None
            return
        added = [extra for extra in holder.added_items() if not extra.label or extra.label == key]
        sources = [entry.source for entry in holder.entries if entry.key == key]
        if not sources or not all(map(only_fills_up, added)):
            yield None
            return
        for value in evaluator.of(sources[-1]):
            yield None if choices.is_choice(value) else truth_of(value)
