"""TMP502 relative-path-in-worker: worker code opens a relative path
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..boundary.model import Model
from ..boundary.paths import Literal
from ..findings import Finding, Step
from ..semantics.module import Module, Scope
from . import rule


@rule("TMP502", "relative-path-in-worker")
def relative_path_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        for node, literal in model.paths.opened_in(worker.scope):
            if _is_spelled_out_by_worker(literal, worker.scope, model):
                message = (
                    f'worker code ({worker.reached_from}) opens the relative path "{literal.text}", which resolves '
                    "against whatever folder the worker is in: join it to an absolute folder"
                )
                way = [
                    Step(literal.module.path, literal.node.lineno, f'"{literal.text}"'),
                    Step(worker.scope.module.path, node.lineno, f"opened in {worker.scope.name}()"),
                ]
                yield model.finding("TMP502", message, node, worker.scope.module, way)


def _is_spelled_out_by_worker(literal: Literal, scope: Scope, model: Model) -> bool:
    """A literal of worker code, or a constant of its module; not what the parent handed over."""
    for hop in literal.way:
        function = hop.module.scope_of(hop.node).enclosing_function()
        if function is not None and not model.workers.runs(function):
            return False
        if isinstance(hop.node, ast.Attribute) and hop.text.startswith("."):
            return False
    function = literal.module.scope_of(literal.node).enclosing_function()
    return function is None or function is scope or model.workers.runs(function)
