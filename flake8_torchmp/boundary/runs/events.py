"""What a run of a program is looked through for: all that fixes a context, or starts or ends processes and threads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.starting import managers
from flake8_torchmp.boundary.starting.starts import Starts
from flake8_torchmp.boundary.starting.threads import (
    BEGINNING,
    THREAD_EXECUTORS,
    THREAD_FUNCTIONS,
    THREAD_POOLS,
    ThreadStarts,
)
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import attributes
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, last_name
from flake8_torchmp.semantics.program_order import Watch
from flake8_torchmp.semantics.reach import Reach
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.spreading import Spreading
from flake8_torchmp.semantics.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Partial,
    Result,
    Text,
    Unknown,
    Value,
)

EVENTS = re.compile(
    rb"start_method|get_context|multiprocessing|\bProcess|\bPool\b|Executor|\bThread|\bTimer\b|[Ll]oader|\.spawn\b"
)
MAKING = re.compile(rb"factory\s*=|Manager\b")
FIXING = apis.PRIMITIVES | {"Pool", "Manager", "get_context"}
"""What fixes the default context when the default context makes it."""
COUNTED = FIXING | frozenset(("set_start_method", "get_start_method", "spawn", "start_processes"))
COUNTED_OF_LIBRARIES = THREAD_POOLS | THREAD_FUNCTIONS | managers.CLASSES | apis.EXECUTORS
NAMES = (
    COUNTED
    | frozenset("start stop submit map join shutdown terminate close run_in_executor".split())
    | frozenset(name.rpartition(".")[2] for name in COUNTED_OF_LIBRARIES)
)
"""The last names of all that counts when it is called."""


class AllEvents(Watch):
    """Looks out for all that is a mark or a moment."""

    def __init__(self, evaluator: Evaluator, outline: Evaluator, starts: Starts, workers: Workers) -> None:
        super().__init__(evaluator.codebase)
        self._reach = Reach(evaluator.codebase, EVENTS)
        self.outline = outline
        self.starts = starts
        self.workers = workers
        self._counting = Spreading(self._looked_at, ("", "counts"))

    def may_matter_at_import(self, path: str) -> bool:
        return self._reach.comes_by_import(path)

    def is_run_by(self, path: str) -> bool:
        return self._reach.is_run_by(path)

    def may_count(self, node: ast.AST, module: Module) -> bool:
        if isinstance(node, ast.Attribute):
            return self.starts.possible.may_be_property(node) and self.starts.possible.may_run_property(node, module)
        if self.starts.possible.may_matter(node, module):
            return True
        frame = self.outline.frame_at(node, module)
        if isinstance(node, ast.With | ast.AsyncWith):
            return any(_may_end(v) for item in node.items for v in self.outline.values(item.context_expr, frame))
        if not isinstance(node, ast.Call):
            return False
        is_named = last_name(node.func) in module.all_names_of(NAMES)
        for callee in self.outline.values(node.func, frame):
            if isinstance(callee, Unknown):
                attribute = node.func if isinstance(node.func, ast.Attribute) else None
                if attribute is None or is_named or self.codebase.may_define(attribute.attr):
                    return True
            if is_named and _may_be_event(callee):
                return True
            function = self.starts.possible.function_of(callee)
            if function is not None and self.may_matter(function):
                return True
            if isinstance(callee, Class) and self._makes_something(callee):
                return True
        return False

    def _makes_something(self, cls: Class) -> bool:
        """Whether making an object counts: of a manager, or of a record whose fields' defaults are made by calls."""
        return managers.is_class(self.outline, cls) or attributes.has_factories(self.outline, cls)

    def may_matter(self, function: Function) -> bool:
        return bool(self._counting.of(function.scope))

    def _looked_at(self, scope: Scope) -> tuple[str, Iterable[Scope]]:
        if self.starts.possible.can_start(scope, self.starts.possible.has_loaders(scope.module)) or any(
            isinstance(node, ast.Call) and self._may_be_event(node, scope.module) for node in body_nodes(scope.node)
        ):
            return "counts", ()
        if self._makes_records(scope):
            return "counts", ()
        return "", [callee.scope for callee, *_ in self.workers.called.of(scope, None)]

    def _may_be_event(self, call: ast.Call, module: Module) -> bool:
        """Whether a call itself may count, going by names and then by definitions."""
        if last_name(call.func) not in module.all_names_of(NAMES):
            return False
        callees = self.outline.values(call.func, self.outline.frame_at(call, module))
        return any(isinstance(callee, Unknown) or _may_be_event(callee) for callee in callees)

    def _makes_records(self, scope: Scope) -> bool:
        """Whether a function makes managers, or objects whose fields' defaults are made by calls."""
        module = scope.module
        if not self.codebase.leads_to(module.path, MAKING):
            return False
        return any(
            isinstance(value, Class) and self._makes_something(value)
            for node in body_nodes(scope.node)
            if isinstance(node, ast.Call) and may_run_project(self.outline, node.func, module)
            for value in self.outline.values(node.func, self.outline.frame_at(node, module))
        )


class OnlyThreads(Watch):
    """Looks out for threads alone: until there is one, and where no start method is set, nothing else matters."""

    def __init__(self, threads: ThreadStarts) -> None:
        super().__init__(threads.codebase)
        self._reach = Reach(threads.codebase, BEGINNING)
        self._threads = threads

    def may_count(self, node: ast.AST, module: Module) -> bool:
        return self._threads.may_matter(node, module)

    def may_matter(self, function: Function) -> bool:
        return self._threads.may_begin_in(function.scope)

    def may_matter_at_import(self, path: str) -> bool:
        return self._reach.comes_by_import(path)

    def is_run_by(self, path: str) -> bool:
        return self._reach.is_run_by(path)


def _may_be_event(callee: Value) -> bool:
    """Whether calling a value may count: `os.path.join` and `", ".join` do not."""
    if isinstance(callee, External):
        return mp_name(callee) in COUNTED or callee.name in COUNTED_OF_LIBRARIES
    if isinstance(callee, Partial):
        return _may_be_event(callee.callee)
    return isinstance(callee, Member) and callee.name in NAMES and not isinstance(callee.owner, Constant | Text)


def _may_end(value: Value) -> bool:
    """Whether leaving a `with` over a value may end threads."""
    return isinstance(value, Unknown | Instance) or (
        isinstance(value, Result) and (value.name in THREAD_EXECUTORS or value.name in THREAD_POOLS)
    )
