"""Attributes that hold all the Python objects which the parent has read in, for sample methods to read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics import stores
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import ancestors, last_name
from flake8_torchmp.semantics.scopes import Change, Scope
from flake8_torchmp.semantics.values import Class, Function, Method, qualified

from .object_state import ObjectState

READING_WHOLE = frozenset("load loads safe_load full_load readlines splitlines glob listdir to_dict tolist".split())
READING = READING_WHOLE | frozenset("open rglob iglob iterdir walk scandir reader DictReader iterrows".split())
"""Functions and methods that read as many Python objects as there are in a file or folder."""
BLOCKS = ("numpy.", "torch.", "joblib.")
DEEPEST = 3
NUMBERS = frozenset("int float len bool tensor array asarray as_tensor from_numpy".split())


class ObjectLists:
    def __init__(self, evaluator: Evaluator, object_state: ObjectState) -> None:
        self.evaluator = evaluator
        self.object_state = object_state

    def of(self, cls: Class) -> Iterator[tuple[ast.AST, str]]:
        """The places where a class fills them, with the attribute."""
        for attribute, changes in stores.by_attribute(cls).items():
            if any(self._is_block(change, cls) for change, _ in changes):
                continue
            filled = [(change.node, method) for change, method in changes if self._is_object_list(change.value, method)]
            filled += [(node, method) for _, method in changes for node in _filled_in_loop(attribute, method)]
            place = next((node for node, method in filled if not self.object_state.workers.runs(method)), None)
            if place is not None and self.object_state.is_read_by_worker(cls, attribute):
                yield place, attribute

    def _is_block(self, change: Change, cls: Class) -> bool:
        if change.value is None:
            return False
        values = self.evaluator.values(change.value, self.evaluator.frame_at(change.node, cls.scope.module))
        return any(qualified(value).startswith(BLOCKS) for value in values)

    def _is_object_list(self, value: ast.expr | None, method: Scope, depth: int = 0) -> bool:
        if isinstance(value, ast.Subscript):
            return not isinstance(value.slice, ast.Slice) and self._is_object_list(value.value, method, depth)
        if isinstance(value, ast.Name):
            bindings = method.bindings.get(value.id, ())
            made = [binding.value for binding in bindings if binding.kind == "assign"]
            if len(made) != 1 or len(bindings) != 1:
                return False
            gathered = method.module.changes.get(value.id, ()) if isinstance(made[0], ast.List | ast.Dict) else ()
            return self._is_object_list(made[0], method, depth) or any(
                _adds(change, method) for change in gathered if method.module.scope_of(change.node) is method
            )
        if isinstance(value, ast.ListComp | ast.DictComp):
            return _reads(value.generators[0].iter, method)
        if not isinstance(value, ast.Call):
            return False
        name = last_name(value.func)
        if name in ("list", "sorted", "dict"):
            return any(_reads(argument, method) for argument in value.args)
        return name in READING_WHOLE or (depth < DEEPEST and self._is_given_list(value, method, depth))

    def _is_given_list(self, call: ast.Call, method: Scope, depth: int) -> bool:
        """Whether a function of the project reads them in and gives them back."""
        callees = self.evaluator.values(call.func, self.evaluator.frame_at(call, method.module))
        functions = [c.function if isinstance(c, Method) else c for c in callees if isinstance(c, Function | Method)]
        return any(
            self._is_object_list(given.value, function.scope, depth + 1)
            for function in functions
            for given in function.scope.returns
        )


def _filled_in_loop(attribute: str, method: Scope) -> Iterator[ast.AST]:
    """`self.rows.append(row)`, an element for each of what is read in."""
    for changes in list(method.module.changes.values()):
        for change in changes:
            is_own = isinstance(change.target, ast.Attribute) and change.target.attr == attribute
            if is_own and method.module.scope_of(change.node).enclosing_function() is method and _adds(change, method):
                yield change.node


def _adds(change: Change, method: Scope) -> bool:
    is_number = isinstance(change.value, ast.Call) and last_name(change.value.func) in NUMBERS
    if is_number or not (change.kind == "item" or (change.kind == "method" and change.name in ("append", "extend"))):
        return False
    return any(isinstance(loop, ast.For) and _reads(loop.iter, method) for loop in ancestors(change.node))


def _reads(node: ast.expr, method: Scope) -> bool:
    """Whether an expression reads something in, or goes through what was opened before."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and last_name(part.func) in READING:
            return True
        if isinstance(part, ast.Name):
            for binding in method.bindings.get(part.id, ()):
                opened = binding.value if binding.kind in ("assign", "with") else None
                if isinstance(opened, ast.Call) and last_name(opened.func) in READING:
                    return True
    return False
