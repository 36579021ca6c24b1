"""Persistent workers: what the parent changes in a dataset of which they keep the copy that they started with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.boundary.crossing.crossings import Crossing, Crossings
from flake8_torchmp.boundary.working.workers import Workers
from flake8_torchmp.semantics import attributes, classes
from flake8_torchmp.semantics.calls import Frame, has_receiver, is_cached_property, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import LOOPS, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, dotted, is_none, last_name, position, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    Function,
    Instance,
    Method,
    Result,
    Unknown,
    Value,
)

from .object_state import ObjectState

REBINDING = frozenset(("attribute",))
CHANGING = frozenset(("attribute", "item", "augmented", "method"))
_PERSISTENT = re.compile(rb"persistent_workers")
_RELOADED = re.compile(rb"reload_dataloaders_every|_iterator\b")
"""Somebody makes the loaders, or their iterators, anew."""
_EPOCH_HOOK = re.compile(r"on_(train_|training_)?epoch_(start|begin|end)|(training|train)_epoch_(start|end)")
"""Methods that Lightning, Keras-like and Hugging Face trainers call once an epoch."""
TRAINING_LOADERS = frozenset("loader dataloader data_loader train_loader train_dataloader training_loader".split())
ITERATING = frozenset("list tuple sum iter next enumerate zip tqdm".split())


class ParentChange(NamedTuple):
    """A place where the parent changes a dataset, and the ways that lead there."""

    node: ast.AST
    module: Module
    attribute: str
    frames: list[Frame]


class KeptWorkers:
    def __init__(
        self,
        outline: Evaluator,
        evaluator: Evaluator,
        crossings: Crossings,
        workers: Workers,
        object_state: ObjectState,
    ) -> None:
        self.outline = outline
        self.evaluator = evaluator
        self.crossings = crossings
        self.workers = workers
        self.object_state = object_state

    def missed(self, module: Module) -> Iterator[tuple[ast.AST, Module, str, Crossing]]:
        """Changes that the project makes to datasets of a module's loaders whose workers stay as they are."""
        if not _PERSISTENT.search(module.data):
            return
        codebase = self.evaluator.codebase
        for crossing in self.crossings.of(module):
            is_kept = crossing.parameter.role == "dataset" or crossing.parameter.keyword == "collate_fn"
            if not is_kept or not crossing.has_workers or not self._persists(crossing):
                continue
            near = codebase.reachable(codebase.users([module.path]))
            if any(codebase.matches(path, _RELOADED) for path in near):
                return
            for hanging in crossing.hanging:
                value = hanging.value.receiver if isinstance(hanging.value, Method) else hanging.value
                if isinstance(value, Instance):  # the dataset, what it holds, such as its transform, or a collator
                    for change in self._changed_near(value, near):
                        if self._comes_later(change, crossing):
                            yield change.node, change.module, change.attribute, crossing

    def _changed_near(self, dataset: Instance, paths: list[str]) -> Iterator[ParentChange]:
        cls = dataset.cls
        setters = self._setters(cls)
        names = {b"." + name.encode() for name in (*setters, *self._read_by_workers(cls))}
        for path in paths:
            data = self.evaluator.codebase.data(path)
            module = self.evaluator.codebase.module(path) if any(name in data for name in names) else None
            if module is not None:
                for base, node, attribute in self._changed_in(cls, setters, module):
                    frames = self._frames_of(base, node, dataset, module)
                    if frames:
                        yield ParentChange(node, module, attribute, frames)

    def _persists(self, crossing: Crossing) -> bool:
        source = self.evaluator.arguments(crossing.call, crossing.frame).keywords.get("persistent_workers")
        if source is None:
            return False
        is_asked = isinstance(source.node, ast.Call) and last_name(source.node.func) == "bool"
        if is_asked or isinstance(source.node, ast.Compare | ast.BoolOp):  # `workers > 0`
            return True
        return any(isinstance(v, Constant) and v.value is True for v in self.evaluator.of(source))

    # what is changed

    def _changed_in(
        self, cls: Class, setters: dict[str, list[tuple[str, bool]]], module: Module
    ) -> Iterator[tuple[ast.expr, ast.AST, str]]:
        """What may be changes of an object of a class: the object, the place and the attribute."""
        for name, stored_by_it in setters.items():
            calls = [c for c in module.calls.get(name, ()) if isinstance(c.func, ast.Attribute)]
            read = [a for a, rebinds in stored_by_it if self._matters(cls, a, rebinds)] if calls else []
            for call in calls if read else ():
                assert isinstance(call.func, ast.Attribute)
                yield call.func.value, call, read[0]
        for changes in list(module.changes.values()):
            for change in changes:
                base: Any = change.target
                attribute = change.name
                if change.kind != "attribute":
                    while isinstance(base, ast.Subscript):
                        base = base.value
                    if not isinstance(base, ast.Attribute) or change.kind not in CHANGING:
                        continue
                    base, attribute = base.value, base.attr
                if change.kind == "attribute" and attribute in setters:  # a property that stores it
                    stored = [a for a, rebinds in setters[attribute] if self._matters(cls, a, rebinds)]
                    if stored:
                        yield base, change.node, stored[0]
                elif self._matters(cls, attribute, change.kind in REBINDING):
                    yield base, change.node, attribute

    def _setters(self, cls: Class) -> dict[str, list[tuple[str, bool]]]:
        """The methods that change their object: which attributes, and whether they bind them anew."""
        found: dict[str, list[tuple[str, bool]]] = {}
        called: dict[str, set[str]] = {}
        for item in classes.project_classes(self.outline, cls):
            for bindings in item.scope.bindings.values():
                for binding in bindings:
                    method = item.scope.module.scopes.get(binding.node) if binding.kind == "def" else None
                    if method is None or not has_receiver(method) or binding.name.startswith("__"):
                        continue
                    found.setdefault(binding.name, []).extend(
                        (name, change.kind in REBINDING and isinstance(change.target, ast.Name))
                        for change, name in self.object_state.own_changes(method)
                        if change.kind in CHANGING
                    )
                    called.setdefault(binding.name, set()).update(_own_calls(method))
        for name, others in called.items():
            found[name] += [pair for other in sorted(others - {name}) for pair in found.get(other, ())]
        return found

    def _matters(self, cls: Class, attribute: str, rebinds: bool) -> bool:
        """Whether worker code reads an attribute, which is bound anew or holds something that is copied."""
        if attribute not in self._read_by_workers(cls):
            return False
        owners = classes.project_classes(self.outline, cls)
        if rebinds:
            return not any(b.kind == "def" for item in owners for b in item.scope.bindings.get(attribute, ()))
        return self.object_state.is_plain(Instance(cls, None), attribute)

    def _read_by_workers(self, cls: Class) -> set[str]:
        """The attributes of its own that a dataset's worker code reads."""
        found: set[str] = set()
        for item in classes.project_classes(self.outline, cls):
            methods = [item.scope.module.scopes.get(b.node) for bs in item.scope.bindings.values() for b in bs]
            for method in methods:
                if method is not None and method.is_function and self.workers.runs(method):
                    found |= {
                        node.attr
                        for node in body_nodes(method.node)
                        if isinstance(node, ast.Attribute)
                        and isinstance(node.value, ast.Name)
                        and node.value.id == receiver_name(method)
                    }
        return found

    def _frames_of(self, base: ast.expr, node: ast.AST, dataset: Instance, module: Module) -> list[Frame]:
        """The ways in which parent code comes to a place where an expression is a dataset, or its like."""
        scope = module.scope_of(node)
        function = scope.enclosing_function()
        owners = [item.scope for item in classes.project_classes(self.outline, dataset.cls)]
        if function is not None and (function.enclosing_class() in owners or self.workers.runs(function)):
            return []
        objects = [(frame, self._objects(base, frame)) for frame in self.evaluator.contexts(scope)]
        if _is_of_loader_in_hook(base, function) and all(
            isinstance(v, Unknown) for _, values in objects for v in values
        ):
            return [self.evaluator.frame_of(scope)]
        return [frame for frame, values in objects if any(_may_be_same(value, dataset) for value in values)]

    def _objects(self, node: ast.expr, frame: Frame, depth: int = 4) -> list[Value]:
        """What an expression can be; a loader's, subset's or concatenation's datasets are what it was given."""
        if depth == 0:
            return []
        if isinstance(node, ast.Attribute) and node.attr in ("dataset", "datasets"):
            given: list[Value] = []
            for value in self._objects(node.value, frame, depth - 1):
                source = value.arguments.get(0, node.attr) if isinstance(value, Result) else None
                given += self.evaluator.of(source) if source is not None else ()
            if given:
                return given
        elif isinstance(node, ast.Attribute) and ".dataset" in dotted(node.value):  # `loader.dataset.transform`
            owners = [v for v in self._objects(node.value, frame, depth - 1) if isinstance(v, Instance)]
            held = [v for owner in owners for v in attributes.attribute(self.evaluator, owner, node.attr)]
            if held:
                return held
        holder = _taken_from(node)
        if holder is not None:
            taken = [v for h in self._objects(holder, frame, depth - 1) for v in self._elements(h)]
            if taken:
                return taken
        return list(self.evaluator.values(node, self.evaluator.frame_in(frame.module.scope_of(node), frame)))

    def _elements(self, value: Value) -> Iterator[Value]:
        if isinstance(value, Collection):
            for _, source in self.evaluator.items(value):
                yield from self.evaluator.of(source)

    # when

    def _comes_later(self, change: ParentChange, crossing: Crossing) -> bool:
        """Whether a change can come when the workers have started, which nobody starts anew with it."""
        node, module = change.node, change.module
        if _is_through_with(crossing, node, module):
            return False
        places = self._places(crossing)
        making = [place for place, _ in places]
        function = module.scope_of(node).enclosing_function()
        here = [place for place, m in places if m is module and m.scope_of(place).enclosing_function() is function]
        if here and all(position(node) < position(place) for place in here):
            return False
        if crossing.call in here:
            return bool(_is_repeated(node, making)) or self._is_iterated_between(crossing, node)
        if all(_is_before(node, frame, places) for frame in change.frames):
            return False
        answers = [_is_repeated_on_the_way(node, frame, making) for frame in change.frames]
        if any(answers) or False in answers:
            return any(answers)
        by_loader = any(isinstance(n, ast.Attribute) and n.attr == "dataset" for n in ast.walk(node))
        return by_loader or (function is not None and _EPOCH_HOOK.fullmatch(function.name) is not None)

    def _places(self, crossing: Crossing) -> list[tuple[ast.AST, Module]]:
        """Where the loader is made: the call itself, and the calls of the functions around it."""
        found: list[tuple[ast.AST, Module]] = [(crossing.call, crossing.module)]
        function = crossing.module.scope_of(crossing.call).enclosing_function()
        if _is_made_once(crossing.call) or (function is not None and is_cached_property(function.node)):
            return found
        pending = [(function, 3)]
        while pending:
            function, depth = pending.pop()
            for arguments, _ in self.evaluator.callers.of(function) if function is not None and depth else ():
                found.append((arguments.call, arguments.frame.module))
                outer = arguments.frame.module.scope_of(arguments.call).enclosing_function()
                pending.append((outer, depth - 1))
        return found

    def _is_iterated_between(self, crossing: Crossing, node: ast.AST) -> bool:
        """Whether the loader was iterated between the place where it is made and another, and is again after that."""
        statement = up(crossing.call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if len(targets) != 1 or not isinstance(targets[0], ast.Name | ast.Attribute):
            return False
        text = ast.unparse(targets[0])
        module = crossing.module
        function = module.scope_of(crossing.call).enclosing_function()
        places = [
            position(load)
            for load in module.loads(last_name(targets[0]))
            if ast.unparse(load) == text
            and module.scope_of(load).enclosing_function() is function
            and (_is_iterated(load) or self._is_iterated_by_callee(load, module))
        ]
        made, changed = position(crossing.call), position(node)
        return any(made < place < changed for place in places) and any(place > changed for place in places)

    def _is_iterated_by_callee(self, loader: ast.expr, module: Module) -> bool:
        """`evaluate(model, loader)`, where the function loops over its parameter."""
        call = up(loader)
        if not isinstance(call, ast.Call) or loader not in call.args:
            return False
        for callee in self.outline.values(call.func, self.outline.frame_at(call, module)):
            function = callee.function if isinstance(callee, Method) else callee
            if isinstance(function, Function):
                place = call.args.index(loader) + isinstance(callee, Method)
                names = [p.name for p in parameters(function.node).values() if p.index == place]
                loads = [load for name in names for load in function.scope.module.loads(name)]
                if any(_is_iterated(load) and function.node in ancestors(load) for load in loads):
                    return True
        return False


def _is_made_once(call: ast.AST) -> bool:
    """`if self.loader is None: self.loader = DataLoader(…)`, which runs once however often it is come by."""
    statement = up(call)
    targets = {dotted(target) for target in statement.targets} if isinstance(statement, ast.Assign) else set()
    return any(
        isinstance(test, ast.Compare)
        and dotted(test.left) in targets
        and isinstance(test.ops[0], ast.Is if holds else ast.IsNot)
        and is_none(test.comparators[0])
        for test, holds in facts_at(call)
    )


def _own_calls(method: Scope) -> Iterator[str]:
    """The names of the methods that a method calls on its own object."""
    for node in body_nodes(method.node):
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(func, ast.Attribute) and dotted(func.value) == receiver_name(method):
            yield func.attr


def _is_through_with(crossing: Crossing, node: ast.AST, module: Module) -> bool:
    """Whether the function around a place has iterated the loader that it made, and then loops without it."""
    function = module.scope_of(node).enclosing_function()
    loop = next((item for item in ancestors(node) if isinstance(item, LOOPS)), None)
    place, frame = crossing.call, crossing.frame
    while frame.module is not module or module.scope_of(place).enclosing_function() is not function:
        if frame.arguments is None or not isinstance(frame.arguments.call, ast.Call):
            return False
        place, frame = frame.arguments.call, frame.arguments.frame
    if loop is None or _holds(loop, [place]):
        return False
    statement = up(place)
    if not isinstance(statement, ast.Assign):
        return _is_iterated(place)
    name = statement.targets[0]
    loads = module.loads(name.id) if isinstance(name, ast.Name) and len(statement.targets) == 1 else []
    own = [load for load in loads if function is None or function.node in ancestors(load)]
    return bool(own) and all(
        _is_iterated(load) and not _holds(loop, [load]) and module.scope_of(load).enclosing_function() is function
        for load in own
    )


def _is_before(node: ast.AST, frame: Frame, places: list[tuple[ast.AST, Module]]) -> bool:
    """Whether a function that leads to a place is called before another, beside it, that makes the loader."""
    while frame.arguments is not None:
        node, frame = frame.arguments.call, frame.arguments.frame
        function = frame.module.scope_of(node).enclosing_function()
        for place, module in places:
            is_beside = module is frame.module and module.scope_of(place).enclosing_function() is function
            if is_beside and position(node) < position(place) and node not in ancestors(place):
                return not any(isinstance(item, LOOPS) and _holds(item, [place]) for item in ancestors(node))
    return False


def _is_of_loader_in_hook(base: ast.expr, function: Scope | None) -> bool:
    """`trainer.train_dataloader.dataset`, of the trainer that calls a hook each epoch."""
    if function is None or _EPOCH_HOOK.fullmatch(function.name) is None or last_name(base) != "dataset":
        return False
    owner, _, loader = dotted(base).removesuffix(".dataset").rpartition(".")
    given = parameters(function.node) if isinstance(function.node, FUNCTIONS) else {}
    return owner.partition(".")[0] in given and loader in TRAINING_LOADERS


def _is_repeated(node: ast.AST, making: list[ast.AST]) -> bool | None:
    """Whether the nearest loop around a place repeats it without making the loader anew; None without a loop."""
    for item in ancestors(node):
        if isinstance(item, LOOPS) and not _is_over_parts(item, node):
            return not _holds(item, making)
    return None


def _is_repeated_on_the_way(node: ast.AST, frame: Frame, making: list[ast.AST]) -> bool | None:
    """The same for all calls that lead to a place; None where nobody is seen to call."""
    repeated = _is_repeated(node, making)
    current, is_called = frame, False
    while repeated is None and current.arguments is not None:
        is_called = True
        repeated = _is_repeated(current.arguments.call, making)
        current = current.arguments.frame
    return False if repeated is None and is_called else repeated


def _may_be_same(value: Value, dataset: Instance) -> bool:
    """Whether a value is an object of a dataset's class, and is not seen to be made elsewhere."""
    if not isinstance(value, Instance) or value.cls.scope is not dataset.cls.scope:
        return False
    if value.arguments is None or dataset.arguments is None:
        return True
    return value.arguments.call is dataset.arguments.call


def _holds(loop: ast.AST, nodes: list[ast.AST]) -> bool:
    return any(item is loop for node in nodes for item in ancestors(node))


def _is_over_parts(loop: ast.AST, node: ast.AST) -> bool:
    """`for part in loader.dataset.datasets: part.stage = …` repeats nothing."""
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} if isinstance(loop, ast.For) else set()
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(_base(node)))


def _base(node: Any) -> ast.AST:
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node  # type: ignore[no-any-return]


def _is_iterated(node: ast.AST) -> bool:
    child, parent = node, up(node)
    while isinstance(parent, ast.Call) and child in parent.args and last_name(parent.func) in ITERATING:
        child, parent = parent, up(parent)
    if child is not node:
        return True
    return isinstance(parent, ast.For | ast.comprehension) and parent.iter is child


def _taken_from(node: ast.expr) -> ast.expr | None:
    """The expression that an element is taken from: `parts` of `parts[0]`, or of `for part in parts`."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Name):
        for item in ancestors(node):
            if isinstance(item, ast.For) and isinstance(item.target, ast.Name) and item.target.id == node.id:
                return item.iter
            if isinstance(item, FUNCTIONS):
                break
    return None
