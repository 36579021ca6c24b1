"""The arguments with which datasets are made, as far as they are paths."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.loading.datasets import Datasets
from flake8_torchmp.boundary.tables.apis import WORDS, is_dataset_name
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.callees import is_kept
from flake8_torchmp.semantics.calls import Arguments, Frame, parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, dotted, is_none, last_name, root_name, up
from flake8_torchmp.semantics.scopes import Binding
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Function,
    Instance,
    Method,
    Result,
    Source,
    Text,
    Unknown,
    Value,
)

from .path_flow import field_read
from .paths import Paths, is_relative


class DatasetArgument(NamedTuple):
    dataset: str
    parameter: str
    source: Source
    module: Module
    line: int
    cls: Class | None = None
    """The dataset's class, unless it is a library's, which joins paths and does not put texts together."""


class DatasetArguments:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, datasets: Datasets, paths: Paths) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.datasets = datasets
        self.paths = paths

    def of(self, module: Module) -> Iterator[DatasetArgument]:
        """The path arguments with which a module makes datasets; defaults that a call leaves in force included."""
        for calls in list(module.calls.values()):
            for call in calls:
                yield from self._of_call(call, module)
        for call in module.calls_of("partial"):
            if call.args and self._may_make_dataset(call.args[0], module):
                yield from self._of_partial(call, module)

    def of_instances(self, values: Iterable[Value], module: Module) -> Iterator[DatasetArgument]:
        """The path arguments of datasets that a module gives to loaders, and that another one makes."""
        for value in values:
            made = value.arguments if isinstance(value, Instance) else None
            if not isinstance(value, Instance) or made is None or made.frame.module is module:
                continue
            if self.datasets.is_dataset(value.cls):
                yield from self._of_project(value.cls, made, made.frame.module)

    def _of_partial(self, call: ast.Call, module: Module) -> Iterator[DatasetArgument]:
        """`partial(Images, "data")`: what is bound goes to each dataset, and the call may give the rest."""
        frame = self.evaluator.frame_at(call, module)
        bound = Arguments(call, frame)
        bound.open_keywords = True
        bound = bound.before(self.evaluator.argument_lists.without_first(self.evaluator.arguments(call, frame)))
        yield from self._of_callees(self.evaluator.values(call.args[0], frame), bound, module)

    def _of_call(self, call: ast.Call, module: Module) -> Iterator[DatasetArgument]:
        if not self._may_make_dataset(call.func, module):
            return
        frame = self.outline.frame_at(call, module)
        outlined = self.outline.values(call.func, frame)
        if not any(self._makes_dataset(callee) for callee in outlined):
            return
        if not any(isinstance(callee, Unknown) for callee in outlined):
            arguments = self.outline.arguments(call, frame)
            if not arguments.is_open and not any(True for _ in self._of_callees(outlined, arguments, module)):
                return
        for inner in self._frames(call, module):
            callees = self.evaluator.values(call.func, inner)
            yield from self._of_callees(callees, self.evaluator.arguments(call, inner), module)

    def _frames(self, call: ast.Call, module: Module) -> list[Frame]:
        """One frame for all callers, or one for each where they give options that belong together."""
        if any(keyword.arg is None for keyword in call.keywords):
            return self.evaluator.contexts(module.scope_of(call))
        return [self.evaluator.frame_at(call, module)]

    def _of_callees(
        self, callees: tuple[Value, ...], arguments: Arguments, module: Module
    ) -> Iterator[DatasetArgument]:
        for callee in callees:
            if isinstance(callee, External) and is_dataset_name(callee.name):
                yield from self._of_library(callee, arguments, module)
            elif isinstance(callee, Class) and self.datasets.is_dataset(callee):
                yield from self._of_project(callee, arguments, module)
            elif isinstance(callee, Method) and callee.function.scope.name == "__init__":
                owner = callee.function.scope.parent
                assert owner is not None
                cls = Class(owner, callee.function.closure.closure if callee.function.closure else None)
                if self.datasets.is_dataset(cls):
                    yield from self._of_project(cls, arguments, module)

    def _may_make_dataset(self, function: ast.expr, module: Module) -> bool:
        """A class that may be a dataset, going by its name, something of a library, or what a variable holds."""
        if is_kept(self.outline, function, module):
            return True
        name = last_name(function)
        if name == "__init__" or name in self.outline.codebase.derived_names(WORDS) or name in self.datasets.names:
            return True
        if name[:1].isupper():
            root = root_name(function)
            bindings = module.scope.bindings.get(root, ())
            return any(self._is_of_library(binding, module) for binding in bindings)
        return "dataset" in name.lower() or name.lower().endswith(("class", "cls"))

    def _is_of_library(self, binding: Binding, module: Module) -> bool:
        """Imported from elsewhere, or under another name than its own."""
        origin: Any = up(binding.node)
        if binding.kind == "import":
            return True
        if binding.kind != "from":
            return binding.kind == "assign"
        return getattr(binding.node, "asname", None) is not None or not self.outline.codebase.find(
            origin.module or "", module.path, origin.level
        )

    def _makes_dataset(self, callee: Value) -> bool:
        if isinstance(callee, External):
            return is_dataset_name(callee.name)
        if isinstance(callee, Method) and callee.function.scope.name == "__init__":
            return True
        return isinstance(callee, Unknown) or (isinstance(callee, Class) and self.datasets.is_dataset(callee))

    def _of_library(self, callee: External, arguments: Arguments, module: Module) -> Iterator[DatasetArgument]:
        for name, source in arguments.all():
            index = int(name) if name.isdigit() else None
            text = callee.name.rpartition(".")[2]
            if self.paths.is_path_of_library(text, index, name):
                parameter = name if index is None else ("root", "labels")[index]
                yield DatasetArgument(text, parameter, source, module, _line(arguments))

    def _of_project(self, cls: Class, arguments: Arguments, module: Module) -> Iterator[DatasetArgument]:
        for name, source in self._given(cls, arguments):
            if self.paths.is_path_parameter(cls, name) and self._may_be_path(source):
                yield DatasetArgument(cls.scope.name, name, source, module, _line(arguments), cls)
            for field in _fields_read(cls, name):
                inner = _field_of(source, field)
                if self.paths.is_path_parameter(cls, f"{name}.{field}") and self._may_be_path(inner):
                    text = f"{name}.{field}".replace(".[", "[")
                    yield DatasetArgument(cls.scope.name, text, inner, module, _line(arguments), cls)

    def _may_be_path(self, source: Source) -> bool:
        """Whether an argument can be a relative path, as far as definitions alone tell."""
        place = source.node.value if isinstance(source.node, ast.Attribute | ast.Subscript) else source.node
        frame = self.outline.frame_at(place, source.frame.module)
        return any(
            isinstance(value, Unknown | Result | Collection | Text)
            or (isinstance(value, Constant) and isinstance(value.value, str) and is_relative(value.value))
            for value in self.outline.values(source.node, frame)
        )

    def _given(self, cls: Class, arguments: Arguments) -> Iterator[tuple[str, Source]]:
        """What each parameter of a constructor gets: an argument, or the default that the call leaves in force."""
        init = classes.find_method(self.evaluator, cls, "__init__")
        if init is not None:
            yield from self._given_to(init, arguments)
        elif classes.is_record(self.evaluator, cls):
            for index, (name, (default, owner)) in enumerate(classes.fields(self.evaluator, cls).items()):
                source = arguments.get(index, name)
                if source is not None:
                    yield name, source
                elif default is not None and not arguments.is_open and not isinstance(default, ast.Call):
                    yield name, Source(default, classes.class_frame(self.evaluator, owner))

    def _given_to(self, init: Function, arguments: Arguments) -> Iterator[tuple[str, Source]]:
        assert isinstance(init.scope.node, FUNCTIONS)
        known = parameters(init.scope.node)
        for name, parameter in known.items():
            index = None if parameter.index is None else parameter.index - 1
            source = arguments.get(index, name) if parameter.kind in ("positional", "keyword") and index != -1 else None
            if source is not None:
                yield name, source
            elif parameter.default is not None and not arguments.is_open:
                assert init.closure is not None
                yield name, Source(parameter.default, init.closure)
                if is_none(parameter.default):
                    frame = self.evaluator.frame_of(init.scope)
                    yield from ((name, Source(node, frame)) for node in _stand_ins(init.scope.node, name))


def _stand_ins(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> list[ast.expr]:
    """What a function takes where it is given None: `root = root or "data"`, `if root is None: root = "data"`."""
    found: list[ast.expr] = []
    for node in body_nodes(function, nested=False):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and dotted(node.values[0]) == name:
            found.append(node.values[-1])
        elif isinstance(node, ast.IfExp | ast.If) and (is_missing := _is_missing(node.test, name)) is not None:
            if isinstance(node, ast.IfExp):
                found.append(node.body if is_missing else node.orelse)
            elif is_missing:
                set_there = (part for part in node.body if isinstance(part, ast.Assign))
                found += [part.value for part in set_there if dotted(part.targets[0]) == name]
    return found


def _is_missing(test: ast.expr, name: str) -> bool | None:
    """Whether a test holds where a parameter is None, or where it is not; None of another test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _is_missing(test.operand, name)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and dotted(test.left) == name and is_none(test.comparators[0]):
        return isinstance(test.ops[0], ast.Is | ast.Eq)
    return False if dotted(test) == name else None


def _fields_read(cls: Class, name: str) -> tuple[str, ...]:
    """What a dataset reads of what its constructor is given: `config.root`, `self.config.root`, `config["root"]`."""
    memo, key = cls.scope.module.memo, ("fields read", cls.node)
    if key not in memo:
        inits = [node for node in cls.node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
        memo[key] = (
            [read for node in ast.walk(cls.node) if (read := field_read(node))],
            [node for init in inits for node in ast.walk(init) if isinstance(node, ast.Assign)],
        )
    read, assigned = memo[key]
    holders = {dotted(node.targets[0]) for node in assigned if dotted(node.value) == name} | {name}
    return tuple(dict.fromkeys(field for holder, field in read if holder in holders and holder))


def _field_of(source: Source, field: str) -> Source:
    memo, key = source.frame.module.memo, ("field", source.node, field)
    if key not in memo:
        made: ast.expr = ast.Attribute(source.node, field, ast.Load())
        if field.startswith("["):
            entry = ast.copy_location(ast.Constant(field[1:-1]), source.node)
            made = ast.Subscript(source.node, entry, ast.Load())
        memo[key] = ast.copy_location(made, source.node)
    return Source(memo[key], source.frame)


def _line(arguments: Arguments) -> int:
    return getattr(arguments.call, "lineno", 1)
