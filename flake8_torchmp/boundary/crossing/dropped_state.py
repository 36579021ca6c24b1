"""Which attributes of an object stay behind when it is pickled."""

from __future__ import annotations

import ast
from typing import Any

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import ancestors, last_name, up
from flake8_torchmp.semantics.values import Class, Constant, Function, Instance, Value

REGISTRIES = ((b"copyreg", "pickle"), (b"ForkingPickler", "register"))
"""What says from outside how objects of a class are pickled, with a word that stands in the source then."""
AFFIXES = ("startswith", "endswith")


class Drops:
    """Which attributes do not go along when an object is pickled."""

    def __init__(self, evaluator: Evaluator, value: Instance) -> None:
        self.all = False
        self.names: set[str] = set()
        self.kept: set[str] | None = None
        self.affixes: list[tuple[str, tuple[str, ...], bool]] = []
        """How names of attributes begin or end that are dropped, or, where that is False, of those that are not."""
        if is_reduced(evaluator, value.cls):
            self.all = True
            return
        state = classes.find_method(evaluator, value.cls, "__getstate__")
        if state is not None:
            self._read(evaluator, state, value)

    def _read(self, evaluator: Evaluator, state: Function, value: Instance) -> None:
        copies = False
        read: set[str] = set()
        frame = evaluator.frame(state.scope, None, state.closure, value)
        for node in ast.walk(state.node):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.names.add(node.value)
            elif isinstance(node, ast.Attribute):
                if isinstance(node.ctx, ast.Load):
                    read.add(node.attr)
                    copies = copies or node.attr in ("__dict__", "__getstate__")
                else:
                    self.names.add(node.attr)
            elif isinstance(node, ast.keyword):
                self.names.add(node.arg or "")
            elif isinstance(node, ast.Name):
                copies = copies or node.id in ("vars", "super")
                self.all = self.all or node.id in ("isinstance", "hasattr", "callable")
            elif isinstance(node, ast.Call) and last_name(node.func) in AFFIXES:
                self._add_affix(node)
            if isinstance(node, ast.Compare | ast.For | ast.comprehension):
                for table in node.comparators if isinstance(node, ast.Compare) else [node.iter]:
                    self._add_table(evaluator, evaluator.values(table, frame) if _is_name(table) else ())
            if isinstance(node, ast.comprehension):
                self.all = self.all or any(_asks_for_more_than_names(test) for test in node.ifs)
        if not copies:
            self.kept = read

    def _add_affix(self, call: ast.Call) -> None:
        given = call.args[0] if call.args else None
        texts = tuple(n.value for n in ast.walk(given or call) if isinstance(n, ast.Constant) and type(n.value) is str)
        filters = any(isinstance(outer, ast.comprehension) for outer in ancestors(call))
        self.affixes.append((last_name(call.func), texts, not filters or isinstance(up(call), ast.UnaryOp)))

    def _add_table(self, evaluator: Evaluator, tables: tuple[Value, ...]) -> None:
        for table in tables:
            for _, source in evaluator.items(table):
                self.names |= {str(item.value) for item in evaluator.of(source) if isinstance(item, Constant)}

    def __call__(self, attribute: str) -> bool:
        if self.kept is not None:
            return attribute not in self.kept or self.all
        by_affix = any(getattr(attribute, method)(texts) is drops for method, texts, drops in self.affixes)
        return self.all or attribute in self.names or by_affix


def is_reduced(evaluator: Evaluator, cls: Class) -> bool:
    """Whether objects of a class are made anew from what a function or method says, not from their attributes."""
    if any(classes.find_method(evaluator, cls, name) for name in ("__reduce__", "__reduce_ex__")):
        return True
    module = cls.scope.module
    return any(
        word in module.data and call.args and last_name(call.args[0]) == cls.scope.name
        for word, name in REGISTRIES
        for call in module.calls.get(name, ())
    )


def _asks_for_more_than_names(test: Any) -> bool:
    """Whether a filter calls something that cannot be read off, such as one that tries what can be pickled."""
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call)]
    return any(last_name(call.func) not in AFFIXES for call in calls)


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)
