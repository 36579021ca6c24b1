"""What is put into something together with an object: the other stages of a pipeline."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import dotted, up
from flake8_torchmp.semantics.scopes import Scope


def beside(made: Arguments) -> Iterator[ast.expr]:
    """What else is put where a new object is: the other arguments of a call, and those of calls by its name."""
    given: Any = made.call
    holder = up(given)
    while isinstance(holder, ast.List | ast.Tuple | ast.Starred | ast.keyword):
        if isinstance(holder, ast.List | ast.Tuple):
            yield from (element for element in holder.elts if element is not given)
        given, holder = holder, up(holder)
    if not isinstance(holder, ast.Call) or given is holder.func:
        return
    calls = [holder]
    if isinstance(holder.func, ast.Attribute):
        module, on = made.frame.module, dotted(holder.func.value)
        around = _class_or_function(holder, module)
        calls += [
            call
            for call in module.calls.get(holder.func.attr, ())
            if isinstance(call.func, ast.Attribute) and on and dotted(call.func.value) == on
            if call is not holder and _class_or_function(call, module) is around
        ]
    for call in calls:
        yield from (part for part in (*call.args, *(k.value for k in call.keywords)) if part is not given)


def _class_or_function(node: ast.AST, module: Module) -> Scope | None:
    """The class whose method a node stands in, or its function."""
    function = module.scope_of(node).enclosing_function()
    return function.parent if function is not None and function.parent and function.parent.is_class else function
