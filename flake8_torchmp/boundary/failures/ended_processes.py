"""How a process comes to its end: by force, so that nothing that it has put holds it back, or waited for in a loop."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.flow import earlier
from flake8_torchmp.semantics.nodes import ancestors, dotted, last_name

FORCING = frozenset(("terminate", "kill"))


def is_ended_before(join: ast.Call) -> bool:
    """`worker.terminate()` before `worker.join()`, also where it is only done to a process that is alive."""
    process = dotted(join.func.value) if isinstance(join.func, ast.Attribute) else ""
    over = {ast.unparse(loop.iter) for loop in ancestors(join) if isinstance(loop, ast.For)}
    return bool(process) and any(_ends(statement, process, over) for statement in earlier(join))


def loop_until_ended(asked: ast.Call) -> ast.While | None:
    """`while worker.is_alive():` or `while any(w.is_alive() for w in workers):`, if nothing else ends that."""
    inner: ast.AST = asked
    for outer in ancestors(asked):
        if isinstance(outer, ast.While):
            leaves = any(
                isinstance(part, ast.Break | ast.Return | ast.Raise)
                or (isinstance(part, ast.Call) and last_name(part.func) in (*FORCING, "join"))
                for part in ast.walk(outer)
            )
            return outer if inner is outer.test and not leaves else None
        is_any = isinstance(outer, ast.Call) and dotted(outer.func) == "any"
        if not isinstance(outer, ast.GeneratorExp | ast.ListComp) and not is_any:
            return None
        inner = outer
    return None


def _ends(statement: ast.stmt, process: str, over: set[str]) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        method = statement.value.func
        return isinstance(method, ast.Attribute) and method.attr in FORCING and dotted(method.value) == process
    if isinstance(statement, ast.If):
        asks = isinstance(statement.test, ast.Call) and last_name(statement.test.func) == "is_alive"
        return asks and any(_ends(inner, process, over) for inner in statement.body)
    if isinstance(statement, ast.For) and ast.unparse(statement.iter) in over:  # another loop over the same ones
        return any(_ends(inner, process, over) for inner in statement.body)
    return False
