"""What an object opened in a method becomes a property that opens it once in each process.

`self.file = h5py.File(path)` goes; what its arguments need is stored instead, and the class gets a property `file`,
which opens it when it is first read in a process, and a `__getstate__` that leaves the open one out. What is derived
from it (`self.data = self.file["x"]`, also by way of a local name) becomes a property too, which keeps what calls give
(`self.cursor = self.db.cursor()` goes to a place), and a `with` around the assignment goes along. A function that only
opens and returns it is called in the property; what is opened on first use is left to `opened_lazily`. A class that
says itself how it is pickled goes on doing so. What is opened on a condition and is None otherwise (`self.file = None`)
stays None there. Unsafe: it opens later than before, and again in each worker.

Refused where it is stored in a loop or in several places, or entered into a stack, where its first line is read before
the workers start, and where the class's own pickling does more with it than to leave it out and to open it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from flake8_torchmp.findings import Repair

from . import opened_lazily
from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .inherited import Inherited
from .layout import reindented
from .leaving import Going
from .own_pickling import OPENED, OwnPickling


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    derived = frozenset(dict(repair.notes).get("attributes", "").split())
    call = document.node(repair, cst.Call)
    inherited = Inherited.by(repair)
    by_itself = opened_lazily.change(document, call, inherited)
    return by_itself or _Moving(document, _stored_by_an_object(document, call), derived, inherited).change()


def _stored_by_an_object(document: Document, call: cst.Call) -> cst.Call:
    """Where a function only opens and returns it: the one call of that function, whose result an object stores."""
    above = list(document.ancestors(call))
    function = next((item for item in above if isinstance(item, cst.FunctionDef)), None)
    line = next((item for item in above if isinstance(item, cst.SimpleStatementLine)), None)
    if function is None or line is None or not _is_returned(line.body[0], function):
        return call
    name = function.name.value
    is_method = isinstance(document.parent(document.parent(function) or function), cst.ClassDef)
    calls = [node for node in document.nodes() if isinstance(node, cst.Call) and _called(node) == name]
    calls = [node for node in calls if is_method or isinstance(node.func, cst.Name)]
    if len(calls) != 1 or any(item is function for item in document.ancestors(calls[0])):
        return call
    return calls[0]


def _is_returned(opening: cst.BaseSmallStatement, function: cst.FunctionDef) -> bool:
    """Whether a function returns what a statement opens, at once or when it is set up: `db = connect(path)`."""
    if isinstance(opening, cst.Return):
        return True
    last = function.body.body[-1]
    returned = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
    if not isinstance(opening, cst.Assign) or not isinstance(returned, cst.Return) or len(opening.targets) > 1:
        return False
    target, value = opening.targets[0].target, returned.value
    return isinstance(target, cst.Name) and isinstance(value, cst.Name) and target.value == value.value


def _called(call: cst.Call) -> str:
    """`open_it` of `open_it()` and `self.open_it()`."""
    function = call.func
    name = function.attr if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name) else function
    return name.value if isinstance(name, cst.Name) else ""


def _last(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _is_count(read: cst.Call) -> bool:
    return len(read.args) == 1 and isinstance(read.args[0].value, cst.Integer)


class _Moving:
    def __init__(self, document: Document, call: cst.Call, derived: frozenset[str], inherited: Inherited) -> None:
        self.document = document
        self.derived = derived
        self.inherited = inherited
        above = list(document.ancestors(call))
        methods = [item for item in above if isinstance(item, cst.FunctionDef)]
        owner = document.parent(document.parent(methods[0]) or methods[0]) if methods else None
        if not methods or not isinstance(owner, cst.ClassDef) or methods[0].decorators:
            raise NotFixable("it is not opened in a plain method")
        self.owner, self.method = owner, methods[0]
        parameters = self.method.params.params
        if not parameters or not isinstance(self.method.body, cst.IndentedBlock):
            raise NotFixable("it is not opened in a plain method")
        self.receiver = parameters[0].name.value
        if any(isinstance(item, cst.Call) and _last(item) == "enter_context" for item in above):
            raise NotFixable("it is entered into a stack, which would have to be one of each process too")
        statement = next((item for item in above if isinstance(item, cst.BaseSmallStatement)), None)
        if statement is None:
            raise NotFixable("it is not stored by an assignment of its own")
        self.opening = statement
        self.going = Going(document)
        self.unit = self._unit()
        self.block = self.going.block(self.unit)
        if not isinstance(self.block, cst.IndentedBlock):
            raise NotFixable("it is opened on the line of its condition")
        self.conditional = self.block is not self.method.body
        if self.conditional and not self._is_on_condition_alone():
            raise NotFixable("it is opened in a loop or in another block")
        self.locals = set(self._locals())
        self.stored = dict(self._stored_parameters())
        self.edits: list[Edit] = []
        self.kept: list[str] = []
        """What is derived from what was opened, and made once in each process as well."""
        self.process, self.imports = document.with_import("import os", call)
        self.pickling = OwnPickling(document, self.owner, self.method)
        self.renamed: dict[str, str] = {}
        """Local names that stand for what was opened, and what replaces them."""

    def change(self) -> Change:
        document = self.document
        target, value = self._assigned(self.opening)
        name = self._attribute(target)
        if not name:
            if not isinstance(target, cst.Name):
                raise NotFixable("it is not stored under one name")
            name = f"_{target.value.lstrip('_')}"
            self.renamed[target.value] = f"{self.receiver}.{name}"
        if self._is_read_on(target):
            raise NotFixable("its first lines are read before the workers start, who would get them again")
        if self.conditional and (self.renamed or self._is_asked_for(name)):
            raise NotFixable("it is opened on a condition, and whether it is there is asked elsewhere")
        properties = [self._opener(name, value)]
        moved = {id(self.opening)}
        for statement in self._statements():
            if statement is self.opening or not isinstance(statement, cst.Assign | cst.AnnAssign):
                continue
            pairs = [(self._attribute(one), inner) for one, inner in self._pairs(statement)]
            is_derived = any(one and one != name and one in self.derived for one, _ in pairs)
            if is_derived and len(pairs) > 1 and not all(one and self._reads(name, inner) for one, inner in pairs):
                raise NotFixable("what is derived from it is stored together with something else")
            if is_derived:
                saved: dict[str, str] = {}
                properties += [self._derived(one, inner, statement, saved) for one, inner in pairs]
                self._replace(statement, saved)
                moved.add(id(statement))
        self._rename(moved)
        self.edits += self.going.edits()
        lines = [one for one in self.method.body.children if not isinstance(one, cst.EmptyLine) or one.comment]
        last = document.span(lines[-1])
        end = document.line_after(last.start if isinstance(lines[-1], cst.EmptyLine) else last.end)
        newline = "" if document.text[:end].endswith(("\n", "\r")) else document.newline
        self.edits.append(document.inserted(end, newline + "".join(properties)))
        names = (name, *self.kept)
        for kept in names:
            self.edits += (edit for edit in self.pickling.without(kept, end, names) if edit not in self.edits)
        return Change((*self.imports, *self.edits), False, f"{name.lstrip('_')} is opened once in each process")

    # what there is

    def _unit(self) -> cst.CSTNode:
        """The assignment, or the `with` around it alone."""
        line = self.document.parent(self.opening)
        above = self.document.parent(self.document.parent(line or self.opening) or self.opening)
        return above if isinstance(above, cst.With) and len(above.body.body) == 1 else self.opening

    def _is_on_condition_alone(self) -> bool:
        """Whether nothing but `if`, `elif` and `else` stand between the method and the assignment."""
        above: cst.CSTNode | None = self.block
        while above is not self.method.body:
            holder = self.document.parent(above) if above is not None else None
            if isinstance(holder, cst.Else):
                holder = self.document.parent(holder)
            while isinstance(holder, cst.If) and isinstance(self.document.parent(holder), cst.If):
                holder = self.document.parent(holder)
            if not isinstance(holder, cst.If):
                return False
            above = self.document.parent(holder)
        return True

    def _is_read_on(self, target: cst.CSTNode) -> bool:
        """Whether the method goes on in a stream, and the class never goes to a place in it by itself."""
        document = self.document
        name = document.code(target)
        calls = [node for node in document.nodes(self.owner) if isinstance(node, cst.Call)]
        if any(_last(call) == "seek" for call in calls):
            return False
        return any(
            document.code(call) == f"next({name})"
            or (
                isinstance(call.func, cst.Attribute)
                and document.code(call.func.value) == name
                and (call.func.attr.value == "readline" or (call.func.attr.value == "read" and _is_count(call)))
            )
            for call in calls
            if self.method in document.ancestors(call)
        )

    def _is_asked_for(self, name: str) -> bool:
        """Whether the class looks by its name whether it has it, or has something else under it."""
        document = self.document
        for node in document.nodes(self.owner):
            call = document.parent(document.parent(node) or node)
            is_text = isinstance(node, cst.SimpleString) and node.evaluated_value == name
            if is_text and isinstance(call, cst.Call) and _called(call) in ("hasattr", "getattr"):
                return True
            if isinstance(node, cst.AssignTarget | cst.AnnAssign) and getattr(node.target, "value", "") == name:
                return True
        return False

    def _statements(self) -> Iterator[cst.BaseSmallStatement]:
        """Those of the method's own block, and of the one in which it is opened."""
        for block in dict.fromkeys((self.method.body, self.block)):
            for line in block.body:
                if isinstance(line, cst.SimpleStatementLine):
                    yield from line.body

    def _locals(self) -> Iterator[str]:
        parameters = self.method.params
        for parameter in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params):
            yield parameter.name.value
        for star in (parameters.star_arg, parameters.star_kwarg):
            if isinstance(star, cst.Param):
                yield star.name.value
        for node in self.document.nodes(self.method.body):
            if isinstance(node, cst.AssignTarget | cst.For | cst.CompFor | cst.NamedExpr | cst.AnnAssign):
                yield from self._bound(node.target)
            elif isinstance(node, cst.AsName):
                yield from self._bound(node.name)

    def _bound(self, node: cst.CSTNode) -> Iterator[str]:
        if isinstance(node, cst.Name):
            yield node.value
        elif isinstance(node, cst.Tuple | cst.List):
            for element in node.elements:
                yield from self._bound(element.value)

    def _stored_parameters(self) -> Iterator[tuple[str, str]]:
        """The parameters that the method stores before, as they are: `self.path = path`."""
        opened = self.document.span(self.opening).start
        for statement in self._statements():
            if self.document.span(statement).start >= opened:
                continue
            if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
                continue
            left, right = statement.targets[0].target, statement.value
            pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [(left, right)]
            if isinstance(left, cst.Tuple) and isinstance(right, cst.Tuple):
                pairs = [(a.value, b.value) for a, b in zip(left.elements, right.elements, strict=False)]
            for target, value in pairs:
                attribute = self._attribute(target)
                if attribute and isinstance(value, cst.Name) and self._times_stored(attribute) == 1:
                    yield value.value, attribute

    def _times_stored(self, attribute: str) -> int:
        found = 0
        for node in self.document.nodes(self.owner):
            if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.AsName | cst.Del):
                target = node.name if isinstance(node, cst.AsName) else node.target
                found += sum(self._attribute(item) == attribute for item in self.document.nodes(target))
        return found

    def _placeholders(self, name: str) -> Iterator[cst.Assign]:
        """Where the method stores None instead: `self.file = None`."""
        for node in self.document.nodes(self.method.body):
            if isinstance(node, cst.Assign) and len(node.targets) == 1 and node is not self.opening:
                is_none = isinstance(node.value, cst.Name) and node.value.value == "None"
                if is_none and self._attribute(node.targets[0].target) == name:
                    yield node

    def _assigned(self, statement: cst.CSTNode) -> tuple[cst.BaseExpression, cst.BaseExpression]:
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            return statement.targets[0].target, statement.value
        if isinstance(statement, cst.AnnAssign) and statement.value is not None:
            return statement.target, statement.value
        raise NotFixable("it is not stored by an assignment of its own")

    def _reads(self, name: str, value: cst.BaseExpression) -> bool:
        """Whether an expression takes something from what is opened."""
        return any(
            self._attribute(node) == name or (isinstance(node, cst.Name) and node.value in self.renamed)
            for node in self.document.nodes(value)
        )

    def _pairs(self, statement: cst.CSTNode) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
        """What is stored by an assignment; `self.x, self.y = file["x"], file["y"]` stores two things."""
        target, value = self._assigned(statement)
        if not isinstance(target, cst.Tuple) or not isinstance(value, cst.Tuple):
            return [(target, value)]
        return [(one.value, two.value) for one, two in zip(target.elements, value.elements, strict=False)]

    def _attribute(self, node: cst.CSTNode) -> str:
        """`file` of `self.file`."""
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == self.receiver:
            return node.attr.value
        return ""

    # what it becomes

    def _opener(self, name: str, value: cst.BaseExpression) -> str:
        document, receiver, opened = self.document, self.receiver, f"{OPENED}{name.lstrip('_')}"
        self._drop_field(name)
        placeholders = list(self._placeholders(name))
        times = self._times_stored(name) - self.pickling.restored(name) - len(placeholders)
        if times > (0 if self.renamed else 1):
            raise NotFixable("it is stored in several places")
        saved: dict[str, str] = {}
        own: set[str] = set()
        heads: list[str] = []
        if isinstance(self.unit, cst.With):
            for item in self.unit.items:
                if item.asname is not None:
                    own |= set(self._bound(item.asname.name))
            items = ", ".join(
                self._text(item.item, name, saved, own)
                + (f" as {document.code(item.asname.name)}" if item.asname is not None else "")
                for item in self.unit.items
            )
            heads.append(f"with {items}:")
        expression = self._text(value, name, saved, own)
        old_indent = document.indent_of(self.opening)
        inner, deep = self._indents()
        asked = []
        if placeholders and self.conditional:
            flag = f"_opens_{name.lstrip('_')}"
            asked = [f"{deep}if not {receiver}.{flag}:", f"{deep}{document.indent}return None"]
            self._replace(self.unit, saved, f"{receiver}.{flag} = True")
        else:
            flag = ""
            self._replace(self.unit, saved)
        for placeholder in placeholders:
            if not isinstance(self.going.block(placeholder), cst.IndentedBlock):
                raise NotFixable("it is None on the line of a condition")
            if not flag and document.span(placeholder).start > document.span(self.opening).start:
                raise NotFixable("it is stored in several places")
            self.going.replace(placeholder, [f"{receiver}.{flag} = False"] if flag else [])
        depth = deep + document.indent
        expression = reindented(expression, old_indent, depth + document.indent * len(heads))
        comments, behind = self.going.comments(self.unit)
        closing = self.inherited.closing(value, receiver, opened, document.indent)
        making = [
            *closing,
            *comments,
            *heads,
            f"{document.indent * len(heads)}{receiver}.{opened} = {expression}{behind}",
        ]
        lines = [*asked, *self._once(opened, making)]
        return self._property(name, '"""Opened once in each process."""', lines, inner, deep)

    def _once(self, kept: str, making: list[str]) -> list[str]:
        """What a property does to make something once in each process, and to give it."""
        receiver, (_, deep) = self.receiver, self._indents()
        return [
            f'{deep}if {receiver}.__dict__.get("{kept}_by") != {self.process}.getpid():',
            *(f"{deep}{self.document.indent}{line}" for line in making),
            f"{deep}{self.document.indent}{receiver}.{kept}_by = {self.process}.getpid()",
            f"{deep}return {receiver}.{kept}",
        ]

    def _derived(self, name: str, value: cst.BaseExpression, statement: cst.CSTNode, saved: dict[str, str]) -> str:
        document, (inner, deep) = self.document, self._indents()
        is_kept = any(isinstance(node, cst.Call) and _last(node) != "get" for node in document.nodes(value))
        if self._times_stored(name) - (self.pickling.restored(name) if is_kept else 0) > 1:
            raise NotFixable(f"{name} is stored in several places")
        expression = self._text(value, name, saved, set())
        expression = reindented(expression, document.indent_of(statement), deep + document.indent * is_kept)
        comments, behind = self.going.comments(statement)
        if is_kept:
            self.kept.append(name)
            opened = f"{OPENED}{name.lstrip('_')}"
            lines = self._once(opened, [*comments, f"{self.receiver}.{opened} = {expression}{behind}"])
        else:
            self.pickling.demand_silence(name)
            lines = [*(f"{deep}{comment}" for comment in comments), f"{deep}return {expression}{behind}"]
        return self._property(name, "", lines, inner, deep)

    def _indents(self) -> tuple[str, str]:
        inner = self.document.indent_of(self.method)
        return inner, self.document.indent_of(self.method.body.body[0])

    def _property(self, name: str, text: str, lines: list[str], inner: str, deep: str) -> str:
        head = ["", f"{inner}@property", f"{inner}def {name}({self.receiver}):", *([f"{deep}{text}"] if text else [])]
        return "".join(f"{line}{self.document.newline}" for line in [*head, *lines])

    def _text(self, node: cst.CSTNode, name: str, saved: dict[str, str], own: set[str]) -> str:
        """An expression as the property says it: local names are read from the object."""
        start, end = self.document.span(node)
        parts: list[str] = []
        place = start
        own = own | set(self._own_of(node))
        for item in self.document.nodes(node):
            if not isinstance(item, cst.Name) or not self._is_local(item) or item.value in own:
                continue
            if item.value == self.receiver:
                continue
            if item.value in self.renamed:
                text = self.renamed[item.value]
            elif item.value in self.stored:
                text = f"{self.receiver}.{self.stored[item.value]}"
            else:
                attribute = f"_{name.lstrip('_')}_{item.value}"
                saved[attribute] = item.value
                text = f"{self.receiver}.{attribute}"
            first, last = self.document.span(item)
            parts += [self.document.text[place:first], text]
            place = last
        return "".join([*parts, self.document.text[place:end]])

    def _own_of(self, expression: cst.CSTNode) -> Iterator[str]:
        """The names that an expression binds for itself: `[open(name) for name in names]`."""
        for node in self.document.nodes(expression):
            if isinstance(node, cst.CompFor):
                yield from self._bound(node.target)
            elif isinstance(node, cst.Param):
                yield node.name.value

    def _is_local(self, item: cst.Name) -> bool:
        if item.value not in self.locals:
            return False
        above = self.document.parent(item)
        if isinstance(above, cst.Attribute):
            return above.value is item
        return not (isinstance(above, cst.Arg) and above.keyword is item)

    def _replace(self, unit: cst.CSTNode, saved: dict[str, str], *more: str) -> None:
        """A statement goes; what it needs is stored in its place."""
        self.going.replace(
            unit, [*(f"{self.receiver}.{attribute} = {value}" for attribute, value in saved.items()), *more]
        )

    def _rename(self, moved: set[int]) -> None:
        """The other uses of a local name for what was opened."""
        document = self.document
        for item in document.nodes(self.method.body):
            if not isinstance(item, cst.Name) or item.value not in self.renamed or not self._is_local(item):
                continue
            inside = any(id(above) in moved for above in document.ancestors(item))
            if not inside:
                self.edits.append(document.replaced(item, self.renamed[item.value]))

    def _drop_field(self, name: str) -> None:
        """A field of a dataclass that only its `__post_init__` fills is in the property's way."""
        body = self.owner.body.body if isinstance(self.owner.body, cst.IndentedBlock) else ()
        for line in body:
            statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
            if isinstance(statement, cst.AnnAssign) and getattr(statement.target, "value", "") == name:
                document = self.document
                start, end = (
                    document.line_start(document.span(line).start),
                    document.line_after(document.span(line).end),
                )
                said = document.text[document.span(line).end : end].strip()
                comment = f"{document.indent_of(line)}{said}{document.newline}" if said.startswith("#") else ""
                self.edits.append(Edit(document.path, start, end, comment))
