"""Threads: what starts them, and which functions may, from definitions alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics import attributes, classes
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.spreading import Spreading
from flake8_torchmp.semantics.values import Class, Constant, External, Instance, Member, Partial, Text, Unknown, Value

from .starts import Starts

THREADS = frozenset(("threading.Thread", "threading.Timer", "threading._Timer", "logging.handlers.QueueListener"))
THREAD_POOLS = apis.THREAD_POOLS
THREAD_FUNCTIONS = frozenset(("_thread.start_new_thread", "_thread.start_new"))
"""Functions that start a thread at once, which nobody can join."""
THREAD_NAMES = (
    "Thread",
    "Timer",
    "QueueListener",
    "ThreadPoolExecutor",
    "ThreadPool",
    "Pool",
    "start_new_thread",
    "start_new",
)
THREAD_EXECUTORS = apis.THREAD_EXECUTORS
WORDS = re.compile(rb"[tT]hread|\bTimer\b|QueueListener|Executor|\bdummy\b")
BEGINNING = re.compile(rb"Thread|_thread\b|\bTimer\b|QueueListener|Executor|multiprocessing[. ]dummy")
"""The names of what makes threads, which a lock of `threading` does not."""

_BEGINNING = frozenset(apis.EXECUTOR_TASKS) | {"start", "run_in_executor"}
"""Methods that start a thread, or processes of an executor, which are there from then on."""
_NAMES = _BEGINNING | {name.rpartition(".")[2] for name in THREAD_POOLS | THREAD_FUNCTIONS}
_WITHS = (ast.With, ast.AsyncWith)
MOST_DEFINERS = 6
"""What more files define says nothing of what an unknown object runs by that name."""


class ThreadStarts:
    """Which nodes may start a thread, or come to one by what they call."""

    def __init__(self, outline: Evaluator, starts: Starts) -> None:
        self.codebase = outline.codebase
        self._outline = outline
        self._starts = starts
        self._may_begin = Spreading(self._looked_at, ("", "begins"))

    def may_matter(self, node: ast.AST, module: Module) -> bool:
        if not isinstance(node, ast.Call | ast.With | ast.AsyncWith):
            return False
        begins, called = self._of_node(node, module)
        return begins or any(self.may_begin_in(scope) for scope in called)

    def may_begin_in(self, scope: Scope) -> bool:
        return bool(self._may_begin.of(scope))

    def _looked_at(self, scope: Scope) -> tuple[str, Iterable[Scope]]:
        called: list[Scope] = []
        assert isinstance(scope.node, FUNCTIONS)
        for node in body_nodes(scope.node, nested=False):
            if isinstance(node, (ast.Call, *_WITHS)):
                begins, more = self._of_node(node, scope.module)
                if begins:
                    return "begins", ()
                called += more
        return "", called

    def _of_node(self, node: ast.Call | ast.With | ast.AsyncWith, module: Module) -> tuple[bool, list[Scope]]:
        if isinstance(node, ast.Call):
            return self._of_call(node, module)
        frame = self._outline.frame_at(node, module)
        entered = [value for item in node.items for value in self._outline.values(item.context_expr, frame)]
        methods = [classes.find_method(self._outline, v.cls, "__enter__") for v in entered if isinstance(v, Instance)]
        return False, [method.scope for method in methods if method is not None]

    def _of_call(self, call: ast.Call, module: Module) -> tuple[bool, list[Scope]]:
        """Whether a call may start a thread itself, and the functions of the project that it may call."""
        is_named = last_name(call.func) in module.all_names_of(_NAMES)
        if not is_named and not may_run_project(self._outline, call.func, module):
            return False, []
        called: list[Scope] = []
        for callee in self._outline.values(call.func, self._outline.frame_at(call, module)):
            if is_named and _may_begin(callee):
                return True, []
            function = self._starts.possible.function_of(callee)
            if function is not None:
                called.append(function.scope)
            elif isinstance(callee, Unknown):
                called += self._functions_named(last_name(call.func))
            elif isinstance(callee, Class) and attributes.has_factories(self._outline, callee):
                return True, []
        return False, called

    def _functions_named(self, name: str) -> Iterator[Scope]:
        """The functions that something unknown may be, going by its name: of files that speak of threads."""
        definition = re.compile(rb"\bdef\s+%s\b" % name.encode())
        paths = self.codebase.definers(name)
        for path in paths if len(paths) <= MOST_DEFINERS else ():
            is_meant = self.codebase.matches(path, WORDS) and self.codebase.matches(path, definition)
            module = self.codebase.module(path) if is_meant else None
            for node in module.functions if module is not None else ():
                if getattr(node, "name", "") == name:
                    assert module is not None
                    yield module.scopes[node]


def _may_begin(callee: Value) -> bool:
    if isinstance(callee, Partial):
        return _may_begin(callee.callee)
    if isinstance(callee, Member):
        return callee.name in _BEGINNING and not isinstance(callee.owner, Constant | Text)
    return isinstance(callee, Unknown) or (
        isinstance(callee, External) and callee.name in THREAD_POOLS | THREAD_FUNCTIONS
    )
