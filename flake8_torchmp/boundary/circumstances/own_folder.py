"""Whether a program goes to the folder of its own files, which settles where its relative paths begin."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import mentions

_KEY = ("goes to its own folder",)


def goes_to_own_folder(module: Module) -> bool:
    """`os.chdir(os.path.dirname(__file__))` at module level, also below the guard, and nowhere else to."""
    if _KEY not in module.memo:
        calls = module.calls.get("chdir", ())
        is_run = any(module.scope_of(call).enclosing_function() is None for call in calls)
        module.memo[_KEY] = is_run and all(any(_is_of_file(given, module) for given in call.args) for call in calls)
    settled: bool = module.memo[_KEY]
    return settled


def _is_of_file(node: ast.expr, module: Module) -> bool:
    if mentions(node, ("__file__",)):
        return True
    bindings = module.scope.bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    return bool(bindings) and all(b.value is not None and mentions(b.value, ("__file__",)) for b in bindings)
