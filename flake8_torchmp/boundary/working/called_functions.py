"""What functions call: the functions of the project that run because one does, on the objects that it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flake8_torchmp.boundary.crossing.crossings import Crossings
from flake8_torchmp.boundary.crossing.task_items import frames_of_tasks
from flake8_torchmp.semantics import attributes, classes, switches
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import Arguments, Frame, has_receiver, is_property, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, dotted
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.switches import Switches
from flake8_torchmp.semantics.values import Class, Function, Instance, Method, Partial, Unknown, Value

ITERATION_METHODS = ("__iter__", "__next__")
CONTEXT_METHODS = ("__enter__", "__exit__")
ITERATING = frozenset("enumerate iter list map next set sorted sum tuple zip".split())


class Called(NamedTuple):
    function: Function
    receiver: Value | None = None
    """The object whose method it is, where that is known."""
    switches: Switches = ()


class CalledFunctions:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, crossings: Crossings) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.crossings = crossings
        self.forget()

    def forget(self) -> None:
        self._known: dict[tuple[object, ...], list[Called]] = {}

    def of(self, scope: Scope, receiver: Value | None, given: Switches = ()) -> list[Called]:
        """The functions of the project that a function calls, or hands to something that does."""
        is_bound = receiver is not None and has_receiver(scope)
        held = (*receiver.key, *map(id, receiver.additions)) if receiver is not None and is_bound else ()
        key = (id(scope), given, held)
        known = self._known.get(key)
        if known is None:
            self._known[key] = []
            known = self._known[key] = self.evaluator.alone(lambda: list(self._called_by(scope, receiver, given)))
        return known

    def _called_by(self, scope: Scope, receiver: Value | None, given: Switches) -> Iterator[Called]:
        open_frame = self.outline.frame_of(scope)
        frame = self.outline.frame(scope, None, open_frame.closure, receiver) if has_receiver(scope) else open_frame
        assert isinstance(scope.node, FUNCTIONS)
        for node in body_nodes(scope.node):
            if switches.are_off(node, given):
                continue
            if isinstance(node, ast.Call):
                inner = self.outline.frame_in(scope.module.scope_of(node), frame)
                if may_run_project(self.outline, node.func, scope.module):
                    for value in self._called_values(node.func, inner, scope, receiver):
                        for called in self._run_by(value):
                            arguments = self._arguments(value, called.function, node, inner)
                            yield called._replace(switches=switches.given_by(called.function, arguments, given))
                for argument in node.args:
                    if self._may_be_function(argument, scope):
                        yield from self._handed_on(argument, inner)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                for function in self._properties(node, scope, receiver):
                    yield Called(function, receiver)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                yield from self._indexed(node, frame)
            for expression, names in _implied(node):
                yield from self._run_implicitly(expression, names, frame, receiver)

    def reached_from(
        self, begun: Sequence[tuple[Scope, Value | None]], most: int
    ) -> Iterator[tuple[Scope, Value | None]]:
        """Functions, each with the object that it is for, and all that they call, also by way of others: each once."""
        pending = list(begun)
        seen: set[Scope] = set()
        while pending and len(seen) < most:
            scope, receiver = pending.pop(0)
            if scope not in seen:
                seen.add(scope)
                yield scope, receiver
                pending += [(called.function.scope, called.receiver) for called in self.of(scope, receiver)]

    def places(self, target: Scope, scope: Scope, receiver: Value | None) -> list[ast.Call | None]:
        """Where a function calls another one; None where it is run in another way, or handed to what runs it."""
        if all(called.function.scope.place != target.place for called in self.of(scope, receiver)):
            return []
        open_frame = self.outline.frame_of(scope)
        frame = self.outline.frame(scope, None, open_frame.closure, receiver) if has_receiver(scope) else open_frame
        found: list[ast.Call | None] = [
            node
            for node in body_nodes(scope.node)
            if isinstance(node, ast.Call)
            for value in self._called_values(
                node.func, self.outline.frame_in(scope.module.scope_of(node), frame), scope, receiver
            )
            if any(called.function.scope.place == target.place for called in self._run_by(value))
        ]
        return found or [None]

    def _arguments(self, callee: Value, function: Function, call: ast.Call, frame: Frame) -> Arguments | None:
        """What a call gives a function that tests its parameters, as far as all of it can be seen."""
        if isinstance(callee, Partial) or not switches.tested_parameters(function.scope):
            return None
        arguments = self.outline.arguments(call, frame)
        if isinstance(callee, Function) and has_receiver(function.scope):  # `Base.encode(self, line)`
            arguments = self.outline.argument_lists.without_first(arguments)
        return None if arguments.is_open or arguments.loose else arguments

    def _called_values(self, callee: ast.expr, frame: Frame, scope: Scope, receiver: Value | None) -> Sequence[Value]:
        """What a call runs; for `self.reader.read()`, by all that the object is made with where need be."""
        values = self.outline.values(callee, frame)
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
            return values if any(not isinstance(v, Unknown) for v in values) else self._of_task(callee, scope)
        if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Attribute):
            return values
        is_own = isinstance(receiver, Instance) and dotted(callee.value.value) == receiver_name(scope)
        if not is_own or not all(isinstance(value, Unknown) for value in values):
            return values
        known = self.evaluator.frame(scope, None, self.evaluator.frame_of(scope).closure, receiver)
        return self.evaluator.values(callee, self.evaluator.frame_in(scope.module.scope_of(callee), known))

    def _of_task(self, callee: ast.Attribute, scope: Scope) -> list[Value]:
        """`job.run` where `pool.map(execute, jobs)` hands objects of the project to `execute(job)`."""
        module = scope.module
        if scope.parent is None or not scope.parent.is_module or not any("map" in name for name in module.calls):
            return []
        return [
            method
            for tasks in frames_of_tasks(self.crossings, scope, module)
            for value in self.evaluator.values(callee.value, self.evaluator.frame_in(module.scope_of(callee), tasks[0]))
            if isinstance(value, Instance)
            for method in attributes.attribute(self.outline, Instance(value.cls, None), callee.attr)
        ]

    def _run_implicitly(
        self, expression: ast.expr, names: Sequence[str], frame: Frame, receiver: Value | None
    ) -> Iterator[Called]:
        """`for x in reader:` runs the `__iter__` of an object of the project, `with` its `__enter__`."""
        scope = frame.scope
        if not any(map(self.outline.codebase.may_define, names)):
            return
        if isinstance(expression, ast.Call):
            if not may_run_project(self.outline, expression.func, scope.module):
                return
        elif not isinstance(expression, ast.Name | ast.Attribute):
            return
        inner = self.outline.frame_in(scope.module.scope_of(expression), frame)
        for value in self._called_values(expression, inner, scope, receiver):
            for name in names if isinstance(value, Instance) else ():
                assert isinstance(value, Instance)
                method = classes.find_method(self.outline, value.cls, name)
                if method is not None:
                    yield Called(method, value)

    def _indexed(self, node: ast.Subscript, frame: Frame) -> Iterator[Called]:
        """`self.source[i]` runs the `__getitem__` of an object that the receiver keeps."""
        if not isinstance(node.value, ast.Attribute) or dotted(node.value.value) != receiver_name(frame.scope):
            return
        for value in self.outline.values(node.value, self.outline.frame_in(frame.module.scope_of(node), frame)):
            if isinstance(value, Instance):
                method = classes.find_method(self.outline, value.cls, "__getitem__")
                if method is not None:
                    yield Called(method, value)

    def _may_be_function(self, argument: ast.expr, scope: Scope) -> bool:
        """A name that a definition or an import binds, or a method of the same class."""
        if isinstance(argument, ast.Name):
            binding = self.outline.scope_binding(argument.id, scope.module.scope_of(argument))
            return binding is not None and any(b.kind in ("def", "from") for b in binding.bindings[argument.id])
        if not isinstance(argument, ast.Attribute) or not isinstance(argument.value, ast.Name):
            return False
        return argument.value.id == receiver_name(scope)

    def _handed_on(self, argument: ast.expr, frame: Frame) -> Iterator[Called]:
        for value in self.outline.values(argument, frame):
            if isinstance(value, Function | Method | Partial):
                yield from self.functions_of(value)

    def _run_by(self, value: Value) -> Iterator[Called]:
        if isinstance(value, Class):
            maker = classes.maker(self.outline, value)
            if maker is not None:
                yield Called(maker, Instance(value, None))
        else:
            yield from self.functions_of(value)

    def _properties(self, node: ast.Attribute, scope: Scope, receiver: Value | None) -> Iterator[Function]:
        """`self.x` runs a property of the same class, or of one that the object's class derives from."""
        owner = scope.enclosing_class()
        if owner is None or not isinstance(node.value, ast.Name) or node.value.id != receiver_name(scope):
            return
        method = classes.find_method(self.outline, receiver.cls, node.attr) if isinstance(receiver, Instance) else None
        if method is not None and is_property(method.node):
            yield method
            return
        for binding in owner.bindings.get(node.attr, ()):
            if binding.kind == "def" and is_property(binding.node):
                yield Function(owner.module.scopes[binding.node], self.outline.frame_of(owner))

    def functions_of(self, value: Value) -> Iterator[Called]:
        """The function of the project that calling a value runs."""
        if isinstance(value, Function | Method):
            function = value.function if isinstance(value, Method) else value
            yield Called(function, value.receiver if isinstance(value, Method) else None)
            yield from map(Called, self.wrappers(function))
        elif isinstance(value, Partial):
            yield from self.functions_of(value.callee)
        elif isinstance(value, Instance):
            method = classes.find_method(self.outline, value.cls, "__call__")
            if method is None:
                method = classes.find_method(self.outline, value.cls, "forward")
            if method is not None:
                yield Called(method, value)

    def wrappers(self, function: Function) -> Iterator[Function]:
        """What the decorators of the project run around a function: `@retry`, `@safe(default=0)`."""
        outside = function.scope.parent
        decorators = getattr(function.node, "decorator_list", ())
        for decorator in decorators if outside is not None else ():
            assert outside is not None
            for value in self.outline.values(decorator, self.outline.frame_of(outside)):
                if isinstance(value, Function):
                    frame = self.outline.frame(value.scope, None, value.closure, None)
                    for inner in self.outline.returned(frame):
                        if isinstance(inner, Function) and inner.scope.parent is value.scope:
                            yield inner


def _implied(node: ast.AST) -> Iterator[tuple[ast.expr, Sequence[str]]]:
    """The expressions of a statement, comprehension or call on which it runs methods that it does not name."""
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield node.iter, ITERATION_METHODS
    elif isinstance(node, ast.YieldFrom):
        yield node.value, ITERATION_METHODS
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield from ((item.context_expr, CONTEXT_METHODS) for item in node.items)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ITERATING:
        yield from ((argument, ITERATION_METHODS) for argument in node.args)
