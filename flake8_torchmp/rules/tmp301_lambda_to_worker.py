"""TMP301 lambda-to-worker: a lambda reaches worker processes and cannot be pickled
"""

from __future__ import annotations

from collections.abc import Iterator

from ..boundary.model import Model
from ..findings import Finding
from ..semantics.module import Module
from ..semantics.values import Function
from . import rule


@rule("TMP301", "lambda-to-worker", fix="safe or unsafe")
def lambda_to_worker(module: Module, model: Model) -> Iterator[Finding]:
    for handed in model.handed_over(module):
        value = handed.value
        if isinstance(value, Function) and value.is_lambda and handed.is_pickled:
            message = (
                f"lambda reaches workers through {handed.place[2]} and cannot be pickled "
                f"({model.pickled_under(handed)}): make it a function at module level"
            )
            way = model.steps(handed.way, handed.place)
            yield model.finding("TMP301", message, value.node, value.scope.module, way)
