"""Who spells out a relative path that worker code opens: worker code itself, or the parent that hands it over."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.classes import scopes_above
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import ancestors, is_none, last_name, mentions, statement_of
from flake8_torchmp.semantics.scopes import Scope

from .paths import Literal


def is_spelled_out_by_worker(literal: Literal, scope: Scope, workers: Workers) -> bool:
    """A literal of worker code, or a constant of its module; not what the parent handed over."""
    if _is_kept_by_own_class(literal, scope, workers.outline):
        return True
    for hop in literal.way:
        function = hop.module.scope_of(hop.node).enclosing_function()
        if function is not None and not workers.runs(function):
            return False
        if isinstance(hop.node, ast.Attribute) and hop.text.startswith(".") and not _is_class_constant(literal):
            return False
    function = literal.module.scope_of(literal.node).enclosing_function()
    return function is None or function is scope or workers.runs(function)


def _is_kept_by_own_class(literal: Literal, scope: Scope, outline: Evaluator) -> bool:
    """`self.root = "data"` in the `__init__` of the class whose method opens it: as well a constant of the class."""
    maker = literal.module.scope_of(literal.node).enclosing_function()
    if maker is None or not isinstance(maker.node, ast.FunctionDef) or maker.name != "__init__":
        return False
    owner, user = maker.enclosing_class(), scope.enclosing_class()
    if owner is None or user is None or _is_for_argument(literal.node, maker.node):
        return False
    return owner in scopes_above(outline, user) or user in scopes_above(outline, owner)


def _is_for_argument(node: ast.AST, function: ast.FunctionDef) -> bool:
    """Whether a literal is handed over to a base class, or stands for an argument that is left out: it is TMP501's."""
    defaults = {name: parameter.default for name, parameter in parameters(function).items()}
    left_out = frozenset(name for name, default in defaults.items() if default is not None and is_none(default))
    for outer in ancestors(node):
        if outer is function:
            break
        if isinstance(outer, ast.Call) and last_name(outer.func) == "__init__":
            return True
        if isinstance(outer, ast.If | ast.IfExp | ast.BoolOp) and mentions(outer, left_out):
            return True
    return False


def _is_class_constant(literal: Literal) -> bool:
    """`name = "table.csv"` in a class's body: nobody hands it over. Annotated, it may be a record's field."""
    return literal.module.scope_of(literal.node).is_class and isinstance(statement_of(literal.node), ast.Assign)
