"""Which parameters of classes are paths: those that reach a call which opens them."""

from __future__ import annotations

import ast
from typing import Any

from flake8_torchmp.boundary.tables.file_functions import (
    LOOKERS,
    LOOKING_METHODS,
    OPENED_KEYWORDS,
    OPENERS,
    OPENING_METHODS,
    PASSING_METHODS,
    PATH_PARAMETERS,
)
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, dotted, last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, External, Function, Method, Value

_Parts = tuple[list[tuple[list[ast.expr], ast.expr]], list[ast.Call], frozenset[str]]


class PathFlow:
    """Follows a constructor's parameter through a class to a call that opens it."""

    def __init__(self, evaluator: Evaluator, cls: Class, depth: int = 0) -> None:
        self.evaluator = evaluator
        self.cls = cls
        self.depth = depth
        self.is_named = False
        """Whether the parameter's name says that it is a path: then it is what is opened of a dict that holds it."""
        self.attributes: set[str] = set()
        self.makers: set[str] = set()
        """The methods and properties that return the path, or what is joined to it."""
        self.seen: set[tuple[int, str]] = set()

    def opens(self, name: str) -> bool:
        self.is_named = bool(PATH_PARAMETERS.search(name))
        init = classes.find_method(self.evaluator, self.cls, "__init__")
        if init is None:
            if not classes.is_record(self.evaluator, self.cls):
                return self.is_named
            self.attributes.add(name)
            made = classes.find_method(self.evaluator, self.cls, "__post_init__")
            if made is not None and self._function(made.scope, set()):
                return True
        elif self._function(init.scope, {name}):
            return True
        if not self.attributes:
            return False
        methods = [
            cls.scope.module.scopes[node]
            for cls in classes.project_classes(self.evaluator, self.cls)
            for node in cls.node.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for _ in range(2):
            self.makers.update(scope.name for scope in methods if self._returns(scope))
            if any(self._function(scope, set()) for scope in methods):
                return True
            self.seen.clear()
        return False

    def _function(self, scope: Scope, names: set[str], depth: int = 0) -> bool:
        """Whether a function opens one of its names, or an attribute that holds the path."""
        key = (id(scope), ",".join(sorted(names)))
        if key in self.seen or depth > 4:
            return False
        self.seen.add(key)
        assignments, calls, mentioned = _assignments_and_calls(scope)
        if not names and self._kept().isdisjoint(mentioned):
            return False
        names = set(names)
        receiver = receiver_name(scope)
        for targets, value in assignments:
            self._assign(targets, value, names, receiver)
        return any(self._call(node, scope, names, receiver, depth) for node in calls)

    def _kept(self) -> set[str]:
        return self.makers.union(name.partition(".[")[0].rpartition(".")[2] for name in self.attributes)

    def _returns(self, scope: Scope) -> bool:
        assignments, _, mentioned = _assignments_and_calls(scope)
        if not scope.returns or self._kept().isdisjoint(mentioned):
            return False
        names: set[str] = set()
        kept = set(self.attributes)
        for targets, value in assignments:
            self._assign(targets, value, names, receiver_name(scope))
        found = any(r.value is not None and self._carries(r.value, names, receiver_name(scope)) for r in scope.returns)
        self.attributes = kept
        return found

    def _assign(self, targets: list[ast.expr], value: ast.expr, names: set[str], receiver: str) -> None:
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for inner, part in zip(target.elts, value.elts, strict=True):
                    self._assign([inner], part, names, receiver)
            elif isinstance(target, ast.Name):
                names.update(f"{target.id}.{field}" for field in self._fields(value, names, receiver))
                if self._carries(value, names, receiver):
                    names.add(target.id)
                elif self._resolves(value, names, receiver):
                    names.discard(target.id)
            elif isinstance(target, ast.Attribute) and _is_attribute(target, receiver):
                self.attributes.update(f"{target.attr}.{field}" for field in self._fields(value, names, receiver))
                if self._resolves(value, names, receiver):
                    self.attributes.discard(target.attr)
                elif self._carries(value, names, receiver):
                    self.attributes.add(target.attr)
            elif isinstance(target, ast.Subscript) and _is_join(value):
                self._assign([target.value], value, names, receiver)

    def _fields(self, value: ast.expr, names: set[str], receiver: str) -> list[str]:
        """The fields of an object that hold the path: of `config`, where `config.root` does."""
        if not isinstance(value, ast.Name | ast.Attribute):
            return []
        text = f"{dotted(value)}."
        known = [*names, *(f"{receiver or 'self'}.{name}" for name in self.attributes)]
        return [name.removeprefix(text) for name in known if name.startswith(text)]

    def _carries(self, node: ast.expr, names: set[str], receiver: str) -> bool:
        """Whether an expression is the path, or begins with it."""
        if isinstance(node, ast.Name):
            return node.id in names
        if isinstance(node, ast.Attribute):
            if _is_attribute(node, receiver):
                return node.attr in self.attributes | self.makers
            text = dotted(node)
            return text in names or text.removeprefix(f"{receiver or 'self'}.") in self.attributes
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._carries(node.elt, names, receiver)
        if isinstance(node, ast.Dict | ast.DictComp) and self.is_named:
            held = node.values if isinstance(node, ast.Dict) else [node.value]
            return any(self._carries(value, names, receiver) for value in held)
        if isinstance(node, ast.Subscript | ast.Call) and (read := field_read(node)):
            text = ".".join(read)
            if text in names or text.removeprefix(f"{receiver or 'self'}.") in self.attributes:
                return True
        if isinstance(node, ast.Subscript):
            return self._carries(node.value, names, receiver)
        if isinstance(node, ast.BinOp):
            return self._carries(node.left, names, receiver)
        if isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            return isinstance(first, ast.FormattedValue) and self._carries(first.value, names, receiver)
        if isinstance(node, ast.IfExp):
            return self._carries(node.body, names, receiver) or self._carries(node.orelse, names, receiver)
        if isinstance(node, ast.BoolOp):
            return any(self._carries(value, names, receiver) for value in node.values)
        if isinstance(node, ast.Call):
            function: Any = node.func
            last = last_name(function)
            if _is_attribute(function, receiver) and last in self.makers:
                return True
            if last in ("abspath", "realpath", "resolve", "absolute"):
                return False
            is_method = isinstance(function, ast.Attribute) and last in PASSING_METHODS
            if is_method and self._carries(function.value, names, receiver):
                return True
            if last in ("tuple", "list", "sorted", "set", "iter", "reversed"):
                return bool(node.args) and self._carries(node.args[0], names, receiver)
            if last in ("join", "Path", "PurePath", "str", "expanduser", "normpath", "fspath", "format"):
                return bool(node.args) and self._carries(node.args[0], names, receiver)
            if last == "dict" and self.is_named:
                pairs = [part.elt for part in node.args if isinstance(part, ast.GeneratorExp | ast.ListComp)]
                held = [pair.elts[-1] for pair in pairs if isinstance(pair, ast.Tuple)]
                held += [keyword.value for keyword in node.keywords]
                return any(self._carries(value, names, receiver) for value in held)
        return False

    def _resolves(self, node: ast.expr, names: set[str], receiver: str) -> bool:
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        inner = [*node.args[:1], *([function.value] if isinstance(function, ast.Attribute) else [])]
        return last in ("abspath", "realpath", "resolve", "absolute") and any(
            self._carries(part, names, receiver) or self._resolves(part, names, receiver) for part in inner
        )

    def _call(self, node: ast.Call, scope: Scope, names: set[str], receiver: str, depth: int) -> bool:
        function: Any = node.func
        is_method = isinstance(function, ast.Attribute) and function.attr in LOOKING_METHODS
        if is_method and self._carries(function.value, names, receiver):
            return True
        given: list[tuple[int | None, str]] = [
            (index, "") for index, part in enumerate(node.args) if self._carries(part, names, receiver)
        ]
        given += [(None, k.arg) for k in node.keywords if k.arg and self._carries(k.value, names, receiver)]
        if not given:
            return False
        frame = self.evaluator.frame_at(node, scope.module)
        return any(self._given(callee, given, depth) for callee in self.evaluator.values(function, frame))

    def _given(self, callee: Value, given: list[tuple[int | None, str]], depth: int) -> bool:
        if isinstance(callee, External):
            if callee.name in LOOKERS:
                return any(index == 0 or name in OPENED_KEYWORDS for index, name in given)
            if callee.name.endswith(".__init__"):
                first = self.depth == 0 and not callee.name.startswith("builtins.")
                return any((first and index == 0) or bool(PATH_PARAMETERS.search(name)) for index, name in given)
            return False
        target = callee
        if isinstance(callee, Class):
            found = classes.find_method(self.evaluator, callee, "__init__")
            if found is not None:
                inner = PathFlow(self.evaluator, callee, self.depth + 1)
                return self.depth < 2 and any(inner.opens(p) for p in _names_of(found.scope, given, shift=1))
            return False
        if isinstance(callee, Method):
            target = callee.function
            return self._function(target.scope, set(_names_of(target.scope, given, shift=1)), depth + 1)
        if isinstance(target, Function):
            return self._function(target.scope, set(_names_of(target.scope, given, shift=0)), depth + 1)
        return False


def _is_join(node: ast.expr) -> bool:
    """Whether a value is a path by the way in which it is made: then what holds it holds paths."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("join", "joinpath", "Path")
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _assignments_and_calls(scope: Scope) -> _Parts:
    """What a function gives names, its calls, and the attributes that it mentions, in source order."""
    key = ("assignments and calls", scope.node)
    if key not in scope.module.memo:
        assert isinstance(scope.node, FUNCTIONS)
        nodes = body_nodes(scope.node)
        assignments: list[tuple[list[ast.expr], ast.expr]] = []
        for node in nodes:
            if isinstance(node, ast.Assign):
                assignments.append((node.targets, node.value))
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                assignments.append(([node.target], node.value))
            elif isinstance(node, ast.For | ast.comprehension):
                assignments.append(([node.target], node.iter))
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        mentioned = frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))
        scope.module.memo[key] = (assignments, calls, mentioned)
    known: _Parts = scope.module.memo[key]
    return known


_OPENER_NAMES = frozenset(name.rpartition(".")[2] for name in OPENERS) | OPENING_METHODS


def names_of_openers(module: Module) -> frozenset[str]:
    """The names by which a module may call something that opens a file."""
    key = ("openers",)
    if key not in module.memo:
        renamed = {
            name
            for name, bindings in module.scope.bindings.items()
            for binding in bindings
            if binding.kind == "from" and getattr(binding.node, "name", "") in _OPENER_NAMES
        }
        module.memo[key] = _OPENER_NAMES | renamed
    known: frozenset[str] = module.memo[key]
    return known


def _names_of(scope: Scope, given: list[tuple[int | None, str]], shift: int) -> list[str]:
    assert isinstance(scope.node, FUNCTIONS)
    known = parameters(scope.node)
    return [
        parameter.name
        for index, name in given
        for parameter in known.values()
        if parameter.name == name or (index is not None and parameter.index == index + shift)
    ]


def _is_attribute(node: Any, receiver: str) -> bool:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == (receiver or "self")
    )


def field_read(node: ast.AST) -> tuple[str, str] | None:
    """What is read of what: `root` of `config.root`, `[root]` of `config["root"]` and `config.get("root")`."""
    if isinstance(node, ast.Attribute):
        return dotted(node.value), node.attr
    holder: ast.expr | None = None
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        holder, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        holder, key = node.func.value, node.args[0]
    if holder is None or not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return None
    return dotted(holder), f"[{key.value}]"
