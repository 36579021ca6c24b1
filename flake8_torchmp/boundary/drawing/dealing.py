"""Whether processes deal out among themselves what there is, by a number that they share and each of them raises."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.calls import Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import body_nodes, dotted, up
from flake8_torchmp.semantics.values import Collection, Constant, Function, Instance


def deals_out(evaluator: Evaluator, function: Function, frame: Frame) -> bool:
    """`index = self.next.value; self.next.value += 1`, where `next` is no plain object of the project."""
    numbers = [n for n in body_nodes(function.node) if isinstance(n, ast.Attribute) and n.attr == "value"]
    read = {dotted(n) for n in numbers if isinstance(n.ctx, ast.Load) and not isinstance(up(n), ast.Compare)}
    for number in numbers:
        if isinstance(number.ctx, ast.Store) and dotted(number) in read - {""}:
            inner = evaluator.frame_in(frame.module.scope_of(number), frame)
            values = evaluator.values(number.value, inner)
            if not any(isinstance(value, Instance | Collection | Constant) for value in values):
                return True
    return False
