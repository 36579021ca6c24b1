"""Module-level state: what a global holds, who changes it, and in which process."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from flake8_torchmp.boundary.circumstances.global_names import Global, GlobalNames
from flake8_torchmp.boundary.circumstances.guards import is_guarded, runs_nowhere
from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.circumstances.phases import Phases
from flake8_torchmp.boundary.tables.apis import PRIMITIVES
from flake8_torchmp.boundary.tables.code_values import is_logger, makes_code
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics import classes, effects, records
from flake8_torchmp.semantics.binder import MUTATORS
from flake8_torchmp.semantics.calls import handed_names, is_class_method, is_property, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import (
    FUNCTIONS,
    ancestors,
    body_nodes,
    last_name,
    mentions,
    root_name,
    statement_of,
    up,
)
from flake8_torchmp.semantics.scopes import Binding, Change, Scope
from flake8_torchmp.semantics.values import (
    Instance,
    Method,
    Result,
    Value,
)

from .lazy_making import LazyMaking
from .mutations import Mutation, Mutations
from .tallies import COLLECTING, counts_on, is_tally, is_told

POURING = frozenset("merge_from_file merge_from_list merge_from_other_cfg merge_with load_state_dict".split())
"""Methods by which a whole configuration or state is set anew."""


class State:
    def __init__(self, evaluator: Evaluator, phases: Phases) -> None:
        self.evaluator = evaluator
        self.names = GlobalNames(evaluator)
        self.mutations = Mutations(evaluator, self.names)
        self.lazy_making = LazyMaking(self.names)
        self._guarded: dict[tuple[str, str], bool] = {}
        self.phases = phases
        self.forget()

    def forget(self) -> None:
        self.mutations.forget()
        self._settable: dict[tuple[object, ...], bool] = {}
        self._by_process: dict[Global, bool] = {}
        self.names.forget()

    def is_made_at_import(self, variable: Global) -> bool:
        """Whether importing the module binds it at all."""
        return any(
            variable.module.scope_of(b.node).enclosing_function() is None
            and not is_guarded(self.evaluator, b.node, variable.module)
            for b in variable.bindings
        )

    def is_bound_by_guard_alone(self, variable: Global) -> bool:
        """Whether a name exists only where the main guard, or code that it runs, has bound it."""
        key = (variable.module.path, variable.name)
        if key not in self._guarded:
            self._guarded[key] = not self.names.may_be_starred(variable) and all(
                self.is_bound_by_guard(binding, variable.module)
                for binding in variable.bindings
                if binding.kind != "augmented"  # changes what is bound already
            )
        return self._guarded[key]

    def is_bound_by_guard(self, binding: Binding, module: Module) -> bool:
        function = module.scope_of(binding.node).enclosing_function()
        if function is not None:
            return self.phase_of(function) == "parent"
        return is_guarded(self.evaluator, binding.node, module) and not runs_nowhere(binding.node)

    def is_variable(self, variable: Global) -> bool:
        """Whether it holds data: no function, class, module or import, nothing that is code rather than state."""
        return all(
            b.kind in ("assign", "unpack", "augmented", "for", "with", "walrus") and not makes_code(b.value)
            for b in variable.bindings
        ) and not is_logger(self.evaluator, self.names.values(variable))

    def is_kept_by_definition(self, read: ast.AST, variable: Global) -> bool:
        """Whether a read is of data that a class, or a function, itself keeps: `Config.size`."""
        holder = up(read)
        bindings = variable.bindings
        if not isinstance(holder, ast.Attribute) or len(bindings) != 1 or bindings[0].kind not in ("class", "def"):
            return False
        if bindings[0].kind == "def":  # `jitter.strength = 0` beside the function
            module = variable.module
            return self._may_be_set(variable, holder.attr) and any(
                change.kind == "attribute" and change.name == holder.attr and module.scope_of(change.target).is_module
                for change in module.changes.get(variable.name, ())
            )
        own = variable.module.scopes[bindings[0].node].bindings.get(holder.attr, ())
        is_data = bool(own) and all(b.kind == "assign" and b.value is not None and not makes_code(b.value) for b in own)
        return is_data and self._may_be_set(variable, holder.attr)

    def _may_be_set(self, variable: Global, attribute: str) -> bool:
        """Whether the bytes of the project show that somebody sets an attribute of that name; most are constants."""
        key = (*variable, attribute)
        if key not in self._settable:
            codebase = self.evaluator.codebase
            pattern = re.compile(rb"\.%b\s*(?:[-+*/|&%%]?=(?!=)|[\[.,])|\bsetattr\b" % attribute.encode())
            paths = codebase.mentioning(variable.name, variable.module.path)
            self._settable[key] = any(pattern.search(codebase.data(path)) for path in paths)
        return self._settable[key]

    def is_constant_by_type(self, variable: Global) -> bool:
        """Marked by its author as never changing."""
        for binding in variable.bindings:
            statement = up(binding.node)
            if isinstance(statement, ast.AnnAssign) and "Final" in ast.unparse(statement.annotation):
                return True
        return False

    def is_set_in_workers(self, variable: Global, workers: Workers, module: Module) -> bool:
        """Whether worker code binds a variable for itself: what a module brings to workers, or anything else."""
        here = {worker.scope for worker in workers.of(module)}
        binding = (
            m.module.scope_of(m.node).enclosing_function() for m in self.mutations.of(variable) if m.kind == "rebound"
        )
        return any(function in here or workers.runs(function) for function in binding if function is not None)

    def is_set_by(self, variable: Global, worker: WorkerFunction, workers: Workers, attribute: str = "") -> bool:
        """Whether worker code of a kind pours into its copy what it is to hold, or gets it with an object."""
        for mutation in self.mutations.of(variable):
            if attribute and mutation.attribute not in ("", attribute):
                continue
            function = mutation.module.scope_of(mutation.node).enclosing_function()
            if function is None or (function.name != "__setstate__" and not isinstance(mutation.node, ast.Call)):
                continue
            if function.name == "__setstate__":
                return True
            assert isinstance(mutation.node, ast.Call)
            if (
                not is_tally(mutation.node, variable)
                and self._pours(mutation.node, function)
                and workers.runs(function, worker.kind)
            ):
                return True
        return False

    def _pours(self, node: ast.AST, function: Scope, depth: int = 3) -> bool:
        """`config.merge_from_file(path)`, `options.update(given)` of what the function was handed, or such a method."""
        assert isinstance(node, ast.Call)
        assert isinstance(function.node, FUNCTIONS)
        names = handed_names(function)
        own = receiver_name(function)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        roots = {root_name(value) for value in given}
        is_handed_on = len(given) == 1 and (
            not roots.isdisjoint(names) or (bool(own) and own in roots and root_name(node.func) != own)
        )
        name = last_name(node.func)
        if name in POURING or (name == "update" and is_handed_on):
            return True
        if not is_handed_on or not depth:
            return False
        callees = self.evaluator.values(node.func, self.evaluator.frame_at(node, function.module))
        return any(
            isinstance(inner, ast.Call)
            and isinstance(up(inner), ast.Expr)
            and root_name(inner.func) == receiver_name(callee.function.scope)
            and self._pours(inner, callee.function.scope, depth - 1)
            for callee in callees
            if isinstance(callee, Method)
            for inner in body_nodes(callee.function.node)
        )

    def is_told_by_environment(self, mutation: Mutation, variable: Global) -> bool:
        """Whether what changes a variable writes it to the environment, where each import finds it."""
        module = mutation.module
        function = module.scope_of(mutation.node).enclosing_function()
        made = [b.value for b in variable.bindings if isinstance(b.value, ast.expr)]
        is_read = any(_names_environment(part) for value in made for part in ast.walk(value))
        return (
            function is not None
            and is_read
            and any(
                _names_environment(part) and isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Store)
                for part in body_nodes(function.node)
                if (outer := up(part)) is not None
            )
        )

    def is_told_by_process(self, variable: Global) -> bool:
        """Whether its module compares what it holds, or what it was made for, with the number of the process."""
        module = variable.module
        if variable not in self._by_process:
            compared = [outer for call in module.calls.get("getpid", ()) for outer in _compared(call, module)]
            self._by_process[variable] = any(
                (isinstance(part, ast.Name) and self.names.of_name(part, module) == variable)
                or any(mutation.node in ast.walk(test) for mutation in self.mutations.of(variable))
                for test in compared
                for part in ast.walk(test.test if isinstance(test, ast.If | ast.While) else test)
            )
        return self._by_process[variable]

    def is_entered_around(self, node: ast.AST, variable: Global) -> bool:
        """Whether a place stands in a block that begins by changing the variable: `with task.start():`."""
        changing = {id(mutation.node) for mutation in self.mutations.of(variable)}
        return any(
            isinstance(outer, ast.With | ast.AsyncWith)
            and any(id(item.context_expr) in changing for item in outer.items)
            for outer in ancestors(node)
        )

    def is_entered_by(self, variable: Global, workers: Workers) -> bool:
        """Whether worker code itself has such a block: each process begins anew."""
        return any(
            isinstance(up(mutation.node), ast.withitem)
            and (function := mutation.module.scope_of(mutation.node).enclosing_function()) is not None
            and workers.runs(function)
            for mutation in self.mutations.of(variable)
        )

    def seen_by(self, read: ast.expr, module: Module, variable: Global) -> list[Mutation]:
        """The mutations of a variable that one read of it can show: `X.a` shows nothing of `X.b = 1`."""
        mutations = self.mutations.of(variable)
        if isinstance(read, ast.Name) and self.names.by_default(read, variable.module) == variable:
            return [mutation for mutation in mutations if mutation.kind == "changed"]  # it was bound before
        holder = up(read)
        if isinstance(holder, ast.Attribute) and self.is_kept_by_definition(read, variable):
            return [mutation for mutation in mutations if self._is_of_class(mutation, holder.attr)]
        if not isinstance(holder, ast.Attribute) or not any(mutation.attribute for mutation in mutations):
            return mutations
        values = self.names.values(variable)
        shown = {holder.attr} if self._are_plain(values, holder.attr) else self._read_by_properties(values, holder.attr)
        if not shown:
            return mutations
        seen = [mutation for mutation in mutations if mutation.attribute.partition(".")[0] in ("", *shown)]
        inner = up(holder)
        if holder.attr not in shown:
            return seen
        if not isinstance(inner, ast.Attribute) or not any("." in mutation.attribute for mutation in seen):
            return seen
        frame = self.evaluator.frame_at(holder, module)
        if not self._are_plain(self.evaluator.values(holder, frame), inner.attr):
            return seen
        return [m for m in seen if m.attribute in ("", holder.attr, f"{holder.attr}.{inner.attr}")]

    def _are_plain(self, values: tuple[Value, ...], attribute: str) -> bool:
        return bool(values) and all(self._is_plain(value, attribute) for value in values)

    def _read_by_properties(self, values: tuple[Value, ...], attribute: str) -> set[str]:
        """The attributes of its object that a property reads, if that is all that it reads of it."""
        found: set[str] = set()
        for value in values:
            method = classes.find_method(self.evaluator, value.cls, attribute) if isinstance(value, Instance) else None
            if method is None or not is_property(method.node):
                return set()
            for load in method.scope.module.loads(receiver_name(method.scope)):
                if method.scope.module.scope_of(load) is method.scope:
                    holder = up(load)
                    if not isinstance(holder, ast.Attribute):
                        return set()
                    found.add(holder.attr)
        return found

    @staticmethod
    def _is_of_class(mutation: Mutation, attribute: str) -> bool:
        """Whether a class is changed by `Config.size = 1` or `setattr(Config, …)`, rather than handed to somebody."""
        node = mutation.node
        return mutation.attribute == attribute or (isinstance(node, ast.Call) and last_name(node.func) == "setattr")

    def _is_plain(self, value: Value, attribute: str) -> bool:
        """Whether an object's attribute is no method or property, which may read all the others."""
        if isinstance(value, Instance):
            return classes.find_method(self.evaluator, value.cls, attribute) is None
        return isinstance(value, Result) and records.is_namespace(value)

    def changed_by(self, scope: Scope) -> Iterator[tuple[ast.AST, Global]]:
        """The globals that a function changes or binds again, per-process caches and lazy making aside."""
        module = scope.module
        for changes in list(module.changes.values()):
            for change in changes:
                if module.scope_of(change.target).enclosing_function() is not scope:
                    continue
                variable = self._changed_variable(change, module)
                if variable is not None and not self.lazy_making.is_lazy(change.node, variable, module):
                    yield change.node, variable
        yield from self._changed_through(scope)
        for name in sorted(scope.global_names):
            variable = Global(module, name)
            for binding in variable.bindings:
                inside = module.scope_of(binding.node).enclosing_function() is scope
                if inside and not self.lazy_making.is_lazy(binding.node, variable, module):
                    yield binding.node, variable

    def _changed_through(self, scope: Scope) -> Iterator[tuple[ast.AST, Global]]:
        """`globals()["x"] = …`, and what is handed to a function that changes it."""
        module = scope.module
        for call in module.calls.get("globals", ()):
            holder = up(call)
            if module.scope_of(call).enclosing_function() is scope and isinstance(holder, ast.Subscript):
                key = holder.slice
                if isinstance(holder.ctx, ast.Store) and isinstance(key, ast.Constant):
                    yield holder, Global(module, str(key.value))
        yield from ((mutation.node, given) for mutation, given in self.mutations.through_accessors(scope))
        assert isinstance(scope.node, FUNCTIONS)
        for node in body_nodes(scope.node):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            holder = up(node)
            if isinstance(holder, ast.Call):
                variable = self.names.of_name(node, module)
                if variable is not None:
                    for mutation in self.mutations.through(node, module):
                        yield mutation.node, variable
            elif isinstance(holder, ast.Attribute):
                asked = up(holder)
                variable = (
                    self.names.of_name(node, module) if asked is not None and effects.is_statement(asked) else None
                )
                if asked is None or variable is None:
                    continue
                is_stored = not self.lazy_making.is_lazy(asked, variable, module) and self._is_named_once(node, scope)
                if self.mutations.collects(asked, module) or (is_stored and self.mutations.stores(asked, module)):
                    yield asked, variable

    @staticmethod
    def _is_named_once(name: ast.Name, scope: Scope) -> bool:
        """Whether a function does nothing else with a variable: a cache it would ask first."""
        loads = [load for load in scope.module.loads(name.id) if isinstance(load, ast.Name)]
        return [load for load in loads if scope.module.scope_of(load).enclosing_function() is scope] == [name]

    def _changed_variable(self, change: Change, module: Module) -> Global | None:
        target: Any = change.target
        while isinstance(target, ast.Attribute | ast.Subscript):
            if isinstance(target, ast.Attribute):
                variable = self.names.of_attribute(target, module)
                if variable is not None:
                    return variable
            target = target.value
        if not isinstance(target, ast.Name) or (change.kind == "augmented" and target is change.target):
            return None  # a binding
        return self.names.of_name(target, module) or self._named_by(target, module)

    def _named_by(self, name: ast.Name, module: Module) -> Global | None:
        """The variable that a local name is another name for, or the class of a class method."""
        scope = self.evaluator.scope_binding(name.id, module.scope_of(name))
        owner = scope.parent if scope is not None and scope.is_function else None
        if scope is not None and owner is not None and owner.is_class and is_class_method(scope.node):
            is_class = receiver_name(scope) == name.id and owner.parent is module.scope
            return Global(module, owner.name) if is_class else None
        values = [b.value for b in scope.bindings[name.id] if b.kind == "assign"] if scope is not None else []
        if len(values) == 1 and isinstance(values[0], ast.Name):
            return self.names.of_name(values[0], module)
        return None if values else self.names.by_default(name, module)

    def keeps_its_own(self, scope: Scope, variable: Global) -> bool:
        """Whether a function makes what it does not find in a variable: each process has its own then.

        Not where what it makes depends on what is there: `VOCAB[word] = len(VOCAB)`.
        """
        for mutation in self.mutations.of(variable):
            if mutation.module.scope_of(mutation.node).enclosing_function() is not scope:
                continue
            made = getattr(statement_of(mutation.node), "value", None)
            if (
                made is not None
                and self.lazy_making.is_lazy(mutation.node, variable, scope.module)
                and not mentions(made, (variable.name,))
            ):
                return True
        return False

    def is_changed_by_read(self, node: ast.expr, module: Module) -> bool:
        """Whether a read is only the first half of a change: `X` of `X.append(1)`, `X.a = 1` or `METER.note(loss)`."""
        holder = up(node)
        if not isinstance(holder, ast.Attribute):
            return False
        if isinstance(holder.ctx, ast.Store) and not isinstance(up(holder), ast.AugAssign):
            return True
        if isinstance(method := up(holder), ast.Attribute) and method.attr in MUTATORS:
            return isinstance(call := up(method), ast.Call) and call.func is method  # `Timer.times.setdefault(…)`
        if not isinstance(up(holder), ast.Call):
            return False
        changes = module.changes.get(root_name(node), ())
        if any(change.target is node and change.kind == "method" for change in changes):
            return True
        return self.mutations.collects(up(holder), module)

    def gathered_in_class(self, node: ast.AST, variable: Global) -> str:
        """The attribute of `Stats.total += 1`, `Stats.names.append(x)` and `Stats.of[x] = y`, which a class keeps."""
        target: Any = node
        if isinstance(node, ast.Call):
            target = node.func.value if isinstance(node.func, ast.Attribute) and self._adds(node, variable) else None
        elif not isinstance(up(node), ast.AugAssign) and not counts_on(node) and not isinstance(node, ast.Subscript):
            return ""
        while isinstance(target, ast.Attribute | ast.Subscript):
            if isinstance(target, ast.Attribute) and (
                isinstance(target.value, ast.Name | ast.Call) or last_name(target.value) == "__class__"
            ):
                return target.attr if self.is_kept_by_definition(target.value, variable) else ""
            target = target.value
        return ""

    def _adds(self, call: ast.Call, variable: Global) -> bool:
        """Whether a call adds to what a class keeps: `update` does so to a set or counter, not to options."""
        name = last_name(call.func)
        return name in COLLECTING or (name == "update" and is_tally(call, variable))

    def is_read_by_parent(
        self, variable: Global, workers: Workers, attribute: str, may_meet: Callable[[ast.AST, Module], bool]
    ) -> bool:
        """Whether code that runs in the parent reads a variable, or one attribute of it, in a program that counts."""
        for path in self.evaluator.codebase.mentioning(variable.name, variable.module.path):
            codebase = self.evaluator.codebase
            module = codebase.module(path) if codebase.uses(path, variable.name) else None
            if module is None:
                continue
            nodes: list[ast.AST] = [node for name in module.names_of(variable.name) for node in module.loads(name)]
            for node, found in self.names.reads_among(nodes, module):
                if found != variable or self.is_changed_by_read(node, module):
                    continue
                holder = up(node)
                if attribute and not (isinstance(holder, ast.Attribute) and is_told(holder, attribute)):
                    continue
                function = module.scope_of(node).enclosing_function()
                if function is not None and workers.runs(function):
                    continue
                if self.phase(node, module) == "parent" and may_meet(node, module):
                    return True
        return any(
            not any(True for _ in self.mutations.done_to(call, module))
            and self.runs_in_parent(call, module, workers)
            and may_meet(call, module)
            for call, module in self.mutations.calls_of_accessors(variable)
        )

    def runs_in_parent(self, node: ast.AST, module: Module, workers: Workers) -> bool:
        function = module.scope_of(node).enclosing_function()
        return self.phase(node, module) == "parent" and not (function is not None and workers.runs(function))

    def is_collected(self, node: ast.AST, variable: Global, workers: Workers, module: Module) -> bool:
        """Whether an initializer adds to what the parent alone reads, and the parent never changes."""
        if not isinstance(node, ast.Call) or last_name(node.func) not in COLLECTING:
            return False
        for worker in workers.of(module):
            for read, found in self.names.read_by(worker.scope):
                if found == variable and not self.is_changed_by_read(read, worker.scope.module):
                    return False
        functions = [m.module.scope_of(m.node).enclosing_function() for m in self.mutations.of(variable)]
        return all(function is not None and workers.runs(function) for function in functions)

    # when: kept here for whoever asks about a variable and a moment together

    def phase(self, node: ast.AST, module: Module) -> str:
        return self.phases.at(node, module)

    def phase_of(self, scope: Scope) -> str:
        return self.phases.of(scope)

    def references(self, scope: Scope) -> list[tuple[ast.AST, Module]]:
        return self.phases.references(scope)

    def is_primitive(self, variable: Global) -> bool:
        """A queue, lock or shared value of multiprocessing, made when the module is imported."""
        return any(isinstance(v, Result) and mp_name(v.callee) in PRIMITIVES for v in self.names.values(variable))


def _names_environment(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name | ast.Attribute) and last_name(node) in ("environ", "getenv")
    )


def _compared(call: ast.Call, module: Module) -> Iterator[ast.AST]:
    """The tests that compare what `os.getpid()` gives, each with what it decides."""
    holder = up(call)
    names = [t.id for t in holder.targets if isinstance(t, ast.Name)] if isinstance(holder, ast.Assign) else []
    scope = module.scope_of(call)
    loads = [load for name in names for load in module.loads(name) if module.scope_of(load) is scope]
    for node in (call, *loads):
        for outer in ancestors(node):
            if isinstance(outer, ast.Compare):
                yield next((item for item in ancestors(outer) if isinstance(item, ast.If | ast.While)), outer)
                break
            if isinstance(outer, ast.stmt):
                break
