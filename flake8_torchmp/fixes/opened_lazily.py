"""What is opened when it is first needed is opened anew in each process, and goes to none.

`if self.file is None: self.file = h5py.File(self.path)` asks for the process too, and a property or cached property
that returns what it opens becomes one that opens it once in each process. `__getstate__` leaves the open one out.
Unsafe: it is opened again in each worker. Refused where the class says in a way of its own how it is pickled, and
where the attribute is stored in other places.
"""

from __future__ import annotations

import libcst as cst

from .change import Change, Edit, NotFixable
from .document import Document
from .inherited import Inherited
from .own_pickling import OPENED, OwnPickling

PROPERTIES = ("property", "cached_property")


def change(document: Document, call: cst.Call, inherited: Inherited) -> Change | None:
    """None where it is opened at once."""
    above = list(document.ancestors(call))
    method = next((item for item in above if isinstance(item, cst.FunctionDef)), None)
    owner = document.parent(document.parent(method) or method) if method is not None else None
    if method is None or not isinstance(owner, cst.ClassDef) or not method.params.params:
        return None
    line = next((item for item in above if isinstance(item, cst.SimpleStatementLine)), None)
    if line is None or len(line.body) != 1 or not isinstance(method.body, cst.IndentedBlock):
        return None
    opening = _Opening(document, owner, method, line, inherited)
    return opening.in_property() or opening.on_first_use()


class _Opening:
    def __init__(
        self,
        document: Document,
        owner: cst.ClassDef,
        method: cst.FunctionDef,
        line: cst.SimpleStatementLine,
        inherited: Inherited,
    ) -> None:
        self.document, self.owner, self.method, self.line, self.inherited = document, owner, method, line, inherited
        self.receiver = method.params.params[0].name.value

    def in_property(self) -> Change | None:
        document, method, statement = self.document, self.method, self.line.body[0]
        decorators = [item.decorator for item in method.decorators]
        if len(decorators) != 1 or not isinstance(statement, cst.Return) or statement.value is None:
            return None
        decorator = decorators[0]
        named = decorator.attr if isinstance(decorator, cst.Attribute) else decorator
        lines = list(method.body.body)
        is_whole = lines[-1] is self.line and all(_is_text(document, one) for one in lines[:-1]) and len(lines) < 3
        if not isinstance(named, cst.Name) or named.value not in PROPERTIES or not is_whole:
            return None
        process, imports = self._process()
        name = method.name.value
        opened = f"{OPENED}{name.lstrip('_')}"
        indent = document.indent_of(self.line)
        deep, me = indent + document.indent, self.receiver
        expression = document.code(statement.value)
        text = document.newline.join(
            (
                f'if {me}.__dict__.get("{opened}_by") != {process}.getpid():',
                *(f"{deep}{line}" for line in self.inherited.closing(statement.value, me, opened, document.indent)),
                f"{deep}{me}.{opened} = {expression}",
                f"{deep}{me}.{opened}_by = {process}.getpid()",
                f"{indent}return {me}.{opened}",
            )
        )
        edits = [document.replaced(statement, text)]
        if named.value != "property":
            edits.append(document.replaced(decorator, "property"))
        edits += self._pickling().without(name, self._end())
        return Change((*imports, *self._ended(edits)), False, f"{name} is opened once in each process")

    def on_first_use(self) -> Change | None:
        document, statement = self.document, self.line.body[0]
        block = document.parent(self.line)
        test = document.parent(block) if block is not None else None
        if not isinstance(statement, cst.Assign) or len(statement.targets) != 1 or not isinstance(test, cst.If):
            return None
        name = self._attribute(statement.targets[0].target)
        asked = document.code(test.test)
        me = self.receiver
        if not name or test.body is not block or asked not in (f"{me}.{name} is None", f"not {me}.{name}"):
            return None
        if self._times_stored(name) > 1:
            raise NotFixable("it is stored in several places")
        process, imports = self._process()
        by = f"_{name.lstrip('_')}_opened_by"
        indent = document.indent_of(self.line)
        first = document.line_start(document.span(self.line).start)
        closing = self.inherited.closing(statement.value, me, name, document.indent)
        edits = [
            document.replaced(test.test, f"{asked} or {me}.{by} != {process}.getpid()"),
            document.inserted(first, "".join(f"{indent}{line}{document.newline}" for line in closing)),
            document.inserted(document.line_after(document.span(self.line).end), self._after(by, process)),
            *self._pickling().with_none(name, self._end()),
        ]
        return Change((*imports, *self._ended(edits)), False, f"{name.lstrip('_')} is opened once in each process")

    def _after(self, by: str, process: str) -> str:
        indent = self.document.indent_of(self.line)
        return f"{indent}{self.receiver}.{by} = {process}.getpid(){self.document.newline}"

    def _process(self) -> tuple[str, list[Edit]]:
        return self.document.with_import("import os", self.owner)

    def _pickling(self) -> OwnPickling:
        return OwnPickling(self.document, self.owner, self.method)

    def _end(self) -> int:
        return self.document.line_after(self.document.span(self.method.body.body[-1]).end)

    def _ended(self, edits: list[Edit]) -> list[Edit]:
        """The last line of a file may have no end, and something comes behind it."""
        end = self._end()
        is_open = not self.document.text[:end].endswith(("\n", "\r")) and any(edit.start == end for edit in edits)
        return [self.document.inserted(end, self.document.newline), *edits] if is_open else edits

    def _attribute(self, node: cst.CSTNode) -> str:
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == self.receiver:
            return node.attr.value
        return ""

    def _times_stored(self, name: str) -> int:
        """How often the class stores something else than None."""
        found = 0
        for node in self.document.nodes(self.owner):
            if isinstance(node, cst.Assign | cst.AnnAssign):
                targets = [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]
                is_none = isinstance(node.value, cst.Name) and node.value.value == "None"
                stored = any(self._attribute(part) == name for one in targets for part in self.document.nodes(one))
                found += stored and not is_none
            elif isinstance(node, cst.AsName):
                found += any(self._attribute(part) == name for part in self.document.nodes(node.name))
        return found


def _is_text(document: Document, line: cst.CSTNode) -> bool:
    return document.code(line).lstrip("rRuU")[:1] in ('"', "'")
