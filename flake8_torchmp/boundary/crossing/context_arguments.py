"""Where a program says in which context processes are made: the keyword that each call takes, and what it accepts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.circumstances.methods import is_context, mp_name
from flake8_torchmp.boundary.tables.apis import PRIMITIVES
from flake8_torchmp.semantics.calls import Arguments, Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Constant, External, Result, Source, Value

from .crossings import Call, Crossings

TAKES = {"loader": "multiprocessing_context", "executor": "mp_context", "spawn": "start_method"}
"""The keyword by which a call is told its context; Process, Pool and the primitives are not told."""
POSITIONS = {"loader": 11, "executor": 1}
KEYWORDS = ("mp_context", "multiprocessing_context", "context", "ctx", "start_method")
POOL_CLASSES = frozenset(("multiprocessing.pool.Pool", "torch.multiprocessing.pool.Pool"))
"""The class behind the function takes `context=`, an object."""
WITHOUT_CONTEXT = PRIMITIVES | {"Manager", "Pipe", "RawValue", "RawArray"}
MODULES = frozenset(("multiprocessing", "torch.multiprocessing"))


class BadContext(NamedTuple):
    problem: str
    """keyword: the call takes no such argument; text: a name where an object is needed; module; object"""
    keyword: str
    call: ast.Call
    frame: Frame
    name: str
    """What is called, in words."""
    source: Source
    taken: str = ""
    """The keyword that the call does take."""


class ContextArguments:
    def __init__(self, evaluator: Evaluator, crossings: Crossings) -> None:
        self.evaluator = evaluator
        self.crossings = crossings

    def bad(self, module: Module) -> Iterator[BadContext]:
        """The arguments that a call refuses, as context, whatever they name."""
        for call in self.crossings.calls(module):
            if call.api.kind != "task" and isinstance(call.arguments.call, ast.Call):
                yield from self._of_api(call)
        for node in _calls_with_keyword(module):
            frame = self.evaluator.frame_at(node, module)
            for callee in self.evaluator.values(node.func, frame):
                if mp_name(callee) in WITHOUT_CONTEXT and not _is_class(callee):
                    arguments = self.evaluator.arguments(node, frame)
                    yield from self._unknown(node, frame, mp_name(callee), arguments, "")
        for name in ("set_start_method", "get_context"):
            for node in module.calls_of(name):
                frame = self.evaluator.frame_at(node, module)
                source = self.evaluator.arguments(node, frame).get(0, "method")
                if source is None or not any(mp_name(v) == name for v in self.evaluator.values(node.func, frame)):
                    continue
                values = self.evaluator.of(source)
                if any(is_context(value) for value in values) and not _is_told_apart(source, values):
                    yield BadContext("object", "method", node, frame, name, source)

    def _of_api(self, call: Call) -> Iterator[BadContext]:
        kind, arguments = call.api.kind, call.arguments
        taken = TAKES.get(kind, "")
        if kind == "pool" and _is_pool_class(self.evaluator.values(call.node.func, call.frame)):
            taken = "context"
        yield from self._unknown(call.node, call.frame, call.api.name, arguments, taken)
        source = arguments.get(POSITIONS.get(kind), taken) if taken else None
        values = self.evaluator.of(source) if source is not None else ()
        if source is not None and any(is_context(value) for value in values) and _is_told_apart(source, values):
            return
        for value in values:
            if kind in ("executor", "pool") and _is_name(value):
                problem = "text"
            elif kind == "loader" and isinstance(value, External) and value.name in MODULES:
                problem = "module"
            else:
                continue
            assert source is not None
            yield BadContext(problem, taken, call.node, call.frame, call.api.name, source)
            return

    @staticmethod
    def _unknown(node: ast.Call, frame: Frame, name: str, arguments: Arguments, taken: str) -> Iterator[BadContext]:
        for keyword in KEYWORDS:
            source = arguments.keywords.get(keyword)
            if source is not None and keyword != taken:
                yield BadContext("keyword", keyword, node, frame, name, source, taken)


def _is_name(value: Value) -> bool:
    """Whether a value is text, the name of the method in force among it."""
    if isinstance(value, Result):
        return mp_name(value.callee) == "get_start_method" and value.arguments.get(0, "allow_none") is None
    return isinstance(value, Constant) and isinstance(value.value, str)


def _calls_with_keyword(module: Module) -> Iterator[ast.Call]:
    for name in WITHOUT_CONTEXT:
        for call in module.calls_of(name):
            if any(keyword.arg in KEYWORDS for keyword in call.keywords):
                yield call


def _is_told_apart(source: Source, values: tuple[Value, ...]) -> bool:
    """Whether a function that it passes asks whether it is text, to make a context of that."""
    places = [(source.node, source.frame.module), *((hop.node, hop.module) for value in values for hop in value.way)]
    scopes = [module.scope_of(node) for node, module in places]
    return any(module.scope_of(test) in scopes for _, module in places for test in module.calls.get("isinstance", ()))


def _is_pool_class(callees: tuple[Value, ...]) -> bool:
    return any(isinstance(callee, External) and callee.name in POOL_CLASSES for callee in callees)


def _is_class(callee: Value) -> bool:
    """`multiprocessing.queues.Queue`: these take a context."""
    return isinstance(callee, External) and callee.name.rpartition(".")[0] not in MODULES
