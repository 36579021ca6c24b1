"""Who calls a function of the project, also by way of something that calls it later."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchmp import source

from . import classes
from .builtin import OPERATORS
from .callees import may_run_project
from .calls import Arguments, Frame, bound_to, is_property, made_by_class_methods, receiver_name
from .module import Module
from .nodes import dotted, last_name, up
from .scopes import Scope
from .values import Class, Collection, Function, Instance, Method, Partial, Source, Value

if TYPE_CHECKING:
    from .evaluate import Evaluator

MOST_CALLERS = 24
MOST_MODULES = 80
MOST_BYTES = 1_000_000
"""A name that more modules mention, or more source uses, says nothing about its callers: they are not looked for."""
MOST_DECORATED = 12
"""What a larger table holds says nothing of any one of its entries."""
MOST_READ = 40
"""Where an attribute of a property's name is read more often, the first places say whose it is."""
IN_PLACE = {f"__i{name[2:]}": operator for operator, name in OPERATORS.items()}
UNSEEN = ast.expr()
"""An argument that only the callee's caller knows."""


class Deferred(NamedTuple):
    """A call that is given a function and has it called: `Thread(target=f, args=(1,))`, `pool.submit(f, 1)`."""

    keyword: str
    position: int
    arguments: str
    """args: a tuple as `args`; rest: what follows; second: a tuple as the second argument; each: one of each iterable
    that follows; unseen: nobody knows"""
    leading: int = 0
    """How many arguments come from elsewhere before the given ones."""
    args_index: int = -1
    open: bool = False
    """Whether more arguments may follow."""


PARTIAL = {"partial": Deferred("", 0, "rest", open=True)}


class Callers:
    def __init__(self, evaluator: Evaluator, deferred: Mapping[str, Deferred]) -> None:
        self.evaluator = evaluator
        self._by_name = {**PARTIAL, **deferred}
        self._deferring = _deferring(tuple(self._by_name))
        self._deferred: dict[int, tuple[ast.Call, Deferred]] = {}
        self._launchers: dict[str, list[str]] = {}

    def of(self, scope: Scope) -> list[tuple[Arguments, Value | None]]:
        """The calls that may run a function: their arguments, and the object for methods."""
        if not self.evaluator.asks_callers:
            return []
        return self.evaluator.once((id(scope), "callers"), lambda: list(islice(self._find(scope), MOST_CALLERS)), [])

    def _find(self, scope: Scope) -> Iterator[tuple[Arguments, Value | None]]:
        if isinstance(scope.node, ast.Lambda) or not scope.is_function:
            return
        if scope.name == "__init__" and scope.parent is not None and scope.parent.is_class:
            for cls, arguments in self.constructions(scope.parent):
                yield arguments, Instance(cls, arguments)
            yield from self._super_inits(scope)
            return
        if scope.name in IN_PLACE and scope.parent is not None and scope.parent.is_class:
            yield from self._operating(scope, scope.parent)
        if scope.name == "__call__" and scope.parent is not None and scope.parent.is_class:
            yield from self._calling(scope, scope.parent)
        if scope.name.startswith("__") and scope.name.endswith("__"):
            return
        if is_property(scope.node):
            yield from self._reading(scope)
            return
        for module, names in self._naming(scope):
            for name in names:
                for call in list(module.calls.get(name, ())):
                    yield from self._matching(call, call, call.func, scope, module)
            yield from self._decorating(scope, names, module)
            for api, deferred in self._by_name.items():
                for call in list(module.calls.get(api, ())):
                    given = _given(call, deferred)
                    if given is not None and last_name(given) in names:
                        finished = self._calls_of_kept(call, module) if deferred.open else []
                        for later in finished:
                            yield from self._matching(later, later, later.func, scope, module)
                        if finished:
                            continue
                        self._deferred[id(given)] = (call, deferred)
                        yield from self._matching(given, call, given, scope, module)
            yield from self._handed_on(scope, names, module)
        yield from self._picked(scope)
        yield from self._makers(scope)

    def _calls_of_kept(self, partial: ast.Call, module: Module) -> list[ast.Call]:
        """The calls of a variable that keeps a partial, if nothing else is done with it: `fast = partial(run, n=1)`."""
        statement = up(partial)
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(target, ast.Name):
            return []
        scope = module.scope_of(target)
        if scope.is_class or (scope.is_module and len(self.evaluator.codebase.mentioning(target.id, module.path)) > 1):
            return []
        holders = [(load, up(load)) for load in module.loads(target.id)]
        calls = [holder for load, holder in holders if isinstance(holder, ast.Call) and holder.func is load]
        return calls if len(calls) == len(holders) else []

    def _reading(self, scope: Scope) -> Iterator[tuple[Arguments, Value | None]]:
        """`self.loader`, which runs the property of that name."""
        asked = 0
        for module in self._modules(scope.name, scope.module, "given"):
            for load in module.loads(scope.name):
                asked += 1
                if not isinstance(load, ast.Attribute) or asked > MOST_READ:
                    continue
                frame = self.evaluator.frame_at(load, module)
                receiver = self.receiver(load, scope, frame)
                if receiver is not None:
                    yield self.evaluator.argument_lists.no_arguments(load, frame), receiver

    def _calling(self, scope: Scope, owner: Scope) -> Iterator[tuple[Arguments, Value | None]]:
        """`Parallel(2)(jobs)`, or the same by a variable that its function has for the object."""
        for cls, made in self.constructions(owner):
            method = classes.find_method(self.evaluator, cls, scope.name)
            if method is None or method.scope is not scope:
                continue
            module, holder = made.frame.module, up(made.call)
            calls = [holder] if isinstance(holder, ast.Call) and holder.func is made.call else []
            target = holder.targets[0] if isinstance(holder, ast.Assign) and len(holder.targets) == 1 else None
            if isinstance(target, ast.Name):
                calls = [call for call in module.calls.get(target.id, ()) if self._is_named_by(call, target, module)]
            for call in calls:
                yield self.evaluator.arguments(call, self.evaluator.frame_at(call, module)), Instance(cls, made)

    def _is_named_by(self, call: ast.Call, target: ast.Name, module: Module) -> bool:
        """Whether a call is of the variable that an assignment binds."""
        bound = self.evaluator.scope_binding(target.id, module.scope_of(call))
        return isinstance(call.func, ast.Name) and bound is module.scope_of(target)

    def _operating(self, scope: Scope, owner: Scope) -> Iterator[tuple[Arguments, Value | None]]:
        """`pipeline += step`, which runs `__iadd__`."""
        for module in self._modules(owner.name, owner.module, "called"):
            for change in [change for changes in module.changes.values() for change in changes]:
                node = change.node
                if not isinstance(node, ast.AugAssign) or not isinstance(node.op, IN_PLACE[scope.name]):
                    continue
                frame = self.evaluator.frame_at(node, module)
                for value in self.evaluator.values(node.target, frame):
                    if not isinstance(value, Instance):
                        continue
                    method = classes.find_method(self.evaluator, value.cls, scope.name)
                    if method is not None and method.scope is scope:
                        operands = self.evaluator.argument_lists.operands(node, frame)
                        yield self.evaluator.argument_lists.without_first(operands), value

    def _handed_on(
        self, scope: Scope, names: Sequence[str], module: Module
    ) -> Iterator[tuple[Arguments, Value | None]]:
        """`launch(work, 2)`: what gets `work` as a parameter, and gives that to something that calls it later."""
        for load in [load for name in names for load in module.loads(name)]:
            holder = up(load)
            call = up(holder) if isinstance(holder, ast.keyword) else holder
            if not isinstance(call, ast.Call) or load is call.func or last_name(call.func) in self._by_name:
                continue
            if not may_run_project(self.evaluator, call.func, module):
                continue
            frame = self.evaluator.frame_at(call, module)
            given = next((v for v in self.evaluator.values(load, frame) if _function_of(v) is scope), None)
            for callee in self.evaluator.values(call.func, frame) if given is not None else ():
                if isinstance(callee, Class):
                    for key, method in self._kept_by(Instance(callee, self.evaluator.arguments(call, frame)), scope):
                        yield self.evaluator.arguments(key, method), None
                inner = self._inside(callee, self.evaluator.arguments(call, frame))
                if inner is None:
                    continue
                for key in self._deferred_in(inner, load):
                    yield self.evaluator.arguments(key, inner), given.receiver if isinstance(given, Method) else None

    def _picked(self, scope: Scope) -> Iterator[tuple[Arguments, Value | None]]:
        """`reader_of(kind)(path)`: what calls the result of a function that gives this one by its name."""
        for module in self._modules(scope.name, scope.module, "given"):
            loads = [load for name in module.names_of(scope.name) for load in module.loads(name)]
            returned = [load for load in loads if isinstance(up(load), ast.Return)]
            for picker in dict.fromkeys(module.scope_of(load).enclosing_function() for load in returned):
                if picker is None or picker is scope.parent:
                    continue
                for other in self._modules(picker.name, module, "called"):
                    for name in other.names_of(picker.name):
                        for call in list(other.calls.get(name, ())):
                            outer = up(call)
                            if isinstance(outer, ast.Call) and outer.func is call:
                                yield from self._matching(outer, outer, call, scope, other)

    def _kept_by(self, owner: Instance, scope: Scope) -> Iterator[tuple[ast.expr, Frame]]:
        """Where the methods of an object have called later what it was made with: `Process(target=self.work)`."""
        module = owner.cls.scope.module
        for api, deferred in self._by_name.items() if self._deferring.search(module.data) else ():
            for call in list(module.calls.get(api, ())):
                key = _given(call, deferred)
                method = module.scope_of(call).enclosing_function()
                if (
                    not isinstance(key, ast.Attribute)
                    or method is None
                    or method.enclosing_class() is not owner.cls.scope
                ):
                    continue
                if dotted(key.value) != receiver_name(method):
                    continue
                frame = self.evaluator.frame(method, None, self.evaluator.frame_of(method).closure, owner)
                if any(_function_of(value) is scope for value in self.evaluator.values(key, frame)):
                    self._deferred[id(key)] = (call, deferred)
                    yield key, frame

    def _inside(self, callee: Value, arguments: Arguments) -> Frame | None:
        if isinstance(callee, Class):
            return classes.making_frame(self.evaluator, Instance(callee, arguments))
        return self.evaluator.enter(callee, arguments) if isinstance(callee, Function | Method) else None

    def _deferred_in(self, frame: Frame, given: ast.expr) -> Iterator[ast.expr]:
        """Where a function's body has called later what one parameter was given."""
        module = frame.module
        if frame.arguments is None or not self._deferring.search(module.data):
            return
        names = {name for name, source in bound_to(frame.scope, frame.arguments) if source.node is given}
        for api, deferred in self._by_name.items() if names else ():
            for call in list(module.calls.get(api, ())):
                key = _given(call, deferred) if module.scope_of(call).enclosing_function() is frame.scope else None
                if isinstance(key, ast.Name) and key.id in names:
                    self._deferred[id(key)] = (call, deferred)
                    yield key

    def _makers(self, scope: Scope) -> Iterator[tuple[Arguments, Value | None]]:
        """`@register("name")`: the function that `register` returns is called with what is decorated."""
        outer = scope.parent
        if outer is None or not outer.is_function or isinstance(outer.node, ast.Lambda):
            return
        if not any(isinstance(r.value, ast.Name) and r.value.id == scope.name for r in outer.returns):
            return
        found: list[tuple[Arguments, Value | None]] = []
        for module in self._modules(outer.name, outer.module, "called"):
            found += self._decorating(outer, module.names_of(outer.name), module, called=True)
            if len(found) > MOST_DECORATED:
                return
        yield from found

    def _decorating(
        self, scope: Scope, names: Sequence[str], module: Module, *, called: bool = False
    ) -> Iterator[tuple[Arguments, Value | None]]:
        """The decorators that are a function, or that are what a call of it gives."""
        for name in names:
            for decorator, definition in module.decorators.get(name, ()):
                around = module.scope_of(definition)
                if around.enclosing_function() is not None or isinstance(decorator, ast.Call) is not called:
                    continue
                frame = self.evaluator.frame_of(around)
                function = decorator.func if isinstance(decorator, ast.Call) else decorator
                for value in self.evaluator.values(function, frame):
                    target = value.function if isinstance(value, Method) else value
                    if isinstance(target, Function) and target.scope is scope:
                        reference = module.reference(definition)
                        made = Arguments(reference, frame)
                        made.positional = [Source(reference, frame)]
                        yield made, None

    def _matching(
        self, key: ast.AST, call: ast.Call, callee: ast.expr, scope: Scope, module: Module
    ) -> Iterator[tuple[Arguments, Value | None]]:
        frame = self.evaluator.frame_at(call, module)
        for value in self.evaluator.values(callee, frame):
            target = value.callee if isinstance(value, Partial) else value
            function = target.function if isinstance(target, Method) else target
            if not isinstance(function, Function) or function.scope is not scope:
                continue
            arguments = self.evaluator.arguments(key, frame)
            if isinstance(value, Partial):
                arguments = self.evaluator.argument_lists.joined(value.arguments, arguments)
            yield arguments, target.receiver if isinstance(target, Method) else None
            return

    def receiver(self, call: ast.AST, scope: Scope, frame: Frame) -> Value | None:
        """The object on which a call runs a method, or on which a property is read, in a given frame of the caller."""
        if isinstance(call, ast.Attribute):
            for value in self.evaluator.values(call.value, frame):
                if isinstance(value, Instance):
                    method = classes.find_method(self.evaluator, value.cls, scope.name)
                    if method is not None and method.scope is scope:
                        return value
        elif isinstance(call, ast.Call):
            for value in self.evaluator.values(call.func, frame):
                if isinstance(value, Method) and value.function.scope is scope:
                    return value.receiver
        return None

    def constructions(self, class_scope: Scope) -> list[tuple[Class, Arguments]]:
        """The calls that make objects of a class or of a subclass that does not have its own `__init__`."""
        if not self.evaluator.asks_callers:
            return []
        return self.evaluator.once(
            (id(class_scope), "constructions"), lambda: list(islice(self._constructions(class_scope), MOST_CALLERS)), []
        )

    def _constructions(self, class_scope: Scope) -> Iterator[tuple[Class, Arguments]]:
        for module, names in self._naming(class_scope):
            for name in names:
                yield from self._making(class_scope, list(module.calls.get(name, ())), module)
        module = class_scope.module
        yield from self._making(class_scope, made_by_class_methods(class_scope), module)
        for cls in self.subclasses(class_scope):
            if not classes.own(cls, "__init__"):
                yield from self.constructions(cls.scope)

    def _making(
        self, class_scope: Scope, calls: Sequence[ast.Call], module: Module
    ) -> Iterator[tuple[Class, Arguments]]:
        for call in calls:
            frame = self.evaluator.frame_at(call, module)
            for value in self.evaluator.values(call.func, frame):
                if isinstance(value, Class) and value.scope is class_scope:
                    yield value, self.evaluator.arguments(call, frame)
                    break

    def subclasses(self, class_scope: Scope) -> Iterator[Class]:
        """The classes of the project that name a class as their base."""
        for module in self._modules(class_scope.name, class_scope.module, "derived"):
            names = module.names_of(class_scope.name)
            for node in module.classes:
                for base in node.bases:
                    bare = base.value if isinstance(base, ast.Subscript) else base
                    if last_name(bare) not in names or node is class_scope.node:
                        continue
                    scope = module.scopes[node]
                    assert scope.parent is not None
                    frame = self.evaluator.frame_of(scope.parent)
                    if any(isinstance(v, Class) and v.scope is class_scope for v in self.evaluator.values(base, frame)):
                        yield Class(scope, frame)

    def _super_inits(self, scope: Scope, below: Scope | None = None) -> Iterator[tuple[Arguments, Value | None]]:
        """The `super().__init__(...)` calls of subclasses, also past those that have no `__init__`."""
        assert scope.parent is not None
        for cls in self.subclasses(below or scope.parent):
            inits = classes.own(cls, "__init__")
            for node in inits:
                inner = cls.scope.module.scopes[node]
                frame = self.evaluator.frame(inner, None, classes.class_frame(self.evaluator, cls), None)
                arguments = classes.super_call(self.evaluator, frame, scope)
                if arguments is not None:
                    yield arguments, Instance(cls, None)
            if not inits:
                yield from self._super_inits(scope, cls.scope)

    def is_deferred(self, key: ast.AST) -> bool:
        return id(key) in self._deferred

    def deferred(self, key: ast.AST, frame: Frame) -> Arguments | None:
        """The arguments that a function gets which is given to something that calls it."""
        if id(key) not in self._deferred:
            return None
        call, spec = self._deferred[id(key)]
        given = self.evaluator.arguments(call, frame)
        made = Arguments(key, frame)
        made.positional = [Source(UNSEEN, frame)] * spec.leading
        if spec.arguments == "rest":
            made.positional += given.positional[spec.position + 1 :]
            made.keywords = dict(given.keywords)
            made.open_positional, made.open_keywords = (
                given.open_positional or spec.open,
                given.open_keywords or spec.open,
            )
        elif spec.arguments in ("args", "second"):
            self._spread(given.get(spec.args_index, "args"), made)
            keywords = given.get(spec.args_index + 1, "kwargs") or given.keywords.get("kwds")
            if keywords is not None:
                self._spread_keywords(keywords, made)
        elif spec.arguments == "each" and len(given.positional) > 1 and not given.is_open and not given.keywords:
            made.positional += [Source(UNSEEN, frame)] * (len(given.positional) - 1)
        else:
            made.open_positional = made.open_keywords = True
        return made

    def _spread(self, source: Source | None, made: Arguments) -> None:
        if source is None:
            return
        values = self.evaluator.of(source)
        if len(values) == 1 and isinstance(values[0], Collection) and values[0].complete:
            made.positional += [item for _, item in self.evaluator.items(values[0])]
        else:
            made.open_positional = True

    def _spread_keywords(self, source: Source, made: Arguments) -> None:
        for value in self.evaluator.of(source):
            if isinstance(value, Collection):
                made.keywords.update({key: item for key, item in self.evaluator.items(value) if isinstance(key, str)})
            else:
                made.open_keywords = True

    def _naming(self, scope: Scope) -> Iterator[tuple[Module, list[str]]]:
        """The modules that may call a function or class, with its names there."""
        seen: set[str] = set()
        for name, home in self.evaluator.codebase.known_as(scope.name, scope.module.path):
            module = self.evaluator.codebase.module(home) if seen else scope.module
            for user in self._modules(name, module, "called") if module is not None else ():
                if user.path not in seen:
                    seen.add(user.path)
                    yield user, user.names_of(name)
        if scope.parent is not None and scope.parent.is_class:
            codebase = self.evaluator.codebase
            for path in self._launchers_beside(scope.module.path):
                if path not in seen and "given" in codebase.uses(path, scope.name):
                    launcher = codebase.module(path)
                    if launcher is not None:
                        yield launcher, [scope.name]

    def _launchers_beside(self, path: str) -> list[str]:
        """What a module or its users import and may call later methods of objects that they hand to it."""
        if path not in self._launchers:
            codebase = self.evaluator.codebase
            users = [path, *codebase.importers(path)]
            beside = dict.fromkeys(other for user in users[:MOST_MODULES] for other in codebase.imports(user))
            found = [other for other in beside if codebase.matches(other, self._deferring)]
            self._launchers[path] = found if len(found) <= MOST_CALLERS else []
        return self._launchers[path]

    def _modules(self, name: str, module: Module, use: str) -> Iterator[Module]:
        """The modules that use a name in some way, or under another name, going by their bytes."""
        codebase = self.evaluator.codebase
        paths = codebase.mentioning(name, module.path)
        if len(paths) > MOST_MODULES:
            paths = [module.path]
        using = [path for path in paths if self._may_use(path, name, use)]
        for path in codebase.worth_parsing(using, module.path, MOST_BYTES):
            found = codebase.module(path)
            if found is not None:
                yield found

    def _may_use(self, path: str, name: str, use: str) -> bool:
        codebase = self.evaluator.codebase
        uses = codebase.uses(path, name)
        if use in uses or "renamed" in uses:
            return True
        if use != "called" or "given" not in uses:
            return False
        return any(codebase.matches(other, self._deferring) for other in (path, *codebase.imports(path)))


@cache
def _deferring(names: tuple[str, ...]) -> source.Words:
    """A call of something that may be given a function to call later."""
    return source.Words(rf"(?:{'|'.join(names)})\s*\(".encode(), [name.encode() for name in names])


def _function_of(value: Value) -> Scope | None:
    function = value.function if isinstance(value, Method) else value
    return function.scope if isinstance(function, Function) else None


def _given(call: ast.Call, deferred: Deferred) -> ast.expr | None:
    for keyword in call.keywords:
        if deferred.keyword and keyword.arg == deferred.keyword:
            return keyword.value
    if len(call.args) > deferred.position and not any(
        isinstance(a, ast.Starred) for a in call.args[: deferred.position + 1]
    ):
        return call.args[deferred.position]
    return None
