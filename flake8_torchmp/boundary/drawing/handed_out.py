"""What a generator hands out, and what it loops over for that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, ancestors, body_nodes, dotted, last_name
from flake8_torchmp.semantics.values import Function

OF_THE_FIRST = frozenset("iter next enumerate islice sorted reversed list tuple tqdm cycle batched".split())
"""What goes over its first argument alone."""
WRAPPERS = OF_THE_FIRST | frozenset("map filter zip chain from_iterable".split())
ENDLESS = frozenset("range count repeat trange".split())


def handed_out(function: Function) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """The yields of a generator, or what another function returns."""
    if not function.scope.is_generator:
        for statement in function.scope.returns:
            if not isinstance(statement.value, ast.Constant | None.__class__):
                yield statement, statement.value
        return
    for node in body_nodes(function.node, nested=False):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield node, node.value


def loops_around(node: ast.AST, function: Function) -> list[Any]:
    loops: list[Any] = []
    for item in ancestors(node):
        if item is function.node:
            break
        if isinstance(item, ast.For | ast.AsyncFor | ast.While) and not _is_left_at_once(item):
            loops.append(item)
    return loops


def _is_left_at_once(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """`while True: …; return batch`, which has no second round."""
    return (
        isinstance(loop, ast.While)
        and isinstance(loop.body[-1], ast.Return)
        and not any(isinstance(part, ast.Continue) for statement in loop.body for part in ast.walk(statement))
    )


def picked(value: ast.expr, function: Function) -> ast.expr:
    """`self.rows[i]` of a `__next__` that says `row = self.rows[i]` and returns the row."""
    bound = function.scope.bindings.get(value.id, ()) if isinstance(value, ast.Name) else ()
    if function.scope.name != "__next__" or len(bound) != 1 or bound[0].kind != "assign":
        return value
    return bound[0].value if isinstance(bound[0].value, ast.Subscript) else value


def fillings(node: ast.AST, leaves: list[ast.expr], function: Function) -> list[ast.expr]:
    """What the loops go over in which the containers are filled that a yield hands out of: the rest of a buffer."""
    given = [getattr(node, "value", None), *leaves]
    names = {part.id for item in given if item is not None for part in ast.walk(item) if isinstance(part, ast.Name)}
    found: list[ast.expr] = []
    for name in names:
        assigned = [b.value for b in function.scope.bindings.get(name, ()) if b.kind == "assign"]
        found += [v for v in assigned if isinstance(v, ast.Call) and last_name(v.func) in WRAPPERS]
        for change in function.scope.module.changes.get(name, ()):
            if function.scope.module.scope_of(change.node) is function.scope:
                found += [iterable(loop) for loop in loops_around(change.node, function) if isinstance(loop, ast.For)]
                taken = ast.walk(change.value) if change.value is not None else ()
                found += [part for part in taken if isinstance(part, ast.Call) and last_name(part.func) == "next"]
    return found


def iterable(loop: Any) -> ast.expr:
    return loop.test if isinstance(loop, ast.While) else loop.iter


def is_open(loop: Any) -> bool:
    """A loop that counts at most: what it yields does not come from what it loops over."""
    if isinstance(loop, ast.While):
        return True
    if not isinstance(loop.iter, ast.Call) or last_name(loop.iter.func) not in ENDLESS:
        return False
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    read = (n for part in loop.body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return not any(name.id in names for name in read)


def repeats(value: ast.expr | None, loops: list[Any]) -> bool:
    """Whether loops that only count hand out one and the same object, of which nobody needs a part."""
    if not loops or not all(map(is_open, loops)) or not isinstance(value, ast.Name | ast.Attribute):
        return False
    inside = [part for statement in loops[-1].body for part in ast.walk(statement)]
    return bool(dotted(value)) and not any(
        isinstance(part, ast.Call | ast.NamedExpr)
        or (isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store))
        for part in inside
    )


def leaves(iterables: list[ast.expr]) -> Iterator[ast.expr]:
    """What is looped over in the end: `x` of `enumerate(map(f, x))`."""
    for node in iterables:
        if isinstance(node, ast.Call) and last_name(node.func) in WRAPPERS and node.args:
            given = node.args[1:] if last_name(node.func) in ("map", "filter") else node.args
            yield from leaves(given[:1] if last_name(node.func) in OF_THE_FIRST else given)
        elif isinstance(node, COMPREHENSIONS):
            yield from leaves([generator.iter for generator in node.generators])
        elif isinstance(node, ast.Starred):
            yield from leaves([node.value])
        elif isinstance(node, ast.Call) and last_name(node.func) == "__next__" and not node.args:
            assert isinstance(node.func, ast.Attribute)
            yield node.func.value
        elif not isinstance(node, ast.Constant | ast.Compare | ast.BoolOp | ast.NamedExpr | ast.UnaryOp):
            yield node


def opened(node: ast.expr, module: Module) -> ast.expr:
    """`path.open()` of `lines`, after `with path.open() as lines:`."""
    bound = module.scope_of(node).bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    values = [binding.value if binding.kind in ("assign", "with") else None for binding in bound]
    calls = [value for value in values if isinstance(value, ast.Call) and last_name(value.func) == "open"]
    return calls[0] if calls and len(calls) == len(values) else node
