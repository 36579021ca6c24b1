"""Who changes a module-level variable, or binds it again."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.circumstances.global_names import Global, GlobalNames
from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.semantics import effects, stores
from flake8_torchmp.semantics.binder import MUTATORS
from flake8_torchmp.semantics.callers import MOST_MODULES
from flake8_torchmp.semantics.calls import is_class_method, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import reaching
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import alternatives, body_nodes, dotted, last_name, position, up
from flake8_torchmp.semantics.scopes import Change, Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Method,
    ModuleValue,
    Value,
)

_SETS_BY_NAME = re.compile(rb"\bsetattr\(\s*(\w+)")

CHANGING = frozenset(
    "builtins.setattr builtins.delattr numpy.copyto numpy.put numpy.fill_diagonal random.shuffle numpy.random.shuffle "
    "numpy.place numpy.putmask heapq.heappush heapq.heappop heapq.heapify heapq.heapreplace heapq.heappushpop "
    "bisect.insort bisect.insort_left bisect.insort_right".split()
)

FILLED = frozenset(("out", "namespace"))
"""Parameters of libraries for what they are to fill: `numpy.add(a, b, out=TABLE)`, `parse_args(namespace=OPTIONS)`."""


class Mutation(NamedTuple):
    """A place where a global is changed or bound again."""

    node: ast.AST
    module: Module
    kind: str
    """rebound, changed"""
    attribute: str = ""
    """What of it is changed, if that is one attribute."""


_BOUND_ANEW = (Constant, Class, Function, ModuleValue)
"""What is hardly ever changed by a function that it is given to: its name is bound again, or its attributes are set."""


class Mutations:
    def __init__(self, evaluator: Evaluator, names: GlobalNames) -> None:
        self.evaluator = evaluator
        self.names = names
        self.forget()

    def forget(self) -> None:
        self._known: dict[tuple[str, str], list[Mutation]] = {}
        self._by_name: dict[str, list[tuple[ast.Call, Module]]] = {}

    def of(self, variable: Global) -> list[Mutation]:
        """Where the project changes a variable or binds it again, its first binding aside."""
        key = (variable.module.path, variable.name)
        known = self._known.get(key)
        if known is None:
            self._known[key] = []
            found = sorted(set(self._find(variable)), key=lambda m: (m.module.path, position(m.node)))
            known = self._known[key] = found
        return known

    def _find(self, variable: Global) -> Iterator[Mutation]:
        yield from self._rebindings(variable)
        first = variable.bindings[0] if len(variable.bindings) == 1 else None
        if first is not None and first.kind == "assign" and isinstance(first.value, ast.Name):
            other = self.names.of_name(first.value, variable.module)  # `cfg = __C`
            yield from (m for m in self.of(other) if m.kind == "changed") if other is not None else ()
        if first is not None and first.kind == "class":
            yield from self._by_class_methods(variable, first.node)
        codebase = self.evaluator.codebase
        paths = codebase.mentioning(variable.name, variable.module.path)
        must_be_named = all(isinstance(value, _BOUND_ANEW) for value in self.names.values(variable))
        for path in paths:
            uses = codebase.uses(path, variable.name)
            if must_be_named and uses.isdisjoint(("set", "renamed")):
                continue
            if len(paths) > MOST_MODULES and "changed" not in uses:
                continue  # it may be given to what changes it, but who looks into all these calls?
            module = codebase.module(path) if uses else None
            if module is not None:
                yield from self._changes(variable, module)
        for call, module in self.calls_of_accessors(variable):
            yield from self.done_to(call, module)

    def through_accessors(self, scope: Scope) -> Iterator[tuple[Mutation, Global]]:
        """What a function changes of globals that it gets from a function: `stats()["seen"] += 1`."""
        for call in body_nodes(scope.node):
            if not isinstance(call, ast.Call) or call.args or call.keywords:
                continue
            for value in self.evaluator.values(call.func, self.evaluator.frame_at(call, scope.module)):
                module = value.scope.module if isinstance(value, Function) else None
                for name, accessors in _accessors(module).items() if module is not None else ():
                    if isinstance(value, Function) and value.scope in accessors:
                        variable = Global(value.scope.module, name)
                        yield from ((mutation, variable) for mutation in self.done_to(call, scope.module))

    def calls_of_accessors(self, variable: Global) -> Iterator[tuple[ast.Call, Module]]:
        for accessor in _accessors(variable.module).get(variable.name, ()):
            yield from self._calls_of(accessor)

    def _calls_of(self, scope: Scope) -> Iterator[tuple[ast.Call, Module]]:
        codebase = self.evaluator.codebase
        for name, home in codebase.known_as(scope.name, scope.module.path):
            for path in codebase.mentioning(name, home):
                module = codebase.module(path) if "called" in codebase.uses(path, name) else None
                for call in list(module.calls.get(name, ())) if module is not None else ():
                    assert module is not None
                    values = self.evaluator.values(call.func, self.evaluator.frame_at(call, module))
                    if any(isinstance(value, Function) and value.scope is scope for value in values):
                        yield call, module

    def done_to(self, given: ast.Call, module: Module) -> Iterator[Mutation]:
        """What is done to what a call gives: `table().append(x)`, and the same after `rows = table()`."""
        holder: Any = up(given)
        if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Name):
            name, scope = holder.targets[0].id, module.scope_of(holder)
            if not scope.is_function or len(scope.bindings[name]) > 1:
                return
            for change in module.changes.get(name, ()):
                if module.scope_of(change.target) is scope:
                    is_own = change.kind == "attribute" and isinstance(change.target, ast.Name)
                    yield Mutation(change.node, module, "changed", change.name if is_own else "")
            for load in module.loads(name):
                if module.scope_of(load) is scope:
                    yield from self.through(load, module)
        elif isinstance(holder, ast.Subscript | ast.Attribute) and isinstance(holder.ctx, ast.Store):
            yield Mutation(holder, module, "changed", getattr(holder, "attr", ""))
        elif isinstance(holder, ast.Attribute) and holder.attr in MUTATORS and isinstance(up(holder), ast.Call):
            yield Mutation(holder, module, "changed")
        else:
            yield from self.through(given, module)

    def _by_class_methods(self, variable: Global, definition: Any) -> Iterator[Mutation]:
        """`cls.size = size` and `cls.names.append(name)` in a class method."""
        module = variable.module
        for method in definition.body:
            if not isinstance(method, ast.FunctionDef) or not is_class_method(method) or method.name.startswith("__"):
                continue
            scope = module.scopes[method]
            for call in module.calls.get("setattr", ()):  # `setattr(cls, name, value)`
                if module.scope_of(call).enclosing_function() is scope and dotted(call.args[0]) == receiver_name(scope):
                    yield Mutation(call, module, "changed")
            for change in module.changes.get(receiver_name(scope), ()):
                if module.scope_of(change.target).enclosing_function() is not scope:
                    continue
                if change.kind == "attribute" and isinstance(change.target, ast.Name):
                    if self._is_called_on(variable, method.name, module.scopes[definition]):
                        yield Mutation(change.node, module, "changed", change.name)
                elif change.kind in ("attribute", "item", "method") and (kept := _attribute_of_root(change.target)):
                    yield Mutation(change.node, module, "changed", kept)

    def _is_called_on(self, variable: Global, method: str, owner: Scope) -> bool:
        """Whether a class method works on the class that has it, and not only on those that derive from it."""
        if not any(self.evaluator.callers.subclasses(owner)):
            return True
        codebase = self.evaluator.codebase
        mentioning = codebase.mentioning(variable.name, variable.module.path)
        calling = [path for path in mentioning if "called" in codebase.uses(path, method)]
        return len(calling) > MOST_MODULES or any(
            isinstance(call.func, ast.Attribute) and last_name(call.func.value) in module.names_of(variable.name)
            for module in map(codebase.module, calling)
            if module is not None
            for call in module.calls.get(method, ())
        )

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
            is_set = isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Store)
            if isinstance(holder, ast.Subscript) and is_set and self._may_name(holder.slice, variable, module):
                yield Mutation(holder, module, "rebound")
            if isinstance(holder, ast.Attribute) and holder.attr == "update":
                update = up(holder)
                if isinstance(update, ast.Call) and self._is_key(variable.name, update, module):
                    yield Mutation(update, module, "rebound")
        for call, importer in self._set_by_name(module.path):
            if self._may_name(call.args[1], variable, importer):
                yield Mutation(call, importer, "rebound")

    def _set_by_name(self, path: str) -> list[tuple[ast.Call, Module]]:
        """`setattr(config, name, value)` of a module of the project, with the modules where that stands."""
        known = self._by_name.get(path)
        if known is None:
            codebase = self.evaluator.codebase
            naming = filter(self._sets_what_it_imports, codebase.importers(path))
            known = self._by_name[path] = [
                (call, module)
                for module in map(codebase.module, naming)
                if module is not None
                for call in module.calls.get("setattr", ())
                if len(call.args) == 3 and self._is_module(call.args[0], path, module)
            ]
        return known

    def _sets_what_it_imports(self, path: str) -> bool:
        codebase = self.evaluator.codebase
        imported = {*codebase.imported_names(path), b"sys"}
        return any(name in imported for name in _SETS_BY_NAME.findall(codebase.data(path)))

    def _is_module(self, node: ast.expr, path: str, module: Module) -> bool:
        values = self.evaluator.values(node, self.evaluator.frame_at(node, module))
        return any(isinstance(value, ModuleValue) and value.path == path for value in values)

    def _may_name(self, key: ast.expr, variable: Global, module: Module) -> bool:
        """Whether a key is the name of a variable, or comes from the user, who sets what looks like an option."""
        keys = self.evaluator.values(key, self.evaluator.frame_at(key, module))
        known = [value.value for value in keys if isinstance(value, Constant)]
        if known or isinstance(key, ast.JoinedStr | ast.BinOp):
            return variable.name in known
        return self._may_be_option(variable)

    @staticmethod
    def _may_be_option(variable: Global) -> bool:
        """A number or text that the module binds once: what is set by a name that the user gives."""
        bindings = [b for b in variable.bindings if b.kind != "declared"]
        return len(bindings) == 1 and bindings[0].kind == "assign" and isinstance(bindings[0].value, ast.Constant)

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
                    yield from self._through_all(reference, variable, module)
        for reference in module.loads(variable.name):
            if isinstance(reference, ast.Attribute) and self.names.of_attribute(reference, module) == variable:
                yield from self._through_all(reference, variable, module)

    def _through_all(self, reference: ast.expr, variable: Global, module: Module) -> Iterator[Mutation]:
        """What is done by way of calls to a variable, or to the same by a function's own name for it."""
        yield from self.through(reference, module)
        statement = _chosen_by(reference)
        own = {t.id for t in statement.targets if isinstance(t, ast.Name)} if isinstance(statement, ast.Assign) else ()
        if isinstance(statement, ast.arguments):
            own = {p.arg for p in (*statement.posonlyargs, *statement.args, *statement.kwonlyargs)}
        for name in own:
            for load in module.loads(name):
                if isinstance(load, ast.Name) and self._is_alias(load, variable, module):
                    yield from self.through(load, module)

    def _names_in(self, variable: Global, module: Module) -> list[str]:
        """The names by which a module knows a variable."""
        if module is variable.module:
            return [variable.name]
        return module.imported_as(variable.name) or ([variable.name] if module.scope.star_imports else [])

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
            given = alternatives(binding.value) if binding.kind == "assign" and binding.value is not None else ()
            if any(isinstance(value, ast.Name) and self.names.of_name(value, module) == variable for value in given):
                return True
        return self.names.by_default(name, module) == variable

    def through(self, reference: ast.expr, module: Module) -> Iterator[Mutation]:
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
        if isinstance(holder, ast.keyword) and holder.arg in FILLED:
            yield Mutation(call, module, "changed")
            return
        frame = self.evaluator.frame_at(call, module)
        for callee in self.evaluator.values(call.func, frame):
            if isinstance(callee, Member) and callee.name == "shuffle":  # of a generator
                is_changed = call.args[:1] == [reference]
            elif isinstance(callee, External):
                is_changed = callee.name in CHANGING and bool(call.args) and call.args[0] is reference
            else:
                for attribute in self._changed_by(callee, call, reference, module):
                    yield Mutation(call, module, "changed", attribute)
                continue
            if is_changed:
                yield Mutation(call, module, "changed")

    def _attribute_of(self, change: Change, variable: Global, module: Module) -> str:
        """What of a variable is changed: `a` of `X.a = 1` and of `module.X.a = 1`, `a.b` of `X.a.b = 1`."""
        target = change.target
        is_variable = isinstance(target, ast.Name)
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            is_variable = target.attr == variable.name and self.names.of_attribute(target, module) == variable
            if target.attr == "__dict__":
                return ""
            if not is_variable:
                return f"{target.attr}.{change.name}" if change.kind == "attribute" else target.attr
        return change.name if change.kind == "attribute" and is_variable else ""

    def _is_setter(self, call: ast.Call, module: Module) -> bool:
        for callee in self.evaluator.values(call.func, self.evaluator.frame_at(call, module)):
            if isinstance(callee, Method) and isinstance(callee.receiver, Instance):
                scope = callee.function.scope
                owner = Class(scope.parent, None) if scope.parent is not None else None
                stored = stores.by_attribute(owner) if owner is not None else {}
                if any(method is scope for changes in stored.values() for _, method in changes):
                    return True
                if (effects.is_statement(call) or isinstance(up(call), ast.withitem)) and effects.changes_object(scope):
                    return True
        return False

    def collects(self, call: ast.AST | None, module: Module) -> bool:
        """`METER.note(loss)`, for what the object gathers."""
        return self._has_method_do(effects.collects, call, module)

    def stores(self, call: ast.AST, module: Module) -> bool:
        """`BOARD.submit(name, score)`, which puts an entry into what the object keeps."""
        return self._has_method_do(effects.stores, call, module)

    def _has_method_do(self, does: Callable[[Scope], bool], call: ast.AST | None, module: Module) -> bool:
        """Whether a call, made for its effect alone, runs a method of an object that does something."""
        if not isinstance(call, ast.Call) or not effects.is_statement(call):
            return False
        return any(
            isinstance(callee, Method) and isinstance(callee.receiver, Instance) and does(callee.function.scope)
            for callee in self.evaluator.values(call.func, self.evaluator.frame_at(call, module))
        )

    def _changed_by(self, callee: Value, call: ast.Call, given: ast.expr, module: Module) -> Iterator[str]:
        """What a function changes of what it is given: attributes of it, or "" for the whole."""
        function = callee.function if isinstance(callee, Method) else callee
        if not isinstance(function, Function):
            return
        arguments = self.evaluator.arguments(call, self.evaluator.frame_at(call, module))
        shift = isinstance(callee, Method)
        node: Any = function.node
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)][shift:]
        for index, name in enumerate(names):
            source = arguments.get(index, name)
            if source is not None and source.node is given:
                for change in function.scope.module.changes.get(name, ()):
                    if self.is_parameter(name, change, function.scope):
                        is_own = change.kind == "attribute" and isinstance(change.target, ast.Name)
                        yield change.name if is_own else ""
                return

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


def _accessors(module: Module) -> dict[str, list[Scope]]:
    """The functions that do nothing but return a variable of their module, by its name."""
    key = ("accessors",)
    if key not in module.memo:
        found: dict[str, list[Scope]] = {}
        for node in module.functions:
            scope = module.scopes[node]
            is_short = isinstance(node, ast.FunctionDef) and len(node.body) <= 2 and len(scope.returns) == 1
            returned = scope.returns[0].value if is_short else None
            if isinstance(returned, ast.Name) and scope.parent is module.scope and returned.id not in scope.bindings:
                found.setdefault(returned.id, []).append(scope)
        module.memo[key] = found
    known: dict[str, list[Scope]] = module.memo[key]
    return known


def _chosen_by(node: ast.AST) -> ast.AST | None:
    """The statement, or the parameters, whose value an expression may be as it stands: `x = given or TABLE`."""
    holder = up(node)
    while isinstance(holder, ast.IfExp | ast.BoolOp):
        holder = up(holder)
    return holder


def _is_placeholder(value: ast.expr | None) -> bool:
    """None or an empty container: something that is to be replaced."""
    if isinstance(value, ast.Constant):
        return value.value is None
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.Call) and not value.args and dotted(value.func) in ("dict", "list", "set", "tuple")


def _attribute_of_root(node: ast.expr) -> str:
    """`names` of `cls.names[0].text`."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name)):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else ""
