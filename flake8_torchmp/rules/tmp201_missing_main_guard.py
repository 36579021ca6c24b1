"""TMP201 missing-main-guard: processes start when the module is imported
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..boundary.model import Model
from ..findings import Finding, Step
from ..semantics.module import Module, statement_of
from . import rule


@rule("TMP201", "missing-main-guard", fix="safe or unsafe")
def missing_main_guard(module: Module, model: Model) -> Iterator[Finding]:
    if model.is_program_file(module):
        return
    for node, start in model.starts.at_import(module):
        if start.methods <= {"fork"}:
            continue
        message = (
            f"{start.text} when this module is imported, in each spawned child again: "
            'put it under `if __name__ == "__main__":`'
        )
        place = _header(node)
        way = [
            Step(module.path, place.lineno, "module level"),
            Step(start.module.path, getattr(start.node, "lineno", 1), start.text),
        ]
        yield model.finding("TMP201", message, place, module, way, cause="import")
        return


def _header(node: ast.AST) -> ast.expr | ast.stmt:
    """What to underline: a statement as such, of a compound one the part that starts the processes."""
    statement = statement_of(node)
    if isinstance(statement, ast.For | ast.AsyncFor):
        return statement.iter
    if hasattr(statement, "body"):
        return node if isinstance(node, ast.expr | ast.stmt) else statement
    return statement
