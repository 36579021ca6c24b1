"""Generators that worker code makes: where they are kept, and what is drawn from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.semantics.calls import receiver_name
from flake8_torchmp.semantics.nodes import dotted, last_name, statement_of, up
from flake8_torchmp.semantics.scopes import Scope


def is_of_own(call: ast.Call, scope: Scope, *, any_maker: bool) -> bool:
    """Whether a call makes a generator, or seeds one that is made there."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    is_made_here = isinstance(owner, ast.Call) or (isinstance(owner, ast.Name) and owner.id in scope.bindings)
    name = last_name(call.func)
    return (any_maker and name in random_sources.MAKER_NAMES) or (name == "manual_seed" and is_made_here)


def draws_noise(call: ast.Call, scope: Scope) -> bool:
    """Whether what a function does with a generator made there is to draw numbers, and not to choose or to order."""
    holder: ast.AST | None = up(call)
    names = {last_name(target) for target in holder.targets} if isinstance(holder, ast.Assign) else set()
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        names.add(call.func.value.id)
    uses = [call, *(node for name in names for node in scope.module.loads(name) if isinstance(node, ast.Name))]
    uses = [use for use in uses if scope.module.scope_of(use).enclosing_function() is scope]
    drawn: set[str] = set()
    for use in (*uses, *_reads_of_kept(call, scope)):
        user = up(use)
        drawing = up(user) if isinstance(user, ast.keyword) else user
        if isinstance(drawing, ast.Attribute):
            drawn.add(drawing.attr)
        elif isinstance(drawing, ast.Call):
            drawn.add(last_name(drawing.func))
    return bool(drawn & random_sources.NOISE) and not drawn & random_sources.CHOOSING


def _reads_of_kept(call: ast.Call, scope: Scope) -> Iterator[ast.AST]:
    """Where methods of a class read the attribute in which one of them keeps what it makes, or call that to get it."""
    receiver, _, attribute = kept_as(call).partition(".")
    if not attribute or receiver != receiver_name(scope):
        return
    yield from _own_reads(attribute, scope)
    if any(
        returned.value is not None and dotted(returned.value) == f"{receiver}.{attribute}" for returned in scope.returns
    ):
        for read in _own_reads(scope.name, scope):
            getting = up(read)
            yield getting if isinstance(getting, ast.Call) and getting.func is read else read


def _own_reads(attribute: str, scope: Scope) -> Iterator[ast.expr]:
    """Where methods of the class of a method read an attribute of their object."""
    for read in scope.module.loads(attribute):
        method = scope.module.scope_of(read).enclosing_function()
        if method is None or method.parent is not scope.parent or not isinstance(read, ast.Attribute):
            continue
        if dotted(read.value) == receiver_name(method):
            yield read


def kept_as(call: ast.AST) -> str:
    """`self.rng` of `self.rng = Random(seed)`."""
    statement = statement_of(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return dotted(target) if isinstance(target, ast.Attribute) else ""
