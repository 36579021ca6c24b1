"""Whether a module-level variable is filled where it is found empty, so that each process fills its own."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.global_names import Global, GlobalNames
from flake8_torchmp.semantics.flow import Condition, conditions, facts
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import without_keys


class LazyMaking:
    def __init__(self, names: GlobalNames) -> None:
        self.names = names

    def is_lazy(self, node: ast.AST, variable: Global, module: Module) -> bool:
        """Made once per process: where the variable is still None or empty, or has no such key."""
        return any(
            self._says_missing(fact, variable, module) for condition in conditions(node) for fact in facts(condition)
        )

    def _says_missing(self, fact: Condition, variable: Global, module: Module) -> bool:
        test, holds = fact
        named: list[ast.expr] = []
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                wanted = isinstance(test.ops[0], ast.Is | ast.Eq)
                named = [_asked_for_key(test.left)] if wanted is holds else []
            elif isinstance(test.ops[0], ast.NotIn | ast.In):
                named = [_asked_for_key(right)] if isinstance(test.ops[0], ast.NotIn) is holds else []
        elif not holds:
            named = [_asked_for_key(test)]
        whole = map(without_keys, named)
        asked = (part.value if isinstance(part, ast.Attribute) else part for part in whole)  # `Stores.kept`
        return any(isinstance(part, ast.Name) and self.names.of_name(part, module) == variable for part in asked)


def _asked_for_key(test: ast.expr) -> ast.expr:
    """`TABLE` of `key in TABLE.keys()` and of `TABLE.get(key) is None`."""
    function = test.func if isinstance(test, ast.Call) else None
    return function.value if isinstance(function, ast.Attribute) and function.attr in ("keys", "get") else test
