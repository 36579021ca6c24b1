"""What a class says itself about its pickling, once one of its attributes is opened in each process instead of stored.

`__getstate__` leaves out what the property keeps, where it took out or changed what was stored (`del state["file"]`,
`state.pop("file")`, `state["file"] = None`, `if key != "file"`, `not in ("file", "lock")`); `__setstate__` no longer
opens it anew. What they do not mention is added to the simple ones (`return {**self.__dict__, "lock": None}`, a copy of
`__dict__` that is changed and returned), and a class without any gets a `__getstate__`. Refused: anything else that
they do with it, and `__reduce__` and `__slots__`.
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
WITHOUT_OPENED = f'{{{{k: v for k, v in {{me}}.__dict__.items() if not k.startswith("{OPENED}")}}}}'
UNKNOWN = "its class says itself how it is pickled"


class OwnPickling:
    """The methods by which a class says what is pickled of its objects."""

    def __init__(self, document: Document, owner: cst.ClassDef, method: cst.FunctionDef) -> None:
        self._document, self._owner, self._method = document, owner, method
        mentioned = {node.value for node in document.nodes(owner) if isinstance(node, cst.Name)}
        methods = {item.name.value: item for item in owner.body.body if isinstance(item, cst.FunctionDef)}
        own = {name: methods[name] for name in METHODS if name in methods}
        if mentioned & OTHERS or mentioned & {*METHODS} - own.keys():
            raise NotFixable(UNKNOWN)
        self._getstate, self._setstate = own.get("__getstate__"), own.get("__setstate__")

    def without(self, name: str, place: int, others: tuple[str, ...] = ()) -> list[Edit]:
        """After the attribute of a name became a property that keeps what it opens under names with our prefix.

        So do the others, which `__setstate__` may make of it.
        """
        kept = (f"{OPENED}{name.lstrip('_')}", f"{OPENED}{name.lstrip('_')}_by")
        if self._getstate is None:
            edits = [self._made(WITHOUT_OPENED.format(me=self._receiver(self._method)), place)]
        else:
            edits = list(self._left_out(self._getstate, name, kept))
        if self._setstate is not None:
            edits += self._not_opened(self._setstate, name, others)
        return edits

    def with_none(self, name: str, place: int) -> list[Edit]:
        """An attribute that is opened where it is None is pickled as None."""
        if self._setstate is not None and any(_mentions(node, name) for node in self._document.nodes(self._setstate)):
            raise NotFixable(UNKNOWN)
        if self._getstate is None:
            return [self._made(f'{{**{self._receiver(self._method)}.__dict__, "{name}": None}}', place)]
        mentions = [node for node in self._document.nodes(self._getstate) if _mentions(node, name)]
        if mentions:
            if len(mentions) == 1 and self._is_set_to_none(mentions[0], self._getstate):
                return []
            raise NotFixable(UNKNOWN)
        added = self._added(self._getstate, (name,))
        if added is None:
            raise NotFixable(UNKNOWN)
        return [added]

    def restored(self, name: str) -> int:
        """How often `__setstate__` stores the attribute."""
        return len(list(self._stored(self._setstate, name))) if self._setstate is not None else 0

    def demand_silence(self, name: str) -> None:
        """Refuses where one of the methods says anything about an attribute."""
        for method in (self._getstate, self._setstate):
            if method is not None and any(_mentions(node, name) for node in self._document.nodes(method)):
                raise NotFixable(UNKNOWN)

    def _receiver(self, method: cst.FunctionDef) -> str:
        return method.params.params[0].name.value if method.params.params else ""

    def _made(self, state: str, place: int) -> Edit:
        """One method for all that the class opens in the same way; what is opened in another way waits for it."""
        document = self._document
        inner, deep = document.indent_of(self._method), document.indent_of(self._method.body.body[0])
        lines = ["", f"{inner}def __getstate__({self._receiver(self._method)}):", f"{deep}return {state}"]
        made = document.inserted(place, "".join(f"{line}{document.newline}" for line in lines))
        key = (f"{document.span(self._owner).start}", "__getstate__")
        known, edits = document.made.setdefault(key, (state, (made,)))
        if known != state:
            raise NotFixable(f"another fix says how {self._owner.name.value} is pickled")
        return edits[0]

    def _added(self, method: cst.FunctionDef, names: tuple[str, ...]) -> Edit | None:
        """Names that a `__getstate__` of a simple kind does not know yet are None in what it returns, or left out."""
        document, statements = self._document, _statements(method)
        end = statements[-1] if statements else None
        value = end.value if isinstance(end, cst.Return) else None
        entries = ", ".join(f'"{name}": None' for name in names)
        between = document.newline + document.indent_of(end) if end is not None else ""
        if isinstance(value, cst.Dict) and value.elements and isinstance(value.elements[0], cst.StarredDictElement):
            return document.inserted(document.span(value.elements[-1].value).end, f", {entries}")
        if isinstance(end, cst.Return) and value is not None and len(statements) == 1:
            text = document.code(value)
            if text == WITHOUT_OPENED.format(me=self._receiver(method)):
                return document.replaced(end, f"kept = {text}{between}return {{**kept, {entries}}}")
        first_one = statements[0] if len(statements) > 1 else None
        if isinstance(first_one, cst.Assign) and isinstance(value, cst.Name) and isinstance(end, cst.Return):
            target, copied = document.code(first_one.targets[0].target), document.code(first_one.value)
            me = self._receiver(method)
            copies = (f"{me}.__dict__.copy()", f"dict({me}.__dict__)", f"vars({me}).copy()", f"dict(vars({me}))")
            if (
                target == value.value
                and copied in copies
                and document.parent(document.parent(end) or end) is method.body
            ):
                pops = "".join(f'{target}.pop("{name}", None){between}' for name in names)
                return document.inserted(document.span(end).start, pops)
        return None

    def _left_out(self, method: cst.FunctionDef, name: str, kept: tuple[str, str]) -> Iterator[Edit]:
        document = self._document
        if any(_is_attribute(node, name) for node in document.nodes(method)):
            raise NotFixable(UNKNOWN)
        if any(_is_text(node, OPENED) for node in document.nodes(method.body)):
            return
        found = [node for node in document.nodes(method.body) if _is_text(node, name)]
        added = self._added(method, kept) if not found else None
        if added is not None:
            yield added
        elif not found:
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
            elif isinstance(above, cst.DictElement) and _is_none(above.value):
                start, end = document.span(node).start, document.span(above.value).end
                yield Edit(document.path, start, end, ", ".join(f"{text}: None" for text in texts))
            elif isinstance(above, cst.Element) and _is_asked(document.parent(above), document):
                yield document.replaced(node, ", ".join(texts))
            elif isinstance(above, cst.ComparisonTarget) and isinstance(above.operator, cst.NotEqual):
                start, end = document.span(node)
                start = document.text.rindex("!=", 0, start)
                yield Edit(document.path, start, end, f"not in ({', '.join(texts)})")
            else:
                raise NotFixable(UNKNOWN)

    def _is_set_to_none(self, text: cst.CSTNode, method: cst.FunctionDef) -> bool:
        """Whether the text is the key of an entry that is None in the state: in its display, or set for certain."""
        document, above = self._document, self._document.parent(text)
        if isinstance(above, cst.DictElement):
            return above.key is text and _is_none(above.value)
        line = next((item for item in document.ancestors(text) if isinstance(item, cst.SimpleStatementLine)), None)
        statement = line.body[0] if line is not None and len(line.body) == 1 else None
        if line is None or document.parent(line) is not method.body or not _taken_out(line, text, document):
            return False
        return isinstance(statement, cst.Assign) and _is_none(statement.value)

    def _not_opened(self, method: cst.FunctionDef, name: str, others: tuple[str, ...]) -> Iterator[Edit]:
        document = self._document
        lines = list(self._stored(method, name))
        going = [line for other in {name, *others} for line in self._stored(method, other)]
        inside = {id(node) for line in going for node in document.nodes(line)}
        if any(id(node) not in inside and _mentions(node, name) for node in document.nodes(method)):
            raise NotFixable(UNKNOWN)
        for line in lines:
            if len(going) == len(method.body.body):
                yield document.replaced(line, "pass")
            else:
                start, end = document.span(line)
                first, behind = document.line_start(start), document.line_after(end)
                said = document.text[end:behind].strip()
                comment = f"{document.indent_of(line)}{said}{document.newline}" if said.startswith("#") else ""
                yield Edit(document.path, first, behind, comment)

    def _stored(self, method: cst.FunctionDef, name: str) -> Iterator[cst.SimpleStatementLine]:
        for line in method.body.body:
            statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
            if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
                target = statement.targets[0].target
                if _is_attribute(target, name) and isinstance(line, cst.SimpleStatementLine):
                    yield line


def _statements(method: cst.FunctionDef) -> list[cst.CSTNode]:
    """Those of a method's own block, without its text; compound ones as they are."""
    found: list[cst.CSTNode] = []
    for line in method.body.body:
        found += line.body if isinstance(line, cst.SimpleStatementLine) else [line]
    return found[1:] if method.get_docstring() is not None else found


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


def _is_none(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"
