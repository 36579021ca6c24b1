"""Gives each worker its own part of an iterable dataset (TMP406).

`for row in rows` becomes `for row in islice(rows, start, None, step)`, with the worker's id and the count of workers
from `get_worker_info()`. Where a pass of the loop depends on the passes before it, or there is no such loop, the whole
iteration moves to a method `_whole_stream`, of which each worker takes its part. What is shuffled is divided before it
is shuffled, because each worker shuffles otherwise. It is unsafe: batches are made of other samples than before.
Declined are iterators that are their own `__next__`, asynchronous iterations, and random ones that cannot be divided.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from flake8_torchmp.findings import Repair
from flake8_torchmp.semantics.nodes import dotted, last_name

from .carried import carried, own_nodes
from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .outline import outline_of

INFO = ("info", "worker_info", "worker")
PARTS = (("start", "step"), ("first", "step"), ("worker_id", "num_workers"), ("part", "parts"))
WHOLE = ("_whole_stream", "_all_samples", "_undivided")
COUNTED = frozenset(("randperm", "permutation", "sample"))


def change(repair: Repair, documents: Documents) -> Change:
    return _Division(repair, documents[repair.path]).change()


class _Division:
    def __init__(self, repair: Repair, document: Document) -> None:
        self.document = document
        self.outline = outline_of(document)
        self.function: Any = self.outline.node(repair, ast.FunctionDef, ast.AsyncFunctionDef)
        self.at = document.node(repair, cst.FunctionDef)
        if isinstance(self.function, ast.AsyncFunctionDef):
            raise NotFixable("the iteration is asynchronous")
        notes = dict(repair.notes)
        self.draws = [node for node in own_nodes(self.function.body) if self._at(node, notes.get("draws", ""))]
        self.draws = [d for d in self.draws if not any(n in self.draws for n in ast.walk(d.func))]
        self.whole = [node for node in own_nodes(self.function.body) if self._at(node, notes.get("whole", ""))]
        self.whole = [node for node in self.whole if isinstance(node, ast.Yield | ast.YieldFrom | ast.Return)]
        self.whole.sort(key=self.outline.start)
        if not self.whole:
            raise NotFixable("nothing in it is yielded")
        self.names = {node.id for node in ast.walk(self.function) if isinstance(node, ast.Name)}
        self.names |= {node.arg for node in ast.walk(self.function) if isinstance(node, ast.arg)}
        self.info = self._asked()
        self.start, self.step = next(p for p in [*PARTS, ("", "")] if not set(p) & self.names)
        if not self.start:
            raise NotFixable("its names leave none for the part")
        self.edits: list[Edit] = []
        self.head: list[str] = []

    def _at(self, node: ast.AST, places: str) -> bool:
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        return f"{line}:{column}:{type(node).__name__}" in places.split()

    def _asked(self) -> str:
        """The name under which the function has the worker's info already."""
        for statement in self.function.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(target, ast.Name) and _is_asking(statement.value):
                self.asked_in = statement
                return target.id
        if any(_is_asking(node) for node in ast.walk(self.function)):
            raise NotFixable("it asks for its worker already: divide the other way through it likewise")
        return ""

    def change(self) -> Change:
        loops = self._loops()
        if loops is None:
            self._divide_result()
            return Change(tuple(self.edits), False, "each worker takes its part of the whole iteration")
        for loop in loops:
            self._divide(loop)
        self._add_head()
        return Change(tuple(self.edits), False, "each worker takes its part of what is iterated")

    # what to divide

    def _loops(self) -> list[Any] | None:
        """The loops, and other holders of an iterable, to be divided; None where the result has to be."""
        found: list[Any] = []
        for node in self.whole:
            holder = self._holder(node)
            if holder is None:
                continue
            if holder is node and isinstance(node, ast.Yield):
                return None
            if holder not in found:
                found.append(holder)
        if any(isinstance(holder, ast.AsyncFor) for holder in found):
            raise NotFixable("the iteration is asynchronous")
        filled = {name for holder in found if isinstance(holder, ast.For) for name in self._filled_in(holder)}
        divided = [h for h in found if isinstance(h, ast.For) or not self._reads(h, filled)]
        late = {h for h in divided if isinstance(h, ast.For) and self._is_filled(h.iter, filled) and h is not found[0]}
        divided = [h for h in divided if h not in late]
        for holder in divided:
            if not isinstance(holder, ast.For):
                continue
            kept = carried(holder)
            if not kept.state and not kept.buffers:
                continue
            if not self.draws and not self.info:
                return None
            if kept.state:
                raise NotFixable("its random passes depend on each other: divide what it reads by hand")
        return divided

    def _holder(self, node: Any) -> Any:
        """The outermost loop around a yield that goes over what is yielded, or the yield itself."""
        if isinstance(node, ast.Return):
            if isinstance(node.value, ast.Name) and node.value.id == self.function.args.args[0].arg:
                raise NotFixable("the dataset is its own iterator: its __next__ has to skip what is not its part")
            return node
        above: list[Any] = []
        item = self.outline.parents[node]
        while item is not self.function:
            if isinstance(item, ast.For | ast.AsyncFor | ast.While):
                above.append(item)
            item = self.outline.parents[item]
        while above and _only_repeats(above[-1]) and (len(above) > 1 or isinstance(node, ast.YieldFrom)):
            above.pop()
        if above and not isinstance(above[-1], ast.While):
            return above[-1]
        if above and self.draws:
            raise NotFixable("what it yields is drawn at random in a while loop")
        if above and isinstance(node, ast.YieldFrom):
            raise NotFixable("what it yields from is made anew in a while loop")
        return node

    def _filled_in(self, loop: ast.For) -> Iterator[str]:
        for node in own_nodes(loop.body):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield dotted(node.func.value)
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                yield dotted(node.value)

    def _reads(self, node: Any, names: set[str]) -> bool:
        return node.value is not None and self._is_filled(node.value, names)

    def _is_filled(self, value: ast.AST, names: set[str]) -> bool:
        return any(dotted(part) in names for part in ast.walk(value) if isinstance(part, ast.Name | ast.Attribute))

    # dividing

    def _divide(self, holder: Any) -> None:
        if isinstance(holder, ast.For):
            self._divide_iterable(holder.iter, holder)
            return
        value = holder.value
        while True:
            if isinstance(holder, ast.Return) and self._is_iter(value):
                value = value.args[0]
            elif isinstance(value, ast.GeneratorExp | ast.ListComp):
                value = value.generators[0].iter
            elif self._is_call(value, "map", 2) or self._is_call(value, "filter", 2):
                value = value.args[1]
            else:
                break
        outer = holder.value
        if isinstance(holder, ast.Return) and self._is_iter(outer) and value is outer.args[0]:
            outer_text = self._sliced(value)
            if not self._ordered(value, holder):
                self._replace(outer, outer_text)
            return
        self._divide_iterable(value, holder)

    def _divide_iterable(self, value: Any, holder: Any) -> None:
        if any(isinstance(n, ast.Name) and n.id == "super" for n in ast.walk(value)):
            raise NotFixable("it goes on with what its base class yields: that has to be divided")
        if not self._ordered(value, holder):
            self._replace(value, self._sliced(value))

    def _sliced(self, value: Any) -> str:
        text = self.outline.code(value)
        if isinstance(value, ast.GeneratorExp) and not text.startswith("("):
            text = f"({text})"
        return f"{self._islice()}({text}, {self.start}, None, {self.step})"

    def _ordered(self, value: Any, holder: Any) -> bool:
        """Divides what is put into a random order before that is done; False where the order is everybody's."""
        inside = {id(n) for part in getattr(holder, "body", ()) for n in ast.walk(part)}
        begin = self.outline.start(holder)
        early = [d for d in self.draws if id(d) not in inside and self.outline.start(d) < self.outline.end(value)]
        if not early:
            return False
        if len(early) > 1:
            raise NotFixable("it draws several times before it yields, each worker something else")
        draw = early[0]
        if any(part is draw for part in ast.walk(value)):
            return self._filter(value, draw, holder)
        statement = self.outline.parents[draw]
        if self.outline.start(draw) > begin:
            raise NotFixable("the order is drawn by each worker for itself")
        if last_name(draw.func) == "shuffle" and isinstance(statement, ast.Expr) and draw.args:
            return self._divide_before(draw.args[0], value, holder)
        if isinstance(statement, ast.Assign) or self._is_bound_by(draw, value):
            return self._filter(value, draw, holder)
        raise NotFixable("the order is drawn by each worker for itself")

    def _is_bound_by(self, draw: ast.AST, value: Any) -> bool:
        name = value.id if isinstance(value, ast.Name) else ""
        return any(
            isinstance(node, ast.Assign)
            and dotted(node.targets[0]) == name
            and any(part is draw for part in ast.walk(node.value))
            for node in own_nodes(self.function.body)
        )

    def _filter(self, value: Any, draw: ast.Call, holder: Any) -> bool:
        """A permutation of numbers: each worker goes over those that are its own."""
        shown = value
        if isinstance(value, ast.Name):
            if not self._is_bound_by(draw, value):
                raise NotFixable("the order is drawn by each worker for itself")
            shown = next(
                n.value
                for n in own_nodes(self.function.body)
                if isinstance(n, ast.Assign) and dotted(n.targets[0]) == value.id
            )
        if isinstance(shown, ast.Call) and isinstance(shown.func, ast.Attribute) and shown.func.value is draw:
            shown = draw if shown.func.attr in ("tolist", "numpy") else shown
        if isinstance(shown, ast.Call) and last_name(shown.func) in ("list", "iter", "tqdm") and len(shown.args) == 1:
            inner = shown.args[0]
            shown = inner.func.value if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) else inner
        if shown is not draw or not _is_permutation(draw):
            raise NotFixable("the order is drawn by each worker for itself")
        name = next(
            n for n in ("index", "number", "i", "position") if n not in self.names or isinstance(holder, ast.For)
        )
        if isinstance(holder, ast.For) and isinstance(holder.target, ast.Name):
            name = holder.target.id
        text = self.outline.code(value)
        self._replace(value, f"({name} for {name} in {text} if {name} % {self.step} == {self.start})")
        return True

    def _divide_before(self, shuffled: Any, value: Any, holder: Any) -> bool:
        text = dotted(shuffled)
        if not text or not any(dotted(n) == text for n in ast.walk(value) if isinstance(n, ast.Name | ast.Attribute)):
            raise NotFixable("the order is drawn by each worker for itself")
        if isinstance(shuffled, ast.Name):
            bound = [
                n
                for n in own_nodes(self.function.body)
                if isinstance(n, ast.Assign) and text in {dotted(t) for t in n.targets}
            ]
            every = [n for n in own_nodes(self.function.body) if isinstance(n, ast.Name) and n.id == text]
            stores = [n for n in every if not isinstance(n.ctx, ast.Load)]
            if len(bound) != 1 or len(stores) != 1 or self.outline.parents[bound[0]] is not self.function:
                holders = self._blocks_around(holder)
                if len(bound) != 1 or len(stores) != 1 or self.outline.parents[bound[0]] not in holders:
                    raise NotFixable(f"{text} is bound in several places: divide it before it is shuffled")
            made = bound[0].value
            code = self.outline.code(made)
            if not isinstance(made, ast.Call | ast.Name | ast.Attribute | ast.Subscript | ast.List | ast.ListComp):
                code = f"({code})"
            self._replace(made, f"{code}[{self.start}::{self.step}]")
            return True
        name = re.sub(r"^_+", "", text.rpartition(".")[2])
        if name in self.names or not name.isidentifier():
            raise NotFixable(f"{text} is shuffled in place: divide it before")
        for node in own_nodes(self.function.body):
            if isinstance(node, ast.Attribute) and dotted(node) == text:
                if not isinstance(node.ctx, ast.Load):
                    raise NotFixable(f"{text} is bound again: divide it before it is shuffled")
                self._replace(node, name)
        self.head.append(f"{name} = {text}[{self.start}::{self.step}]")
        return True

    def _blocks_around(self, node: ast.AST) -> list[ast.AST]:
        found = []
        while node is not self.function:
            node = self.outline.parents[node]
            found.append(node)
        return found

    def _divide_result(self) -> None:
        """The function keeps its name and gives out a part of what it did."""
        function = self.function
        arguments = function.args
        plain = [*arguments.posonlyargs, *arguments.args]
        holder = self.outline.parents[function]
        if self.draws:
            raise NotFixable("what it yields is drawn at random: each worker's stream is another")
        if len(plain) != 1 or arguments.vararg or arguments.kwarg or arguments.kwonlyargs or function.decorator_list:
            raise NotFixable("it has arguments or decorators: divide what it is called for")
        if not isinstance(holder, ast.ClassDef) or not self.outline.alone_on_its_lines(function):
            raise NotFixable("it is no method of a class")
        if self.info or any(isinstance(n, ast.Name) and n.id == "super" for n in ast.walk(function)):
            raise NotFixable("what its base class yields, or its worker's info, is in it: divide it by hand")
        text = self.document.text
        name = next((n for n in WHOLE if not re.search(rf"\b{n}\b", text)), "")
        if not name:
            raise NotFixable("there is no name left for the whole iteration")
        start = self.outline.start(function)
        header = re.compile(r"def\s+(" + function.name + r")\b").match(text, start)
        if header is None:
            raise NotFixable("its header is not written plainly")
        newline, indent = self.document.newline, self.outline.indent(function)
        inner = indent + self.document.indent
        receiver = plain[0].arg
        returns = f" -> {self.outline.code(function.returns)}" if function.returns is not None else ""
        lines = [
            f"{indent}def {function.name}({self.outline.code(plain[0])}){returns}:",
            *(inner + line for line in self._asking()),
            f"{inner}return {self._islice()}({receiver}.{name}(), {self.start}, None, {self.step})",
            "",
        ]
        begin = self.outline.line_start(start)
        self.edits.append(self.document.inserted(begin, "".join(line + newline for line in lines)))
        self.edits.append(Edit(self.document.path, header.start(1), header.end(1), name))

    # text

    def _asking(self) -> list[str]:
        lines = []
        info = self.info
        if not info:
            info = next((n for n in INFO if n not in self.names), "")
            if not info:
                raise NotFixable("its names leave none for the worker's info")
            lines.append(f"{info} = {self._spelled('torch.utils.data', 'get_worker_info')}()")
        lines.append(f"{self.start}, {self.step} = ({info}.id, {info}.num_workers) if {info} else (0, 1)")
        return lines

    def _add_head(self) -> None:
        lines = [*self._asking(), *self.head]
        body, newline = self.function.body, self.document.newline
        first = body[0]
        if self.info:
            index = body.index(self.asked_in)
            if index + 1 == len(body) or not self.outline.alone_on_its_lines(body[index + 1]):
                raise NotFixable("several statements stand on one line")
            first = body[index + 1]
        elif len(body) > 1 and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first = body[1]
        start = self.outline.start(first)
        begin = self.outline.line_start(start)
        before = self.document.text[begin:start]
        if not before.strip():
            self.edits.append(self.document.inserted(begin, "".join(f"{before}{line}{newline}" for line in lines)))
            return
        inner = self.outline.indent(self.function) + self.document.indent
        if first is not body[0] or not before.rstrip().endswith(":"):
            raise NotFixable("several statements stand on one line")
        gap = begin + len(before.rstrip())
        text = "".join(f"{newline}{inner}{line}" for line in lines) + newline + inner
        self.edits.append(Edit(self.document.path, gap, start, text))

    def _replace(self, node: Any, text: str) -> None:
        self.edits.append(Edit(self.document.path, self.outline.start(node), self.outline.end(node), text))

    def _islice(self) -> str:
        return self._spelled("itertools", "islice")

    def _spelled(self, module: str, name: str) -> str:
        known = self.document.imported(f"{module}.{name}", self.at)
        if known:
            return known
        spelling, edits = self.document.with_import(f"from {module} import {name}", self.at)
        self.edits += [edit for edit in edits if edit not in self.edits]
        return spelling

    def _is_iter(self, value: Any) -> bool:
        return self._is_call(value, "iter", 1)

    def _is_call(self, value: Any, name: str, count: int) -> bool:
        return (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id == name
            and len(value.args) == count
            and not value.keywords
            and not any(isinstance(argument, ast.Starred) for argument in value.args)
        )


def _is_asking(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "get_worker_info"


def _only_repeats(loop: Any) -> bool:
    """`while True` and `for _ in range(epochs)`: what is inside is done again and again."""
    if isinstance(loop, ast.While):
        return isinstance(loop.test, ast.Constant)
    if not isinstance(loop.iter, ast.Call) or last_name(loop.iter.func) not in ("range", "count", "repeat"):
        return False
    names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return not any(isinstance(n, ast.Name) and n.id in names for part in loop.body for n in ast.walk(part))


def _is_permutation(draw: ast.Call) -> bool:
    """Whether a call gives each of the numbers from 0 once."""
    name = last_name(draw.func)
    if name not in COUNTED or not draw.args:
        return False
    first = draw.args[0]
    if name == "randperm":
        return True
    if name == "permutation":
        return (isinstance(first, ast.Call) and last_name(first.func) == "len") or _is_number(first)
    if not (isinstance(first, ast.Call) and last_name(first.func) == "range" and len(first.args) == 1):
        return False
    count = draw.args[1] if len(draw.args) > 1 else next((k.value for k in draw.keywords if k.arg == "k"), None)
    return count is not None and ast.dump(count) == ast.dump(first.args[0])


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
