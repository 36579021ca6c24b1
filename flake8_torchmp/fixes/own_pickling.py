"""What a class says itself about its pickling, once one of its attributes is opened in each process instead of stored.

`__getstate__` leaves out what the property keeps, where it took out or changed what was stored (`del state["file"]`,
`state.pop("file")`, `state["file"] = None`, `if key != "file"`, `not in ("file", "lock")`); `__setstate__` no longer
opens it anew. Refused: anything else that they do with it, and `__reduce__` and `__slots__`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from .change import Edit, NotFixable
from .document import Document

METHODS = ("__getstate__", "__setstate__")
OTHERS = frozenset("__reduce__ __reduce_ex__ __slots__ __getnewargs__ __getnewargs_ex__".split())
OPENED = "_opened_"
"""How the names begin under which properties keep what they opened."""
UNKNOWN = "its class says itself how it is pickled"


class OwnPickling:
    """The methods by which a class says what is pickled of its objects."""

    def __init__(self, document: Document, owner: cst.ClassDef) -> None:
        self._document = document
        mentioned = {node.value for node in document.nodes(owner) if isinstance(node, cst.Name)}
        methods = {item.name.value: item for item in owner.body.body if isinstance(item, cst.FunctionDef)}
        own = {name: methods[name] for name in METHODS if name in methods}
        if mentioned & OTHERS or mentioned & {*METHODS} - own.keys():
            raise NotFixable(UNKNOWN)
        self._getstate, self._setstate = own.get("__getstate__"), own.get("__setstate__")

    @property
    def has_getstate(self) -> bool:
        return self._getstate is not None

    def edits(self, name: str, kept: tuple[str, ...]) -> Iterator[Edit]:
        """Both methods, after the attribute of a name became a property that keeps its values under other names."""
        if self._getstate is not None:
            yield from self._left_out(self._getstate, name, kept)
        if self._setstate is not None:
            yield from self._not_opened(self._setstate, name)

    def restored(self, name: str) -> int:
        """How often `__setstate__` stores the attribute."""
        return len(list(self._stored(self._setstate, name))) if self._setstate is not None else 0

    def demand_silence(self, name: str) -> None:
        """Refuses where one of the methods says anything about an attribute."""
        for method in (self._getstate, self._setstate):
            if method is not None and any(_mentions(node, name) for node in self._document.nodes(method)):
                raise NotFixable(UNKNOWN)

    def _left_out(self, method: cst.FunctionDef, name: str, kept: tuple[str, ...]) -> Iterator[Edit]:
        document = self._document
        if any(_is_attribute(node, name) for node in document.nodes(method)):
            raise NotFixable(UNKNOWN)
        if any(_is_text(node, OPENED) for node in document.nodes(method.body)):
            return
        found = [node for node in document.nodes(method.body) if _is_text(node, name)]
        if not found:
            raise NotFixable(UNKNOWN)
        texts = [f'"{one}"' for one in kept]
        for node in found:
            above = document.parent(node)
            line = next(item for item in document.ancestors(node) if isinstance(item, cst.BaseStatement))
            state = _taken_out(line, node, document)
            if state:
                if document.parent(line) is not method.body:
                    raise NotFixable(UNKNOWN)
                between = document.newline + document.indent_of(line)
                yield document.replaced(line, between.join(f"{state}.pop({text}, None)" for text in texts))
            elif isinstance(above, cst.Element) and _is_asked(document.parent(above), document):
                yield document.replaced(node, ", ".join(texts))
            elif isinstance(above, cst.ComparisonTarget) and isinstance(above.operator, cst.NotEqual):
                start, end = document.span(node)
                start = document.text.rindex("!=", 0, start)
                yield Edit(document.path, start, end, f"not in ({', '.join(texts)})")
            else:
                raise NotFixable(UNKNOWN)

    def _not_opened(self, method: cst.FunctionDef, name: str) -> Iterator[Edit]:
        document = self._document
        lines = list(self._stored(method, name))
        inside = {id(node) for line in lines for node in document.nodes(line)}
        if any(id(node) not in inside and _mentions(node, name) for node in document.nodes(method)):
            raise NotFixable(UNKNOWN)
        for line in lines:
            if len(lines) == len(method.body.body):
                yield document.replaced(line, "pass")
            else:
                start, end = document.span(line)
                comments = [empty.comment for empty in line.leading_lines if empty.comment is not None]
                first = document.span(comments[0]).start if comments else start
                yield Edit(document.path, document.line_start(first), document.line_after(end), "")

    def _stored(self, method: cst.FunctionDef, name: str) -> Iterator[cst.SimpleStatementLine]:
        for line in method.body.body:
            statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
            if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
                target = statement.targets[0].target
                if _is_attribute(target, name) and isinstance(line, cst.SimpleStatementLine):
                    yield line


def _taken_out(line: cst.CSTNode, text: cst.CSTNode, document: Document) -> str:
    """`state` where a statement does nothing but take the entry of this text out of it, or change it."""
    statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    place: cst.CSTNode | None = None
    if isinstance(statement, cst.Del):
        place = statement.target
    elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        place = statement.targets[0].target
    elif isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        function, arguments = statement.value.func, statement.value.args
        if isinstance(function, cst.Attribute) and function.attr.value == "pop" and arguments[0].value is text:
            return document.code(function.value) if isinstance(function.value, cst.Name) else ""
    if isinstance(place, cst.Subscript) and isinstance(place.value, cst.Name) and len(place.slice) == 1:
        index = place.slice[0].slice
        return place.value.value if isinstance(index, cst.Index) and index.value is text else ""
    return ""


def _is_asked(table: cst.CSTNode | None, document: Document) -> bool:
    """Whether a tuple, list or set stands behind `in` or `not in`."""
    above = document.parent(table) if isinstance(table, cst.Tuple | cst.List | cst.Set) else None
    return isinstance(above, cst.ComparisonTarget) and isinstance(above.operator, cst.In | cst.NotIn)


def _mentions(node: cst.CSTNode, name: str) -> bool:
    return _is_attribute(node, name) or _is_text(node, name)


def _is_attribute(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == name


def _is_text(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.SimpleString) and node.evaluated_value == name
