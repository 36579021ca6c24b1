"""Module-level state: what a global holds, who changes it, and in which process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from flake8_torchmp.semantics import classes, effects
from flake8_torchmp.semantics.callers import MOST_MODULES
from flake8_torchmp.semantics.calls import is_class_method, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import Condition, conditions, facts, reaching
from flake8_torchmp.semantics.module import (
    FUNCTIONS,
    Binding,
    Change,
    Module,
    Scope,
    body_nodes,
    dotted,
    last_name,
    position,
    root_name,
    up,
)
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Function,
    Instance,
    Method,
    ModuleValue,
    Result,
    Value,
)

from .apis import PRIMITIVES
from .global_names import Global, GlobalNames
from .guards import is_guarded, runs_nowhere
from .methods import mp_name
from .phases import Phases

if TYPE_CHECKING:
    from .workers import WorkerFunction, Workers

CHANGING = frozenset(
    "builtins.setattr builtins.delattr numpy.copyto numpy.put numpy.fill_diagonal random.shuffle numpy.random.shuffle "
    "heapq.heappush heapq.heappop heapq.heapify bisect.insort".split()
)
COLLECTING = frozenset("add append appendleft extend insert".split())
CODE_MAKERS = frozenset("getLogger get_logger compile TypeVar ParamSpec namedtuple NamedTuple NewType Struct".split())


POURING = frozenset("merge_from_file merge_from_list merge_from_other_cfg merge_with load_state_dict".split())
"""Methods by which a whole configuration or state is set anew."""


class Mutation(NamedTuple):
    """A place where a global is changed or bound again."""

    node: ast.AST
    module: Module
    kind: str
    """rebound, changed"""
    attribute: str = ""
    """What of it is changed, if that is one attribute."""


class State:
    def __init__(self, evaluator: Evaluator, phases: Phases) -> None:
        self.evaluator = evaluator
        self.names = GlobalNames(evaluator)
        self._guarded: dict[tuple[str, str], bool] = {}
        self.phases = phases
        self.forget()

    def forget(self) -> None:
        self._mutations: dict[tuple[str, str], list[Mutation]] = {}
        self._settable: dict[tuple[object, ...], bool] = {}
        self.names.forget()

    # what it is

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
            self._guarded[key] = not variable.module.scope.star_imports and all(
                self._is_bound_by_guard(binding, variable.module) for binding in variable.bindings
            )
        return self._guarded[key]

    def _is_bound_by_guard(self, binding: Binding, module: Module) -> bool:
        function = module.scope_of(binding.node).enclosing_function()
        if function is not None:
            return self.phase_of(function) == "parent"
        return is_guarded(self.evaluator, binding.node, module) and not runs_nowhere(binding.node)

    def is_variable(self, variable: Global) -> bool:
        """Whether it holds data: no function, class, module or import, nothing that is code rather than state."""
        return all(
            b.kind in ("assign", "unpack", "augmented", "for", "with", "walrus") and not _is_code(b.value)
            for b in variable.bindings
        )

    def is_in_class(self, read: ast.AST, variable: Global) -> bool:
        """Whether a read is of data that a class itself keeps: `Config.size`."""
        holder = up(read)
        bindings = variable.bindings
        if not isinstance(holder, ast.Attribute) or len(bindings) != 1 or bindings[0].kind != "class":
            return False
        own = variable.module.scopes[bindings[0].node].bindings.get(holder.attr, ())
        is_data = bool(own) and all(b.kind == "assign" and b.value is not None and not _is_code(b.value) for b in own)
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

    # who changes it

    def mutations(self, variable: Global) -> list[Mutation]:
        """Where the project changes a variable or binds it again, its first binding aside."""
        key = (variable.module.path, variable.name)
        known = self._mutations.get(key)
        if known is None:
            self._mutations[key] = []
            found = sorted(set(self._find(variable)), key=lambda m: (m.module.path, position(m.node)))
            known = self._mutations[key] = found
        return known

    def is_set_by(self, variable: Global, worker: WorkerFunction, workers: Workers) -> bool:
        """Whether worker code of a kind pours into its copy what it is to hold, or gets it with an object."""
        for mutation in self.mutations(variable):
            function = mutation.module.scope_of(mutation.node).enclosing_function()
            if function is None or (function.name != "__setstate__" and not isinstance(mutation.node, ast.Call)):
                continue
            if function.name == "__setstate__" or (
                last_name(mutation.node.func) in POURING  # type: ignore[attr-defined]
                and workers.runs(function, worker.kind)
            ):
                return True
        return False

    def seen_by(self, read: ast.expr, module: Module, variable: Global) -> list[Mutation]:
        """The mutations of a variable that one read of it can show: `X.a` shows nothing of `X.b = 1`."""
        mutations = self.mutations(variable)
        if isinstance(read, ast.Name) and self.names.by_default(read, variable.module) == variable:
            return [mutation for mutation in mutations if mutation.kind == "changed"]  # it was bound before
        holder = up(read)
        if isinstance(holder, ast.Attribute) and self.is_in_class(read, variable):
            return [mutation for mutation in mutations if self._is_of_class(mutation, holder.attr)]
        if not isinstance(holder, ast.Attribute) or not any(mutation.attribute for mutation in mutations):
            return mutations
        if not self._are_plain(self.names.values(variable), holder.attr):
            return mutations
        seen = [mutation for mutation in mutations if mutation.attribute.partition(".")[0] in ("", holder.attr)]
        inner = up(holder)
        if not isinstance(inner, ast.Attribute) or not any("." in mutation.attribute for mutation in seen):
            return seen
        frame = self.evaluator.frame_at(holder, module)
        if not self._are_plain(self.evaluator.values(holder, frame), inner.attr):
            return seen
        return [m for m in seen if m.attribute in ("", holder.attr, f"{holder.attr}.{inner.attr}")]

    def _are_plain(self, values: tuple[Value, ...], attribute: str) -> bool:
        return bool(values) and all(self._is_plain(value, attribute) for value in values)

    @staticmethod
    def _is_of_class(mutation: Mutation, attribute: str) -> bool:
        """Whether a class is changed by `Config.size = 1` or `setattr(Config, …)`, rather than handed to somebody."""
        node = mutation.node
        return mutation.attribute == attribute or (isinstance(node, ast.Call) and last_name(node.func) == "setattr")

    def _is_plain(self, value: Value, attribute: str) -> bool:
        """Whether an object's attribute is no method or property, which may read all the others."""
        if isinstance(value, Instance):
            return classes.find_method(self.evaluator, value.cls, attribute) is None
        return isinstance(value, Result) and value.name in ("types.SimpleNamespace", "argparse.Namespace")

    def _find(self, variable: Global) -> Iterator[Mutation]:
        yield from self._rebindings(variable)
        first = variable.bindings[0] if len(variable.bindings) == 1 else None
        if first is not None and first.kind == "assign" and isinstance(first.value, ast.Name):
            other = self.names.of_name(first.value, variable.module)  # `cfg = __C`
            yield from (m for m in self.mutations(other) if m.kind == "changed") if other is not None else ()
        codebase = self.evaluator.codebase
        paths = codebase.mentioning(variable.name, variable.module.path)
        for path in paths:
            if len(paths) > MOST_MODULES and "changed" not in codebase.uses(path, variable.name):
                continue  # it may be given to what changes it, but who looks into all these calls?
            module = codebase.module(path)
            if module is not None:
                yield from self._changes(variable, module)

    def _rebindings(self, variable: Global) -> Iterator[Mutation]:
        module = variable.module
        bindings = [b for b in variable.bindings if b.kind != "declared"]
        for index, binding in enumerate(bindings):
            in_function = module.scope_of(binding.node).enclosing_function() is not None
            guarded = index and is_guarded(self.evaluator, binding.node, module)
            if in_function or (guarded and _is_placeholder(bindings[0].value)):
                yield Mutation(binding.node, module, "rebound")
        for call in module.calls.get("globals", ()):
            holder = up(call)
            if isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Store):
                keys = self.evaluator.values(holder.slice, self.evaluator.frame_at(holder, module))
                if any(isinstance(key, Constant) and key.value == variable.name for key in keys):
                    yield Mutation(holder, module, "rebound")
            if isinstance(holder, ast.Attribute) and holder.attr == "update":
                update = up(holder)
                if isinstance(update, ast.Call) and self._is_key(variable.name, update, module):
                    yield Mutation(update, module, "rebound")

    def _is_key(self, name: str, update: ast.Call, module: Module) -> bool:
        frame = self.evaluator.frame_at(update, module)
        given = [value for argument in update.args for value in self.evaluator.values(argument, frame)]
        return name in self.evaluator.arguments(update, frame).keywords or any(
            key == name for value in given if isinstance(value, Collection) for key, _ in self.evaluator.items(value)
        )

    def _changes(self, variable: Global, module: Module) -> Iterator[Mutation]:
        for root, changes in list(module.changes.items()):
            for change in changes:
                kind = self._changes_variable(change, root, variable, module)
                if kind:
                    attribute = self._attribute_of(change, variable, module) if kind == "changed" else ""
                    yield Mutation(change.node, module, kind, attribute)
        for name in self._names_in(variable, module):
            for reference in module.loads(name):
                if isinstance(reference, ast.Name) and self.names.of_name(reference, module) == variable:
                    yield from self._through(reference, module)
        for reference in module.loads(variable.name):
            if isinstance(reference, ast.Attribute) and self.names.of_attribute(reference, module) == variable:
                yield from self._through(reference, module)

    def _names_in(self, variable: Global, module: Module) -> list[str]:
        """The names by which a module knows a variable."""
        if module is variable.module:
            return [variable.name]
        return [
            name
            for name, bindings in module.scope.bindings.items()
            if any(b.kind == "from" and getattr(b.node, "name", "") == variable.name for b in bindings)
        ] or ([variable.name] if module.scope.star_imports else [])

    def _changes_variable(self, change: Change, root: str, variable: Global, module: Module) -> str:
        """How a change changes a variable: "changed", "rebound" for `module.NAME = …`, or not at all."""
        target: Any = change.target
        while isinstance(target, ast.Attribute | ast.Subscript):
            named = target if isinstance(target, ast.Attribute) and target.attr == variable.name else None
            if named is not None and self.names.of_attribute(named, module) == variable:
                return "changed"
            target = target.value
        if not isinstance(target, ast.Name):
            return ""
        if (
            change.kind == "attribute"
            and change.name == variable.name
            and isinstance(change.target, ast.Name | ast.Attribute)
        ):
            base = change.target
            for value in self.evaluator.values(base, self.evaluator.frame_at(change.node, module)):
                if isinstance(value, ModuleValue) and value.path == variable.module.path:
                    return "rebound"
        if change.kind == "augmented" and isinstance(change.target, ast.Name) and root == variable.name:
            return ""  # a binding as well
        known = self._names_in(variable, module)
        if root in known and self.names.of_name(target, module) == variable:
            return "changed"
        if root not in known and self._is_alias(target, variable, module):
            return "changed"
        return ""

    def _is_alias(self, name: ast.Name, variable: Global, module: Module) -> bool:
        """`v = VOCAB` before `v.append(…)`, also as a module's other name for it."""
        scope = self.evaluator.scope_binding(name.id, module.scope_of(name))
        if scope is None:
            return False
        for binding in reaching(scope.bindings[name.id], name, scope, module.scope_of(name)):
            value = binding.value
            if (
                binding.kind == "assign"
                and isinstance(value, ast.Name)
                and self.names.of_name(value, module) == variable
            ):
                return True
        return self.names.by_default(name, module) == variable

    def _through(self, reference: ast.expr, module: Module) -> Iterator[Mutation]:
        """What is done to a variable by way of a call: a setter of its object, or a function that it is given to."""
        holder = up(reference)
        if isinstance(holder, ast.Attribute):
            call = up(holder)
            if isinstance(call, ast.Call) and call.func is holder and self._is_setter(call, module):
                yield Mutation(call, module, "changed")
            return
        call = holder if isinstance(holder, ast.Call) else up(holder) if isinstance(holder, ast.keyword) else None
        if not isinstance(call, ast.Call) or call.func is reference:
            return
        frame = self.evaluator.frame_at(call, module)
        for callee in self.evaluator.values(call.func, frame):
            if isinstance(callee, External):
                is_changed = callee.name in CHANGING and bool(call.args) and call.args[0] is reference
            else:
                is_changed = self._changes_parameter(callee, call, reference, module)
            if is_changed:
                yield Mutation(call, module, "changed")

    def _attribute_of(self, change: Change, variable: Global, module: Module) -> str:
        """What of a variable is changed: `a` of `X.a = 1` and of `module.X.a = 1`, `a.b` of `X.a.b = 1`."""
        target = change.target
        is_variable = isinstance(target, ast.Name)
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            is_variable = target.attr == variable.name and self.names.of_attribute(target, module) == variable
            if not is_variable:
                return f"{target.attr}.{change.name}" if change.kind == "attribute" else target.attr
        return change.name if change.kind == "attribute" and is_variable else ""

    def _is_setter(self, call: ast.Call, module: Module) -> bool:
        for callee in self.evaluator.values(call.func, self.evaluator.frame_at(call, module)):
            if isinstance(callee, Method) and isinstance(callee.receiver, Instance):
                scope = callee.function.scope
                owner = Class(scope.parent, None) if scope.parent is not None else None
                stored = classes.stores(owner) if owner is not None else {}
                if any(method is scope for changes in stored.values() for _, method in changes):
                    return True
                if effects.is_statement(call) and effects.changes_object(scope):
                    return True
        return False

    def _collects(self, call: ast.AST | None, module: Module) -> bool:
        """`METER.note(loss)`, for what the object gathers."""
        if not isinstance(call, ast.Call) or not effects.is_statement(call):
            return False
        return any(
            isinstance(callee, Method)
            and isinstance(callee.receiver, Instance)
            and effects.collects(callee.function.scope)
            for callee in self.evaluator.values(call.func, self.evaluator.frame_at(call, module))
        )

    def _changes_parameter(self, callee: Value, call: ast.Call, given: ast.expr, module: Module) -> bool:
        function = callee.function if isinstance(callee, Method) else callee
        if not isinstance(function, Function):
            return False
        arguments = self.evaluator.arguments(call, self.evaluator.frame_at(call, module))
        shift = isinstance(callee, Method)
        node: Any = function.node
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)][shift:]
        for index, name in enumerate(names):
            source = arguments.get(index, name)
            if source is not None and source.node is given:
                return any(
                    self.is_parameter(name, change, function.scope)
                    for change in function.scope.module.changes.get(name, ())
                )
        return False

    def is_parameter(self, name: str, change: Change, scope: Scope) -> bool:
        """Whether a change is made to what a parameter was given, not to something of that name made later."""
        inner = scope.module.scope_of(change.target)
        if self.evaluator.scope_binding(name, inner) is not scope:
            return False
        root: ast.expr = change.target
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if change.kind == "augmented" and root is change.target:
            return False
        return any(b.kind == "parameter" for b in reaching(scope.bindings[name], root, scope, inner))

    def changed_by(self, scope: Scope) -> Iterator[tuple[ast.AST, Global]]:
        """The globals that a function changes or binds again, per-process caches and lazy making aside."""
        module = scope.module
        for changes in list(module.changes.values()):
            for change in changes:
                if module.scope_of(change.target).enclosing_function() is not scope:
                    continue
                variable = self._changed_variable(change, module)
                if variable is not None and not self._is_lazy(change.node, variable, module):
                    yield change.node, variable
        yield from self._changed_through(scope)
        for name in sorted(scope.global_names):
            variable = Global(module, name)
            for binding in variable.bindings:
                inside = module.scope_of(binding.node).enclosing_function() is scope
                if inside and not self._is_lazy(binding.node, variable, module):
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
        assert isinstance(scope.node, FUNCTIONS)
        for node in body_nodes(scope.node):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            holder = up(node)
            if isinstance(holder, ast.Call):
                variable = self.names.of_name(node, module)
                if variable is not None:
                    for mutation in self._through(node, module):
                        yield mutation.node, variable
            elif isinstance(holder, ast.Attribute):
                asked = up(holder)
                variable = (
                    self.names.of_name(node, module) if asked is not None and effects.is_statement(asked) else None
                )
                if asked is not None and variable is not None and self._collects(asked, module):
                    yield asked, variable

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

    def _is_lazy(self, node: ast.AST, variable: Global, module: Module) -> bool:
        """Made once per process: where the variable is still None or empty, or has no such key."""
        return any(
            self._says_missing(fact, variable, module) for condition in conditions(node) for fact in facts(condition)
        )

    def _says_missing(self, fact: Condition, variable: Global, module: Module) -> bool:
        test, holds = fact
        named: list[ast.expr] = []
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                wanted = isinstance(test.ops[0], ast.Is | ast.Eq)
                named = [test.left] if wanted is holds else []
            elif isinstance(test.ops[0], ast.NotIn | ast.In):
                named = [right] if isinstance(test.ops[0], ast.NotIn) is holds else []
        elif not holds:
            named = [test]
        return any(isinstance(part, ast.Name) and self.names.of_name(part, module) == variable for part in named)

    def is_changed_by_read(self, node: ast.expr, module: Module) -> bool:
        """Whether a read is only the first half of a change: `X` of `X.append(1)` or `METER.note(loss)`."""
        holder = up(node)
        if not isinstance(holder, ast.Attribute) or not isinstance(up(holder), ast.Call):
            return False
        changes = module.changes.get(root_name(node), ())
        if any(change.target is node and change.kind == "method" for change in changes):
            return True
        return self._collects(up(holder), module)

    def gathered_in_class(self, node: ast.AST, variable: Global) -> str:
        """The attribute of `Stats.total += 1` and `Stats.names.append(x)`, which a class keeps."""
        target: Any = node
        if isinstance(node, ast.Call):
            target = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr in COLLECTING else None
        elif not isinstance(up(node), ast.AugAssign) and not _counts_on(node):
            return ""
        while isinstance(target, ast.Attribute | ast.Subscript):
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                return target.attr if self.is_in_class(target.value, variable) else ""
            target = target.value
        return ""

    def is_read_by_parent(self, variable: Global, workers: Workers, attribute: str = "") -> bool:
        """Whether code that runs in the parent reads a variable, or one attribute of it."""
        for path in self.evaluator.codebase.mentioning(variable.name, variable.module.path):
            module = self.evaluator.codebase.module(path)
            if module is None:
                continue
            nodes: list[ast.AST] = [node for name in module.names_of(variable.name) for node in module.loads(name)]
            for node, found in self.names.reads_among(nodes, module):
                if found != variable or self.is_changed_by_read(node, module):
                    continue
                holder = up(node)
                if attribute and not (isinstance(holder, ast.Attribute) and _is_told(holder, attribute)):
                    continue
                function = module.scope_of(node).enclosing_function()
                if function is not None and workers.runs(function):
                    continue
                if self.phase(node, module) == "parent":
                    return True
        return False

    def is_collected(self, node: ast.AST, variable: Global, workers: Workers, module: Module) -> bool:
        """Whether an initializer adds to what the parent alone reads, and the parent never changes."""
        if not isinstance(node, ast.Call) or last_name(node.func) not in COLLECTING:
            return False
        for worker in workers.of(module):
            for read, found in self.names.read_by(worker.scope):
                if found == variable and not self.is_changed_by_read(read, worker.scope.module):
                    return False
        functions = [m.module.scope_of(m.node).enclosing_function() for m in self.mutations(variable)]
        return all(function is not None and workers.runs(function) for function in functions)

    # when: kept here for whoever asks about a variable and a moment together

    def phase(self, node: ast.AST, module: Module) -> str:
        return self.phases.at(node, module)

    def phase_of(self, scope: Scope) -> str:
        return self.phases.of(scope)

    def references(self, scope: Scope) -> list[tuple[ast.AST, Module]]:
        return self.phases.references(scope)

    # what it is

    def is_primitive(self, variable: Global) -> bool:
        """A queue, lock or shared value of multiprocessing, made when the module is imported."""
        return any(isinstance(v, Result) and mp_name(v.callee) in PRIMITIVES for v in self.names.values(variable))


def _counts_on(node: ast.AST) -> bool:
    """`totals[name] = totals.get(name, 0) + 1`."""
    statement = up(node)
    if not isinstance(node, ast.Subscript) or not isinstance(statement, ast.Assign):
        return False
    kept = dotted(node.value)
    return bool(kept) and any(
        isinstance(part, ast.Subscript | ast.Attribute) and dotted(part.value) == kept
        for part in ast.walk(statement.value)
    )


def _is_told(read: ast.Attribute, attribute: str) -> bool:
    """Whether an attribute is read, other than to change it."""
    holder = up(read)
    is_change = isinstance(holder, ast.Attribute) and holder.attr in COLLECTING
    return read.attr == attribute and isinstance(read.ctx, ast.Load) and not is_change


def _is_code(value: ast.expr | None) -> bool:
    """A logger, a compiled pattern, a type: the same in each process, and not changed."""
    return isinstance(value, ast.Call) and last_name(value.func) in CODE_MAKERS


def _is_placeholder(value: ast.expr | None) -> bool:
    """None or an empty container: something that is to be replaced."""
    if isinstance(value, ast.Constant):
        return value.value is None
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.Call) and not value.args and dotted(value.func) in ("dict", "list", "set", "tuple")
