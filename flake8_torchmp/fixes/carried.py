"""What one pass of a loop leaves to the next: names, containers and attributes that it changes and reads again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from flake8_torchmp.semantics.nodes import COMPREHENSIONS, DEFINITIONS, FUNCTIONS

CHANGING = frozenset(
    "append appendleft extend extendleft add update insert remove discard clear pop popleft popitem setdefault push "
    "heappush heappop heapreplace heappushpop".split()
)


class Carried(NamedTuple):
    state: bool
    """What a pass does depends on the passes before it, or ends the loop."""
    buffers: bool
    """It collects in containers, and nothing else."""


def carried(loop: ast.For) -> Carried:
    found = _Loop(loop)
    found.block(loop.body, set(_stored([loop.target])))
    leaves = any(isinstance(node, ast.Break | ast.Return) for node in own_nodes(loop.body, loops=False)) or any(
        isinstance(node, ast.Return) for node in own_nodes(loop.body)
    )
    asks = any(_is_call_of(node, ("next", "send", "readline", "read", "__next__")) for node in own_nodes(loop.body))
    names = found.names - found.emptied
    return Carried(bool(names) or found.attributes or leaves or asks, bool(found.names | found.containers))


class _Loop:
    def __init__(self, loop: ast.For) -> None:
        self.bound = set(_stored(loop.body))
        self.names: set[str] = set()
        """Read before this pass has certainly bound them."""
        self.containers: set[str] = set()
        self.attributes = False
        self.emptied = {name for name in self.bound if all(_is_emptying(v, name) for v in _values(loop.body, name))}

    def block(self, block: list[ast.stmt], known: set[str]) -> set[str] | None:
        """The names that are certainly bound behind a block; None where nothing follows it."""
        now: set[str] | None = known
        for statement in block:
            if now is None:
                break
            now = self._statement(statement, now)
        return now

    def _statement(self, node: Any, known: set[str]) -> set[str] | None:
        if isinstance(node, ast.Continue | ast.Break | ast.Return | ast.Raise):
            self._reads([node], known)
            return None
        if isinstance(node, ast.If):
            self._reads([node.test], known)
            return _both([self.block(node.body, set(known)), self.block(node.orelse, set(known))])
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._reads([node.test if isinstance(node, ast.While) else node.iter], known)
            inside = set(known) | (set() if isinstance(node, ast.While) else set(_stored([node.target])))
            self.block(node.body, inside)
            self.block(node.orelse, set(known))
            return known
        if isinstance(node, ast.With | ast.AsyncWith):
            self._reads(node.items, known)
            return self.block(node.body, known | set(_stored(node.items)))
        if isinstance(node, ast.Try):
            whole = self.block([*node.body, *node.orelse], set(known))
            ends = [self.block(h.body, known | ({h.name} if h.name else set())) for h in node.handlers]
            merged = _both([whole, *ends])
            return self.block(node.finalbody, merged) if merged is not None else None
        self._reads([node], known)
        return known if isinstance(node, ast.Match) else known | set(_stored([node]))

    def _reads(self, parts: Iterable[ast.AST], known: set[str]) -> None:
        for part in parts:
            for node in ast.walk(part):
                if isinstance(node, ast.AugAssign):
                    self._augmented(node, known)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load | ast.Del):
                    if node.id in self.bound - known:
                        self.names.add(node.id)
                elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                    self._changed(node, known)
                elif isinstance(node, ast.Call):
                    if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                        self._changed(node.func, known)
                elif isinstance(node, ast.Global | ast.Nonlocal):
                    self.attributes = True

    def _augmented(self, node: ast.AugAssign, known: set[str]) -> None:
        if isinstance(node.target, ast.Name) and node.target.id not in known:
            self.names.add(node.target.id)

    def _changed(self, node: Any, known: set[str]) -> None:
        while isinstance(node, ast.Attribute | ast.Subscript):
            inner = node.value
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                self.attributes = self.attributes or not (isinstance(inner, ast.Name) and inner.id in known)
            elif isinstance(inner, ast.Attribute):
                self.attributes = True
            node = inner
        if isinstance(node, ast.Name) and node.id not in known:
            self.containers.add(node.id)


def _both(ends: list[set[str] | None]) -> set[str] | None:
    found = [end for end in ends if end is not None]
    return set.intersection(*found) if found else None


def own_nodes(block: Iterable[ast.AST], *, loops: bool = True) -> Iterator[Any]:
    """The nodes of statements that are not in functions and classes defined there."""
    pending = list(block)
    while pending:
        node = pending.pop(0)
        yield node
        if not isinstance(node, (*FUNCTIONS, *DEFINITIONS)) and (
            loops or not isinstance(node, ast.For | ast.AsyncFor | ast.While)
        ):
            pending += ast.iter_child_nodes(node)


def _stored(parts: Iterable[ast.AST]) -> Iterator[str]:
    pending = list(parts)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif not isinstance(node, (*COMPREHENSIONS, ast.Lambda)):
            pending += ast.iter_child_nodes(node)


def _values(block: list[ast.stmt], name: str) -> Iterator[ast.AST]:
    """What a name is bound to in a loop, the statement itself where that is no plain assignment."""
    for node in own_nodes(block):
        if isinstance(node, ast.Name | ast.For | ast.While | ast.If | ast.With | ast.Try):
            continue
        if name in set(_stored(ast.iter_child_nodes(node))):
            is_plain = isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets)
            yield node.value if is_plain else node


def _is_emptying(value: ast.AST, name: str) -> bool:
    if isinstance(value, ast.List | ast.Set | ast.Tuple):
        return not value.elts
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("list", "set", "deque") and not value.args
    return isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id == name


def _is_call_of(node: Any, names: tuple[str, ...]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")) in names
