"""What the parent has put on the GPU and a dataset keeps: a forked worker cannot read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.crossing.plain_values import LAYOUT
from flake8_torchmp.boundary.tables.apis import LOADER_POSITIONS
from flake8_torchmp.semantics import classes, keywords
from flake8_torchmp.semantics.calls import Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import Condition, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, dotted, last_name, up
from flake8_torchmp.semantics.values import Class, Constant, Result

from .devices import devices_used
from .holdings import Holding
from .lifetimes import Lifetimes
from .resources import HeldOver, Resources

BACK = frozenset("cpu numpy item tolist device".split())
"""Calls whose result is not on the GPU, wherever what has them is."""


class KeptOnGpu(NamedTuple):
    held: HeldOver
    node: ast.Call
    """The call that puts it there."""
    module: Module


class GpuState:
    def __init__(self, evaluator: Evaluator, resources: Resources, lifetimes: Lifetimes) -> None:
        self.evaluator = evaluator
        self.resources = resources
        self.lifetimes = lifetimes

    def of(self, module: Module) -> Iterator[KeptOnGpu]:
        """What goes to forked workers with the datasets of a module's loaders.

        Who keeps data on the GPU thinks of no workers: only a count that is spelled out says that there are some.
        """
        for held in self.resources.held(module):
            if held.role != "dataset" or "fork" not in held.methods or not held.uses:
                continue
            made, frame = self._made_by(held.holding)
            node = self._moving(made, frame) if frame is not None else None
            if frame is None or node is None:
                continue
            if self._is_touched(held.holding) and self._has_known_workers(held):
                yield KeptOnGpu(held, node, frame.module)

    def _has_known_workers(self, held: HeldOver) -> bool:
        call, module = held.uses[0], held.place[1]
        arguments = self.evaluator.arguments(call, self.evaluator.frame_at(call, module))
        given = keywords.sources(self.evaluator, arguments, LOADER_POSITIONS["num_workers"], "num_workers")
        counts = [value.value for source in given for value in self.evaluator.of(source) if isinstance(value, Constant)]
        return bool(counts) and all(isinstance(count, int) and count > 0 for count in counts)

    def _made_by(self, holding: Holding) -> tuple[ast.AST | None, Frame | None]:
        """The expression that is kept, and where it is worked out for the object that keeps it."""
        if isinstance(holding.value, Result):
            return holding.value.arguments.call, holding.value.arguments.frame
        if holding.node is None or holding.module is None or not holding.owners:
            return None, None
        scope = holding.module.scope_of(holding.node).enclosing_function()
        for item in classes.project_classes(self.evaluator, holding.owners[-1].cls):
            if scope is not None and scope.name == "__init__" and scope.parent is item.scope:
                return holding.node, classes.init_frame(self.evaluator, holding.owners[-1], item)
        return None, None

    def _moving(self, node: ast.AST | None, frame: Frame) -> ast.Call | None:
        """The call in a chain such as `rows.float().cuda()` that moves what is stored to the GPU, if it stays there."""
        while isinstance(node, ast.Call) and last_name(node.func) not in BACK and not _says_cpu(node):
            if _moves(node) and any(True for _ in devices_used(self.evaluator, node, frame)):
                return node if all(map(_asks_for_cuda, facts_at(node))) else None
            node = node.func.value if isinstance(node.func, ast.Attribute) else None
        return None

    def _is_touched(self, holding: Holding) -> bool:
        """Whether worker code reads what an attribute holds, more of it than its shape."""
        if not holding.owners:
            return True
        owner, attribute = holding.owners[-1].cls, holding.attributes[-1]
        return self.lifetimes.is_read_by_worker(owner, attribute) and any(self._reads(owner, attribute))

    def _reads(self, cls: Class, attribute: str) -> Iterator[bool]:
        for scope in self.lifetimes.worker_scopes(cls):
            for node in body_nodes(scope.node):
                if isinstance(node, ast.Attribute) and node.attr == attribute:
                    yield not _asks_for_layout(node)


def _asks_for_cuda(fact: Condition) -> bool:
    """Whether a test only asks for a GPU; any other may choose the number of workers too."""
    return isinstance(fact.test, ast.Call) and last_name(fact.test.func) == "is_available"


def _moves(node: ast.Call) -> bool:
    if last_name(node.func) in ("cuda", "to"):
        return isinstance(node.func, ast.Attribute)
    return dotted(node.func).startswith("torch.") and any(keyword.arg == "device" for keyword in node.keywords)


def _says_cpu(node: ast.Call) -> bool:
    given = node.args[:1] if last_name(node.func) == "to" else []
    given += [keyword.value for keyword in node.keywords if keyword.arg == "device"]
    return any(isinstance(value, ast.Constant) and value.value == "cpu" for value in given)


def _asks_for_layout(node: ast.Attribute) -> bool:
    holder = up(node)
    if isinstance(holder, ast.Call) and node in holder.args:
        return last_name(holder.func) == "len"
    return isinstance(holder, ast.Attribute) and holder.attr in LAYOUT
