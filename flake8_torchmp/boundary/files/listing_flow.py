"""Where the order of a listing goes: followed forward, from the call to where a dataset is indexed by it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from flake8_torchmp.boundary.loading.datasets import Datasets
from flake8_torchmp.boundary.loading.sampling_methods import SamplingMethods
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.tables.random_sources import is_drawn
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import is_property, parameters
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, dotted, last_name, mentions, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Collection, External, Function, Hop, Instance, Method, Value

from .listing_numbers import NUMBERING, asked_for_place, counts, is_place_asked, makes_numbered, numbers
from .listing_orders import (
    SORTING,
    flattened,
    is_made_empty,
    is_part_of_frame,
    is_sorted_there,
    is_walk,
    names_bound,
    part_of,
    sorts,
)

KEEPING = frozenset(
    "list tuple enumerate zip map filter reversed iter next chain from_iterable islice array asarray deque tqdm "
    "copy deepcopy train_test_split Series DataFrame cycle repeat compress takewhile dropwhile starmap product "
    "ListConfig cat concat concatenate stack vstack hstack tensor as_tensor from_numpy".split()
)
"""Calls whose result has the order of what they are given, by their last name."""
READING_IN_ORDER = frozenset(
    f"datasets.{name}"
    for name in "load_dataset Dataset.from_csv Dataset.from_json Dataset.from_parquet Dataset.from_text".split()
)
"""Calls of libraries whose result has what the files have, one after the other."""
HANDING_ON = frozenset(
    "copy tolist to_list to_numpy items values map filter select shuffle with_format with_transform".split()
)
"""Methods whose result has the order of what has them."""
ADDING = frozenset(("append", "extend", "appendleft", "extendleft", "insert"))
GATHERED = (ast.List, ast.Tuple, ast.ListComp, ast.Call)
_BINDING = (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return)
MOST_STEPS = 400


class ListingPlace(NamedTuple):
    """Something that has the order of a listing."""

    node: ast.AST
    module: Module
    way: tuple[Hop, ...]
    part: int | None = None
    """Where it stands in the tuple that the node gives, if the node gives one."""
    is_number: bool = False
    """Whether it is by its place in the listing that things were numbered: no sorting mends that."""
    is_table: bool = False
    """Whether it is a dict that was filled in the order of the listing: what is listed of it has that order."""

    @property
    def kind(self) -> tuple[bool, bool]:
        return self.is_number, self.is_table


class ListingFlow:
    """Where the order of one listing goes."""

    def __init__(self, datasets: Datasets, sampling: SamplingMethods) -> None:
        self.datasets = datasets
        self.sampling = sampling
        self.evaluator = sampling.evaluator
        self.outline = sampling.outline
        self.pending: list[ListingPlace] = []
        self.seen: set[object] = set()

    def run(self, start: ListingPlace) -> tuple[str, tuple[Hop, ...]] | None:
        """The dataset that takes its index from it, and the way there."""
        self.pending = [start]
        steps = 0
        while self.pending and steps < MOST_STEPS:
            steps += 1
            place = self.pending.pop(0)
            key = (id(place.node), place.part, place.kind)
            if key not in self.seen:
                self.seen.add(key)
                found = self._step(place)
                if found:
                    return found, (*place.way, Hop(place.node, place.module, f"is the index of {found}"))
        return None

    def _go(
        self, node: ast.AST, place: ListingPlace, text: str = "", module: Module | None = None, part: int | None = None
    ) -> None:
        way = (*place.way, Hop(node, module or place.module, text)) if text else place.way
        self.pending.append(ListingPlace(node, module or place.module, way, part, *place.kind))

    def _step(self, place: ListingPlace) -> str:
        """Follows an ordered value one step up; the dataset if that is where it ends."""
        node: Any = place.node
        parent: Any = up(node)
        if isinstance(parent, ast.keyword):
            node, parent = parent, up(parent)
        if place.is_table and not isinstance(parent, _BINDING):
            return self._listed(node, parent, place._replace(is_table=False))
        if isinstance(parent, ast.Subscript):
            return self._subscript(node, parent, place)
        if isinstance(parent, ast.Call):
            return self._call(node, parent, place)
        if isinstance(parent, ast.Attribute) and parent.value is node:
            outer = up(parent)
            asked = asked_for_place(node)
            if asked is not None:
                self._go(asked, place._replace(is_number=True))
            elif isinstance(outer, ast.Call) and outer.func is parent:
                if parent.attr in HANDING_ON:
                    self._go(outer, place)
            elif is_part_of_frame(parent):
                self._go(parent, place)
        elif isinstance(parent, ast.comprehension) and parent.iter is node:
            self._each(parent, place)
            return self._comprehension(parent, place)
        elif isinstance(parent, ast.For | ast.AsyncFor) and parent.iter is node:
            self._each(parent, place)
            return self._loop(parent, place)
        elif isinstance(parent, ast.Tuple) and isinstance(up(parent), ast.Return | ast.Assign):
            is_plain = not any(isinstance(element, ast.Starred) for element in parent.elts)
            self._go(parent, place, part=parent.elts.index(node) if is_plain else None)
        elif isinstance(parent, ast.BoolOp | ast.IfExp | ast.List | ast.Tuple | ast.Starred | ast.Await) or (
            isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)
        ):
            if not (isinstance(parent, ast.IfExp) and parent.test is node):
                self._go(parent, place)
        elif isinstance(parent, ast.Dict):
            if any(value is node for value in parent.values):
                self._go(parent, place)
        elif isinstance(parent, ast.ListComp | ast.GeneratorExp) and parent.elt is node:
            flat = parent if place.is_number else flattened(parent)
            if flat is not None:
                self._go(flat, place)
        elif isinstance(parent, ast.DictComp) and parent.value is node and place.is_number:
            self._go(parent, place)
        elif isinstance(parent, ast.NamedExpr):
            self._go(parent, place)
            self._bound(parent.target, place)
        elif isinstance(parent, ast.Assign):
            for target in parent.targets:
                self._bound(part_of(target, place.part), place)
        elif isinstance(parent, ast.AnnAssign | ast.AugAssign):
            self._bound(parent.target, place)
        elif isinstance(parent, ast.withitem) and parent.context_expr is node:
            self._bound(parent.optional_vars, place)
        elif isinstance(parent, ast.Return | ast.YieldFrom | ast.Yield):
            return self._returned(place)
        return ""

    # expressions

    def _subscript(self, node: ast.AST, parent: ast.Subscript, place: ListingPlace) -> str:
        if parent.value is not node or is_place_asked(parent.slice):
            return ""
        scope = place.module.scope_of(parent)
        if isinstance(parent.slice, ast.Slice):
            self._go(parent, place)
            is_share = parent.slice.step is not None and not isinstance(parent.slice.step, ast.Constant | ast.UnaryOp)
            return self.sampling.around(scope)[0] if is_share else ""
        dataset, _ = self.sampling.around(scope)
        if dataset and not isinstance(parent.slice, ast.Constant):
            return dataset if not is_drawn(parent.slice, scope) else ""
        if isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, int):
            if isinstance(node, ast.Call) and last_name(node.func) == "next" and is_walk(node.args[0]):
                self._go(parent, place)  # the folders or files of the first one
            return ""
        self._go(parent, place)
        for loop in ancestors(parent):
            if isinstance(loop, FUNCTIONS):
                break
            if isinstance(loop, ast.For) and mentions(parent.slice, names_bound(loop)):
                return self._loop(loop, place)
            if isinstance(loop, ast.ListComp | ast.GeneratorExp):
                self._go(loop, place)
            elif isinstance(loop, ast.DictComp):
                self._table(loop, loop.generators[0], place)
        return ""

    def _listed(self, node: ast.AST, parent: ast.AST | None, place: ListingPlace) -> str:
        """What lists a dict that has the order of the listing: `list(videos)`, `videos.items()`."""
        if isinstance(parent, ast.Attribute):
            call = up(parent)
            if parent.attr not in ("keys", "values", "items") or not isinstance(call, ast.Call):
                return ""
            node, parent = call, up(call)
        if isinstance(parent, ast.For | ast.AsyncFor):
            return self._loop(parent, place) if parent.iter is node else ""
        if isinstance(parent, ast.comprehension):
            return self._comprehension(parent, place) if parent.iter is node else ""
        if isinstance(node, ast.Call):
            self._go(node, place)
        elif isinstance(parent, ast.Call) and last_name(parent.func) in KEEPING and parent.func is not node:
            self._go(parent, place)
        return ""

    def _table(self, whole: ast.DictComp, part: ast.comprehension, place: ListingPlace) -> None:
        """A dict by the places in the listing, or one that gives them."""
        if numbers(part.iter, part.target, whole.value):
            self._go(whole, place._replace(is_number=True))
        elif numbers(part.iter, part.target, whole.key):
            self._go(whole, place)
        elif mentions(whole.key, names_bound(part.target)):
            self._go(whole, place._replace(is_table=True))

    def _call(self, node: ast.AST, parent: ast.Call, place: ListingPlace) -> str:
        if parent.func is node:
            return ""
        name = last_name(parent.func)
        if name in SORTING and not place.is_number:
            return ""
        if isinstance(parent.func, ast.Attribute) and name in ADDING:
            self._bound(parent.func.value, place)
            return ""
        if name in KEEPING or name in SORTING or (place.is_number and name in NUMBERING):
            self._go(parent, place)
            return ""
        if makes_numbered(node, parent):
            self._go(parent, place._replace(is_number=True))
            return ""
        frame = self.outline.frame_at(parent, place.module)
        for value in self.outline.values(parent.func, frame):
            if isinstance(value, External):
                bare = value.name.rpartition(".")[2]
                if apis.is_dataset_name(value.name) or self.datasets.loaders.is_loader(value.name):
                    return bare
                if value.name in READING_IN_ORDER:
                    self._go(parent, place)
            elif isinstance(value, Class | Function | Method):
                self._into(value, node, parent, place)
        return ""

    def _into(self, callee: Value, node: ast.AST, call: ast.Call, place: ListingPlace) -> None:
        """The parameter of a function of the project that gets the listing."""
        function: Value | None = callee
        shift = 1
        if isinstance(callee, Class):
            function = classes.find_method(self.outline, callee, "__init__")
            if function is None and classes.is_record(self.outline, callee):
                self._into_field(callee, node, call, place)
                return
        elif isinstance(callee, Method):
            function = callee.function
        else:
            shift = 0
        if not isinstance(function, Function):
            return
        index = next((i for i, argument in enumerate(call.args) if argument is node), None)
        for name, parameter in parameters(function.node).items():
            given = index is not None and parameter.index == index + shift
            if given or (isinstance(node, ast.keyword) and node.arg == name):
                text = f"{function.scope.name}({name}=)"
                way = (*place.way, Hop(call, place.module, text))
                self._name(name, function.scope, ListingPlace(call, function.scope.module, way))

    def _into_field(self, cls: Class, node: ast.AST, call: ast.Call, place: ListingPlace) -> None:
        """The field of a record that gets the listing."""
        index = next((i for i, argument in enumerate(call.args) if argument is node), None)
        for number, name in enumerate(classes.fields(self.outline, cls)):
            if number == index or (isinstance(node, ast.keyword) and node.arg == name):
                way = (*place.way, Hop(call, place.module, f"{cls.scope.name}({name}=)"))
                self._kept(name, "self", cls.scope, ListingPlace(call, cls.scope.module, way, None, place.is_number))

    def _each(self, loop: ast.comprehension | ast.For | ast.AsyncFor, place: ListingPlace) -> None:
        """`for part in (train, val)`, `for name, part in {"train": train}.items()`: the variable is the listing."""
        iterated: ast.expr = loop.iter
        if isinstance(iterated, ast.Call) and last_name(iterated.func) in ("items", "values"):
            holder = getattr(iterated.func, "value", None)
            known = self.outline.values(holder, self.outline.frame_at(holder, place.module)) if holder else ()
            if not any(isinstance(value, Collection) and isinstance(value.node, ast.Dict) for value in known):
                return
        elif not isinstance(iterated, ast.Tuple | ast.List):
            return
        self._bound(loop.target, place)

    def _comprehension(self, part: ast.comprehension, place: ListingPlace) -> str:
        whole: Any = up(part)
        dataset, method = self.sampling.around(place.module.scope_of(whole))
        if dataset and method == "__iter__":
            return dataset
        if isinstance(whole, ast.ListComp | ast.GeneratorExp):
            self._go(whole, place)
        elif isinstance(whole, ast.DictComp):
            self._table(whole, part, place)
        return ""

    # statements

    def _loop(self, loop: ast.For | ast.AsyncFor, place: ListingPlace) -> str:
        """What a loop over the listing collects, in the order of the listing."""
        if (id(loop), place.kind) in self.seen:
            return ""
        self.seen.add((id(loop), place.kind))
        bound = names_bound(loop)
        if any(sorts(node, bound) for node in ast.walk(loop)) and is_walk(loop.iter):
            return ""
        dataset, method = self.sampling.around(place.module.scope_of(loop))
        for node in ast.walk(loop):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ADDING:
                holder = node.func.value
                if any(mentions(a, bound) for a in node.args) and not mentions(holder, bound):
                    self._bound(holder, place)
            elif isinstance(node, ast.AugAssign) and isinstance(node.value, GATHERED):
                if mentions(node.value, bound):
                    self._bound(node.target, place)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                target = node.targets[0].value
                if counts(node.value, target) or numbers(loop.iter, loop.target, node.value):
                    self._bound(target, place._replace(is_number=True))
                elif numbers(loop.iter, loop.target, node.targets[0].slice) and mentions(node.value, bound):
                    self._bound(target, place)
                elif mentions(node.targets[0].slice, bound) and self._fills(target, place.module):
                    self._bound(target, place._replace(is_table=True))
            elif isinstance(node, ast.Yield | ast.YieldFrom):
                if dataset and method == "__iter__":
                    return dataset
                found = self._returned(ListingPlace(node, place.module, place.way))
                if found:
                    return found
        return ""

    def _fills(self, table: ast.expr, module: Module) -> bool:
        """Whether a dict is made empty in the function that fills it, so that this gives it its order."""
        function = module.scope_of(table).enclosing_function()
        return is_made_empty(table, function.node if function is not None else module.tree)

    def _bound(self, target: Any, place: ListingPlace) -> None:
        """The uses of what a listing is bound to or put into."""
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._bound(element, place)
        elif isinstance(target, ast.Starred):
            self._bound(target.value, place)
        elif isinstance(target, ast.Name):
            scope = self.outline.scope_binding(target.id, place.module.scope_of(target))
            if scope is not None:
                self._name(target.id, scope, place)
        elif isinstance(target, ast.Attribute):
            self._attribute(target, place)

    def _name(self, name: str, scope: Scope, place: ListingPlace) -> None:
        key = (name, id(scope), place.kind)
        if key in self.seen:
            return
        self.seen.add(key)
        module = scope.module
        loads = [n for n in module.loads(name) if isinstance(n, ast.Name) and self._is_of(n, scope, module)]
        if place.is_number or not any(is_sorted_there(load) for load in loads):
            for load in loads:
                self._go(load, place._replace(module=module), name)

    def _is_of(self, node: ast.Name, scope: Scope, module: Module) -> bool:
        return self.outline.scope_binding(node.id, module.scope_of(node)) is scope

    def _attribute(self, target: ast.Attribute, place: ListingPlace) -> None:
        """`self.files`: what the methods of the class, and of those derived from it, do with it."""
        method = place.module.scope_of(target).enclosing_function()
        owner = method.enclosing_class() if method is not None else None
        if owner is not None and isinstance(target.value, ast.Name):
            self._kept(target.attr, target.value.id, owner, place)

    def _kept(self, name: str, receiver: str, owner: Scope, place: ListingPlace) -> None:
        key = (name, id(owner), place.kind)
        if key in self.seen:
            return
        self.seen.add(key)
        above = classes.scopes_above(self.outline, owner)
        modules = dict.fromkeys((place.module, *(scope.module for scope in above)))
        loads = [
            (node, module)
            for module in modules
            for node in module.loads(name)
            if isinstance(node, ast.Attribute)
            and (around := module.scope_of(node).enclosing_class()) is not None
            and (around in above or owner in classes.scopes_above(self.outline, around))
            and dotted(node.value) == receiver
            and not (around in above and classes.is_replaced(module.scope_of(node), around, owner))
        ]
        if place.is_number or not any(is_sorted_there(load) for load, _ in loads):
            for load, module in loads:
                self._go(load, place, dotted(load), module)
            self._read_by_others(name, owner, place)

    def _read_by_others(self, name: str, owner: Scope, place: ListingPlace) -> None:
        """`self.manifest.files` in a dataset, where the manifest is an object that is no dataset."""
        assert owner.parent is not None
        if self.datasets.is_dataset(Class(owner, self.outline.frame_of(owner.parent))):
            return
        codebase = self.evaluator.codebase
        paths = codebase.mentioning(name, owner.module.path)
        makers = codebase.mentioning(owner.name, owner.module.path)
        for module in (codebase.module(p) for p in paths if p in makers or codebase.matches(p, apis.WORDS)):
            for load in module.loads(name) if module is not None else ():
                assert module is not None
                around = module.scope_of(load).enclosing_class()
                if not isinstance(load, ast.Attribute) or around is owner:
                    continue
                holders = self.evaluator.values(load.value, self.evaluator.frame_at(load, module))
                if any(isinstance(holder, Instance) and holder.cls.scope is owner for holder in holders):
                    self._go(load, place, dotted(load), module)

    def _returned(self, place: ListingPlace) -> str:
        scope = place.module.scope_of(place.node).enclosing_function()
        key = ("returned", id(scope), place.part, place.kind)
        if scope is None or isinstance(scope.node, ast.Lambda) or key in self.seen:
            return ""
        self.seen.add(key)
        dataset, method = self.sampling.around(scope)
        if dataset and scope.name == method and (method == "__iter__" or place.is_number):
            return dataset
        if is_property(scope.node):
            for load in place.module.loads(scope.name):
                if isinstance(load, ast.Attribute):
                    self._go(load, place, dotted(load))
        for arguments, _ in self.evaluator.callers.of(scope):
            if isinstance(arguments.call, ast.Call):
                self._go(arguments.call, place, f"{scope.name}()", arguments.frame.module, place.part)
        return ""
