"""What all processes that one call starts in a loop are given alike: `Process(target=run, args=(rank, seed))`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.flow import LOOPS
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, FUNCTIONS, ancestors, root_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Function

from .crossings import Crossing


def given_to_processes(crossings: Iterable[Crossing]) -> Iterator[tuple[Scope, frozenset[str]]]:
    """For each call in a loop, its target and the parameters that get the same in each round."""
    of_processes = [crossing for crossing in crossings if crossing.api.kind == "process"]
    for crossing in of_processes:
        if crossing.parameter.keyword != "args" or not isinstance(crossing.source.node, ast.Tuple):
            continue
        if not _loops_around(crossing.call):
            continue
        alike = [are_alike([element], crossing.call) for element in crossing.source.node.elts]
        for other in of_processes:
            if other.call is crossing.call and other.parameter.keyword == "target":
                for hanging in other.hanging:
                    if isinstance(hanging.value, Function):
                        names = list(parameters(hanging.value.node))
                        yield (
                            hanging.value.scope,
                            frozenset(n for n, same in zip(names, alike, strict=False) if same),
                        )


def are_alike(given: Iterable[ast.expr], call: ast.AST) -> bool:
    """Whether a call in a loop is given the same in each round."""
    loops = _loops_around(call)
    varying = {root_name(part) for loop in loops for part in ast.walk(loop) if _is_changed(part)}
    return bool(loops) and all(_is_alike(node, varying) for node in given)


def _loops_around(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for above in ancestors(node):
        if isinstance(above, FUNCTIONS):
            break
        if isinstance(above, (*LOOPS, *COMPREHENSIONS)):
            found.append(above)
    return found


def _is_changed(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)


def _is_alike(node: ast.expr, varying: set[str]) -> bool:
    """A constant, a variable, or an attribute of one, that no loop around changes."""
    if isinstance(node, ast.Constant):
        return node.value is not None  # which leaves the choice to who gets it
    return isinstance(node, ast.Name | ast.Attribute) and bool(root_name(node)) and root_name(node) not in varying
