"""What an object keeps in its attributes when workers start, by what the parent's code stores and clears until then."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flake8_torchmp.boundary.circumstances.construction import CONSTRUCTION
from flake8_torchmp.boundary.loading.datasets import stays_in_its_function
from flake8_torchmp.boundary.loading.handing_order import HandingOrder, is_dropped_behind
from flake8_torchmp.boundary.starting.import_time import has_tests
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import attributes, classes, stores
from flake8_torchmp.semantics.callees import may_run_project
from flake8_torchmp.semantics.calls import Frame, is_property, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, dotted, is_called, up
from flake8_torchmp.semantics.scopes import Change, Place, Scope
from flake8_torchmp.semantics.values import Class, Instance, Unknown

from .method_runs import Kept, MethodRun, Store, excludes, is_empty


class Lifetimes:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, workers: Workers) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.workers = workers
        self.order = HandingOrder(evaluator, workers.crossings)
        self.forget()

    def forget(self) -> None:
        self._kept: dict[Place, Kept] = {}
        self._events: dict[tuple[str, str], dict[int, Change]] = {}
        self._worker_scopes: dict[Place, list[Scope]] = {}

    def kept(self, cls: Class) -> Kept:
        """What an object of a class keeps once the parent has made it and called what it calls of it."""
        key = cls.scope.place
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = {}
            self.evaluator.alone(lambda: self._keep(cls, known))
        return known

    def _keep(self, cls: Class, kept: Kept) -> None:
        run = MethodRun(self, cls, kept)
        for name in CONSTRUCTION:
            run.method(name)
        if classes.find_method(self.outline, cls, "__getitem__") is not None and self._is_measured(cls):
            run.method("__len__")
        for scope in self._called_from_outside(cls, run):
            run.scope(scope)
        if self._is_tried_in_parent(cls):
            run.method("__getitem__")

    def frame(self, store: Store, instance: Instance) -> Frame:
        frame = attributes.store_frame(self.evaluator, instance, store.cls, store.method)
        return self.evaluator.frame_in(store.cls.scope.module.scope_of(store.value), frame)

    def _called_from_outside(self, cls: Class, run: MethodRun) -> Iterator[Scope]:
        """The methods not run so far that store something and that other code of the parent calls."""
        for owner in classes.project_classes(self.outline, cls):
            for statement in owner.node.body:
                if not isinstance(statement, ast.FunctionDef) or statement.name in _BEHIND or not statement.args.args:
                    continue
                scope = owner.scope.module.scopes[statement]
                if scope.place in run.seen or not self._may_open(scope, cls):
                    continue
                if self._is_used_in_parent(statement.name, cls):
                    yield scope

    def _may_open(self, scope: Scope, cls: Class) -> bool:
        trial: Kept = {}
        MethodRun(self, cls, trial).scope(scope)
        return any(_is_made_in(store.value, scope) for kept in trial.values() for store in kept)

    def _is_measured(self, cls: Class) -> bool:
        """Whether the parent asks for the length: a loader's sampler of its dataset, other code of what that holds."""
        datasets = self.workers.datasets
        return datasets.is_dataset(cls) or datasets.loaders.are_given(cls) or self._is_used_in_parent("__len__", cls)

    def _is_used_in_parent(self, name: str, cls: Class) -> bool:
        """Whether code that does not run in workers, and is not of the class, calls or reads a method."""
        codebase = self.evaluator.codebase
        for path in codebase.mentioning(cls.scope.name, cls.scope.module.path):
            module = codebase.module(path) if name in _IMPLIED or codebase.reads(path, name) else None
            if module is not None and self._is_test_without_loaders(module):
                continue
            for node, base in _uses(name, module) if module is not None else ():
                assert module is not None
                around = module.scope_of(node).enclosing_function()
                if around is not None and (around.name in _AT_THE_END or _is_method_of(around, cls, self.outline)):
                    continue
                if name != "__enter__" and self.order.comes_after(node, module, around, dotted(base)):
                    continue
                if is_dropped_behind(node, dotted(base)):
                    continue
                if self._is_left_to_workers(node, name, module):
                    continue
                if isinstance(node, ast.With) and self._is_closed_again(node, base, cls, module):
                    continue
                if self._may_be(cls, base, module) and not (around is not None and self.workers.runs(around)):
                    return True
        return False

    def _is_test_without_loaders(self, module: Module) -> bool:
        """What a test calls of an object that it keeps for itself tells nothing about programs with workers."""
        return has_tests(module) and not self.workers.crossings.may_make_loaders(module.path)

    def _is_closed_again(self, block: ast.With, entered: ast.expr, cls: Class, module: Module) -> bool:
        """Whether a block does no more than to call methods of the object, whose `__exit__` closes what it opened."""
        trial: Kept = {}
        run = MethodRun(self, cls, trial)
        for name in ("__enter__", "__exit__"):
            run.method(name)
        if any(trial.values()):
            return False
        given = [item.optional_vars for item in block.items if item.context_expr is entered and item.optional_vars]
        names = {dotted(name) for name in (entered, *given)} - {""}
        nodes = [node for statement in block.body for node in ast.walk(statement)]
        own = [node for node in nodes if dotted(node) in names]
        others = (node for node in nodes if isinstance(node, ast.Call) and _owner(node) not in names)
        return (
            all(self._is_call_of_own(node, cls) for node in own)
            and not any(isinstance(node, ast.For | ast.comprehension) for node in nodes)
            and not any(may_run_project(self.outline, call.func, module) for call in others)
            and not any(crossing.call in nodes for crossing in self.workers.crossings.of(module))
        )

    def _is_call_of_own(self, node: ast.AST, cls: Class, depth: int = 3) -> bool:
        """Whether an object is named to read data of it, or to call a method that itself hands it to nobody."""
        holder = up(node)
        if not isinstance(holder, ast.Attribute):
            return False
        found = classes.find_method(self.outline, cls, holder.attr)
        if found is None:
            return True
        own = receiver_name(found.scope)
        return (
            depth > 0
            and is_called(holder)
            and all(
                self._is_call_of_own(inner, cls, depth - 1) for inner in body_nodes(found.node) if dotted(inner) == own
            )
        )

    def _is_left_to_workers(self, node: ast.AST, name: str, module: Module) -> bool:
        """Whether a method is handed over there, `Process(target=job.go)`, or called where another branch does so."""
        references = [read for read in module.read.get(name, ()) if not is_called(read)]
        if not references:
            return False
        handed = self._handed_over(references, module)
        return bool(handed) and all(read is node or excludes(node, read) for read in handed)

    def runs_behind(self, method: Scope, depth: int = 3) -> bool:
        """Whether a function is only handed over to workers, and called by functions that are."""
        codebase = self.evaluator.codebase
        runs_when_read = is_property(method.node)
        name = method.name
        found = False
        for path in self._files_reading(method):
            module = codebase.module(path)
            for node in module.read.get(name, ()) if module is not None else ():
                assert module is not None
                around = module.scope_of(node).enclosing_function()
                if around is method or (around is not None and self._is_of_other_object(node, around, method)):
                    continue
                found = True
                if not runs_when_read and (
                    self._handed_over([node], module) or self._is_left_to_workers(node, name, module)
                ):
                    continue
                if depth == 0 or around is None or not self.runs_behind(around, depth - 1):
                    return False
        return found

    def _files_reading(self, method: Scope) -> list[str]:
        """The files that may call a method: those that know its class, or those that know its object by what it can."""
        codebase, name, home = self.evaluator.codebase, method.name, method.module.path
        found = codebase.mentioning(name, home)
        if method.enclosing_class() is not None:
            around = set(codebase.reachable(codebase.users([home])))
            found = sorted({*found, *(path for path in codebase.holding(name.encode()) if path in around)})
        return [path for path in found if codebase.reads(path, name)]

    def _is_of_other_object(self, node: ast.AST, around: Scope, method: Scope) -> bool:
        """Whether a method calls one of that name of its own object, which is of no class with this one."""
        owner = method.enclosing_class()
        if owner is None or not isinstance(node, ast.Attribute) or dotted(node.value) != receiver_name(around):
            return False
        if owner.parent is None or around.enclosing_class() is None:
            return False
        return not _is_method_of(around, Class(owner, self.outline.frame_of(owner.parent)), self.outline)

    def handed_over_in(self, scope: Scope, receiver: str) -> list[ast.AST]:
        """The methods of an object that one of its own hands over: `mp.spawn(self.run, …)`."""
        module = scope.module
        bound = [
            node
            for node in body_nodes(scope.node, nested=False)
            if isinstance(node, ast.Attribute) and dotted(node.value) == receiver and not is_called(node)
        ]
        if not bound or not self.evaluator.codebase.matches(module.path, apis.OWN_WORDS):
            return []
        return self._handed_over(bound, module)

    def _handed_over(self, nodes: Iterable[ast.AST], module: Module) -> list[ast.AST]:
        """Those of some expressions that are given to workers as they stand."""
        given = {id(crossing.source.node) for crossing in self.workers.crossings.of(module)}
        return [node for node in nodes if id(node) in given]

    def _may_be(self, cls: Class, expression: ast.expr, module: Module) -> bool:
        """Whether an expression can be an object of a class; what definitions tell is asked first."""
        for evaluator in (self.outline, self.evaluator):
            values = evaluator.values(expression, evaluator.frame_at(expression, module))
            if any(
                isinstance(value, Instance)
                and any(item.scope is cls.scope for item in classes.project_classes(evaluator, value.cls))
                for value in values
            ):
                return True
            if not any(isinstance(value, Unknown) for value in values):
                return False
        return False

    def _is_tried_in_parent(self, cls: Class) -> bool:
        """`dataset[0]` before there is a loader."""
        for _, arguments in self.evaluator.callers.constructions(cls.scope):
            holder = up(arguments.call)
            targets = holder.targets if isinstance(holder, ast.Assign) else []
            module = arguments.frame.module
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                for read in module.read.get(name, ()):
                    use = up(read)
                    around = module.scope_of(read).enclosing_function()
                    if (
                        isinstance(use, ast.Subscript)
                        and use.value is read
                        and isinstance(use.ctx, ast.Load)
                        and around is module.scope_of(arguments.call).enclosing_function()
                        and not self.order.comes_after(use, module, around, name)
                        and not self.order.stays_in_parent(name, module, around)
                        and not stays_in_its_function(read, module, self.evaluator)
                    ):
                        return True
        return False

    def change_at(self, module: Module, receiver: str) -> dict[int, Change]:
        key = (module.path, receiver)
        known = self._events.get(key)
        if known is None:
            known = self._events[key] = {
                id(change.node): change for change in module.changes.get(receiver, ()) if change.kind != "delete"
            }
        return known

    # the other side

    def worker_scopes(self, cls: Class) -> list[Scope]:
        """What runs in a worker because it has an object of a class."""
        key = cls.scope.place
        known = self._worker_scopes.get(key)
        if known is None:
            known = self._worker_scopes[key] = []
            pending = [
                (method, Instance(cls, None))
                for name in ("__getitem__", "__getitems__", "__iter__", "__next__", "__call__", "get", "run", "forward")
                if (method := classes.find_method(self.outline, cls, name)) is not None
            ]
            seen: set[Place] = set()
            while pending and len(seen) < 60:
                function, receiver = pending.pop(0)
                if function.scope.place in seen:
                    continue
                seen.add(function.scope.place)
                known.append(function.scope)
                pending += [
                    (callee, receiver)
                    for callee, on, _ in self.workers.called.of(function.scope, receiver)
                    if isinstance(on, Instance)
                ]
        return known

    def is_read_by_worker(self, cls: Class, attribute: str) -> bool:
        """Whether worker code of a class uses what the parent put into an attribute, and not its own."""
        uses = False
        for scope in self.worker_scopes(cls):
            if asks_in_which_process(scope):
                return False
            for node in body_nodes(scope.node):
                if isinstance(node, ast.Attribute) and node.attr == attribute:
                    if isinstance(node.ctx, ast.Store) and not any(True for _ in conditions(node)):
                        return False
                    uses = uses or isinstance(node.ctx, ast.Load)
        return uses and not self._is_set_up(cls, attribute)

    def _is_set_up(self, cls: Class, attribute: str) -> bool:
        """Whether a `worker_init_fn` opens it anew: by storing it, or by a method of the class that does."""
        openers = {
            method.name
            for owner in classes.project_classes(self.outline, cls)
            for change, method in stores.by_attribute(owner).get(attribute, ())
            if change.value is not None and not is_empty(change.value)
        } - {"__init__"}
        for path in self.evaluator.codebase.users([cls.scope.module.path]):
            codebase = self.evaluator.codebase
            module = codebase.module(path) if b"worker_init_fn" in codebase.data(path) else None
            for worker in self.workers.of(module) if module is not None else ():
                if worker.kind != "initializer":
                    continue
                for node in body_nodes(worker.scope.node):
                    if isinstance(node, ast.Attribute) and (
                        (node.attr == attribute and isinstance(node.ctx, ast.Store)) or node.attr in openers
                    ):
                        return True
        return False

    def asks_for_process(self, cls: Class, attribute: str) -> bool:
        """Whether a class asks in which process it is where it uses an attribute, or where it calls what stores it."""
        owners = classes.project_classes(self.outline, cls)
        asking = {
            method.name: method
            for owner in owners
            for method in owner.node.body
            if isinstance(method, ast.FunctionDef) and asks_in_which_process(owner.scope.module.scopes[method])
        }
        if not asking:
            return False
        stored = [found for owner in owners for found in stores.by_attribute(owner).get(attribute, ())]
        storing = {scope.name for _, scope in stored if scope.name != "__init__"}
        if any(_mentions(body_nodes(method), {attribute, *storing}) for method in asking.values()):
            return True
        tests = (test for change, _ in stored for test, _ in conditions(change.target))
        return any(_mentions(ast.walk(test), {*asking}) for test in tests)

    def calls_in_construction(self, cls: Class, attribute: str) -> bool:
        """Whether making an object already calls methods of what it keeps in an attribute."""
        for name in CONSTRUCTION:
            method = classes.find_method(self.outline, cls, name)
            for node in body_nodes(method.node) if method is not None else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    owner = node.func.value
                    if isinstance(owner, ast.Attribute) and owner.attr == attribute and node.func.attr not in _SETTERS:
                        return True
        return False


_IMPLIED = ("__enter__", "__len__")
"""Methods that code runs without naming them."""

_SETTERS = frozenset("mount update close headers".split())
"""Methods of a session that send nothing."""

_AT_THE_END = ("__exit__", "__del__")

_BEHIND = frozenset(
    "__getitem__ __getitems__ __iter__ __next__ __setstate__ __getstate__ __reduce__ __del__ __exit__ run".split()
)
"""Methods that run in workers, or when all is over."""


def _owner(call: ast.Call) -> str:
    """`journal` of `journal.write(text)`."""
    return dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _uses(name: str, module: Module) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Where a method may be called: the node, and the expression for the object."""
    if name == "__enter__":
        for node in ast.walk(module.tree):
            if isinstance(node, ast.With):
                yield from ((node, item.context_expr) for item in node.items)
        return
    if name == "__len__":
        yield from ((call, call.args[0]) for call in module.calls.get("len", ()) if call.args)
        return
    for node in module.read.get(name, ()):
        if isinstance(node, ast.Attribute):
            yield node, node.value


def _is_method_of(function: Scope, cls: Class, outline: Evaluator) -> bool:
    """Whether a function is a method of a class, of one above it or of one below it."""
    owner = function.enclosing_class()
    if owner is None:
        return False
    if any(item.scope is owner for item in classes.project_classes(outline, cls)):
        return True
    below = Class(owner, outline.frame_of(owner.parent)) if owner.parent is not None else None
    return below is not None and any(item.scope is cls.scope for item in classes.project_classes(outline, below))


def asks_in_which_process(scope: Scope) -> bool:
    """`os.getpid()`: its author knows that it may run in another process."""
    for name in ("getpid", "current_process"):
        for call in scope.module.calls.get(name, ()):
            if scope.module.scope_of(call).enclosing_function() is scope:
                return True
    return False


def _mentions(nodes: Iterable[ast.AST], attributes: set[str]) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in attributes for node in nodes)


def _is_made_in(value: ast.expr | None, method: Scope) -> bool:
    """Whether a call in a method makes a value, also under a name: `job = Process(…); self.jobs.append(job)`."""
    if not isinstance(value, ast.Name):
        return isinstance(value, ast.Call)
    return any(isinstance(binding.value, ast.Call) for binding in method.bindings.get(value.id, ()))
