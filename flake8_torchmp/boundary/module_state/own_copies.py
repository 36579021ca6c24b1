"""Whether a process makes a global its own, so that nobody misses what others do with theirs."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.circumstances.phases import Phases
from flake8_torchmp.boundary.crossing.crossings import Crossings
from flake8_torchmp.boundary.working.called_functions import CONTEXT_METHODS
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics.binder import MUTATORS
from flake8_torchmp.semantics.calls import Arguments, handed_names, is_manager
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import is_in_block
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, body_nodes, last_name, position, root_name, statement_of, up
from flake8_torchmp.semantics.scopes import Binding, Scope

from .mutations import Mutation
from .state import State

MOST_CALLERS = 40


class OwnCopies:
    def __init__(
        self, evaluator: Evaluator, crossings: Crossings, workers: Workers, phases: Phases, state: State
    ) -> None:
        self.evaluator = evaluator
        self.crossings = crossings
        self.workers = workers
        self._phases = phases
        self.state = state

    def is_set_up(self, variable: Global, worker: WorkerFunction) -> bool:
        """Whether each process sets its copy up for itself before it reads it."""
        return (
            self.state.is_set_by(variable, worker, self.workers)
            or self.state.is_entered_by(variable, self.workers)
            or self.state.is_told_by_process(variable)
            or self._is_taken_over(variable, worker)
        )

    def _is_taken_over(self, variable: Global, worker: WorkerFunction) -> bool:
        """Whether workers set all that the parent sets of an object to what they were handed: `router.lock = lock`."""
        mutations = self.state.mutations.of(variable)
        handed = [mutation for mutation in mutations if self._is_handed(mutation, worker)]
        by_parent = {m.attribute for m in mutations if m not in handed and self.phase(m) == "parent"}
        return bool(handed) and by_parent <= {mutation.attribute for mutation in handed}

    def _is_handed(self, mutation: Mutation, worker: WorkerFunction) -> bool:
        """Whether worker code puts what it was handed into an attribute, whatever there was."""
        function = mutation.module.scope_of(mutation.node).enclosing_function()
        statement = statement_of(mutation.node)
        return (
            bool(mutation.attribute)
            and function is not None
            and isinstance(statement, ast.Assign)
            and root_name(statement.value) in handed_names(function)
            and (function is worker.scope or self.may_run_in_workers(function))
        )

    def is_set(self, node: ast.AST, variable: Global, worker: WorkerFunction) -> bool:
        """Whether what changes a copy sets it for its process: by a setter that the parent calls as well, or whole."""
        attribute = self.state.gathered_in_class(node, variable)
        if self.state.is_set_by(variable, worker, self.workers, attribute) or _is_bound_before(node, variable, worker):
            return True
        own = next((mutation for mutation in self.state.mutations.of(variable) if mutation.node is node), None)
        if own is not None and self._is_handed(own, worker) and self._is_taken_over(variable, worker):
            return True
        if self.state.is_entered_around(node, variable) or self.state.is_told_by_process(variable):
            return True
        if _is_taken_back(variable, worker.scope) or _is_put_back(node, worker.scope):
            return True
        binding = next((item for item in variable.bindings if item.node is node), None)
        if binding is None:
            return self._sets(node, worker.scope.module) and self._is_run_by_parent(worker.scope)
        if binding.kind != "assign" or binding.value is None:
            return False
        if any(isinstance(part, ast.Name) and part.id == variable.name for part in ast.walk(binding.value)):
            return False
        if any(other is not binding and self._is_bound_by_parent(other, variable) for other in variable.bindings):
            return True
        return self._is_run_by_parent(worker.scope)

    def begins_anew(self, variable: Global, attribute: str) -> bool:
        """Whether worker code binds anew what a class keeps, before it adds to that: `Config.stack = [index]`."""
        return bool(attribute) and any(
            mutation.attribute == attribute
            and self._sets(mutation.node, mutation.module)
            and (function := mutation.module.scope_of(mutation.node).enclosing_function()) is not None
            and self.may_run_in_workers(function)
            for mutation in self.state.mutations.of(variable)
        )

    def may_run_in_workers(self, function: Scope) -> bool:
        """Whether workers run a function, or worker code calls a method of a name that no other has."""
        if self.workers.runs(function):
            return True
        is_method = function.parent is not None and function.parent.is_class
        if not is_method or len(self.evaluator.codebase.definers(function.name)) > 1:
            return False
        around = (module.scope_of(node).enclosing_function() for node, module in self._phases.references(function))
        return any(scope is not None and self.workers.runs(scope) for scope in around)

    def phase(self, mutation: Mutation) -> str:
        """When a change comes; a function that then starts workers itself runs in the parent, whoever calls it.

        So it does where a script calls it when it is imported: a child that did so would start workers, too.
        """
        phase = self.state.phase(mutation.node, mutation.module)
        function = mutation.module.scope_of(mutation.node).enclosing_function()
        if phase not in ("unknown", "import") or function is None:
            return phase
        starts = [
            crossing.call
            for crossing in self.crossings.of(mutation.module)
            if crossing.module is mutation.module
            and crossing.module.scope_of(crossing.call).enclosing_function() is function
            and (phase == "unknown" or crossing.api.kind != "loader")  # made by an import, it starts nothing yet
        ]
        return "parent" if any(position(call) > position(mutation.node) for call in starts) else phase

    def _sets(self, node: ast.AST, module: Module) -> bool:
        """Whether a change sets what is there, rather than adding to it: `OPTIONS.size = 1`, `OPTIONS.load(path)`."""
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            mutations = self.state.mutations
            return name == "clear" or not (
                name in MUTATORS or mutations.collects(node, module) or mutations.stores(node, module)
            )
        is_whole = isinstance(node, ast.Attribute) or (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and ast.unparse(node.slice) == ":"
        )
        return is_whole and not isinstance(up(node), ast.AugAssign)

    def _is_run_by_parent(self, scope: Scope) -> bool:
        """Whether the parent comes to a function of workers for itself too, otherwise than by handing it over."""
        seen = {scope.place}
        pending = [scope]
        while pending and len(seen) < MOST_CALLERS:
            for caller, _ in self.evaluator.callers.of(pending.pop()):
                around = caller.frame.scope.enclosing_function()
                if self._is_handed_over(caller):
                    continue
                if around is None or not self.workers.runs(around):
                    if self.state.phase(caller.call, caller.frame.module) == "parent":
                        return True
                elif around.place not in seen:
                    seen.add(around.place)
                    pending.append(around)
        return False

    def _is_bound_by_parent(self, binding: Binding, variable: Global) -> bool:
        """Whether a function of the parent binds it: what the parent reads is its own."""
        function = variable.module.scope_of(binding.node).enclosing_function()
        return function is not None and not self.workers.runs(function) and self.state.phase_of(function) == "parent"

    def _is_handed_over(self, caller: Arguments) -> bool:
        """Whether a function is not called there, but given to what has workers call it."""
        places = [caller.call] if isinstance(caller.call, ast.Call) else ancestors(caller.call)
        calls = [crossing.call for crossing in self.crossings.of(caller.frame.module)]
        return any(place is call for place in places for call in calls)


def _is_taken_back(variable: Global, function: Scope) -> bool:
    """Whether a context manager binds a variable for what it is around, and again behind that."""
    bound = [binding.node for binding in variable.bindings]
    if is_manager(function.node):
        own = [item for item in bound if function.module.scope_of(item).enclosing_function() is function]
        yields = [item for item in body_nodes(function.node) if isinstance(item, ast.Yield)]
        return any(
            position(first) < position(around) < position(last) for around in yields for first in own for last in own
        )
    owner = function.enclosing_class()
    if owner is None or function.name not in CONTEXT_METHODS:
        return False
    around = {f.name for item in bound if (f := owner.module.scope_of(item).enclosing_function()) and f.parent is owner}
    return around.issuperset(CONTEXT_METHODS)


def _is_put_back(changed: ast.AST, function: Scope) -> bool:
    """`before = OPTIONS.size; OPTIONS.size = 1`, and in the end `finally: OPTIONS.size = before`."""
    text = ast.unparse(changed)
    assigned = [node for node in body_nodes(function.node) if isinstance(node, ast.Assign) and len(node.targets) == 1]
    kept = {
        node.targets[0].id
        for node in assigned
        if isinstance(node.targets[0], ast.Name) and ast.unparse(node.value) == text
    }
    return any(
        isinstance(node.value, ast.Name)
        and node.value.id in kept
        and ast.unparse(node.targets[0]) == text
        and any(isinstance(outer, ast.Try) and is_in_block(node, outer.finalbody) for outer in ancestors(node))
        for node in assigned
    )


def _is_bound_before(node: ast.AST, variable: Global, worker: WorkerFunction) -> bool:
    """`global options; options = mine; options.rank = rank`: what is changed is the worker's already."""
    body = getattr(worker.scope.node, "body", None)
    return isinstance(body, list) and any(
        binding.kind == "assign"
        and statement_of(binding.node) in body
        and position(binding.node) < position(statement_of(node))
        for binding in variable.bindings
    )
