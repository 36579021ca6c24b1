"""What torch's generator was seeded with, as far as one function shows."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.crossing.bound_parameters import argument_of
from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions
from flake8_torchmp.semantics.nodes import body_nodes, position
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import External


def seed_given_to_torch(evaluator: Evaluator, asked: ast.Call, scope: Scope) -> ast.expr | None:
    """The seed that a function has given torch's generator last, always, before a call that asks for it."""
    found: tuple[ast.Call, ast.expr] | None = None
    for node in body_nodes(scope.node, nested=False):
        if not isinstance(node, ast.Call) or position(node) >= position(asked):
            continue
        for value in evaluator.values(node.func, evaluator.frame_at(node, scope.module)):
            name = value.name if isinstance(value, External) else ""
            seed = argument_of(node, 0, random_sources.SEEDERS[name]) if name in random_sources.TORCH_SEEDERS else None
            if seed is not None and (found is None or position(found[0]) < position(node)):
                found = node, seed
    return found[1] if found is not None and not any(True for _ in conditions(found[0])) else None
