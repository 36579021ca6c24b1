"""A file as codemods see it: its exact text, libcst's tree of it, and the places of the tree in the text."""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from flake8_torchmp import source

from .change import Edit, NotFixable, applied
from .imports import Imports

_LINE_END = re.compile(r"\r\n|\r|\n")
_FOREIGN_TO_LIBCST = re.compile(r"\r(?!\n)|(?:(?<=\A)|(?<=[\r\n]))\f(?=[^\s])")
"""Old line ends, and form feeds right before code. One line end more or another one moves no offset."""

Node = TypeVar("Node", bound=cst.CSTNode)


class Place(Protocol):
    """Where something stands, as findings and repairs say it."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def end_column(self) -> int: ...


class Span(NamedTuple):
    """Offsets in the text of a document."""

    start: int
    end: int


class Document:
    """One file. Its bytes outside the edits of a change stay as they are: encoding, byte-order mark, line ends."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        try:
            self._encoding = source.encoding(data)
            self.text = data.decode(self._encoding)
        except (source.Unreadable, UnicodeError, LookupError) as error:
            raise NotFixable(f"it cannot be decoded: {error}") from None
        if self.encoded(self.text) != data:
            raise NotFixable(f"its bytes are not what {self._encoding} makes of its text")
        self._handed_out: set[str] = set()
        self.made: dict[tuple[str, str], tuple[str, tuple[Edit, ...]]] = {}
        """The functions that fixes of this round make of lambdas which read nothing local: names and insertions."""

    def encoded(self, text: str) -> bytes:
        """The bytes of a text of this file."""
        try:
            return text.encode(self._encoding)
        except UnicodeError:
            raise NotFixable(f"the file's encoding, {self._encoding}, has no bytes for the new text") from None

    def after(self, edits: tuple[Edit, ...]) -> bytes:
        """The bytes of the file with those of the edits that are its own."""
        return self.encoded(applied(self.text, [edit for edit in edits if edit.path == self.path]))

    # the tree

    @cached_property
    def _wrapper(self) -> MetadataWrapper:
        text = _FOREIGN_TO_LIBCST.sub("\n", self.text)
        try:
            module = cst.parse_module(text)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise NotFixable(f"libcst cannot read the file: {str(error).splitlines()[0]}") from None
        if module.code != text:
            raise NotFixable("libcst cannot give the file back as it is")
        return MetadataWrapper(module, unsafe_skip_copy=True)

    @property
    def module(self) -> cst.Module:
        return self._wrapper.module

    def metadata(self, provider: Any) -> Mapping[cst.CSTNode, Any]:
        """What one of libcst's metadata providers says of the tree, e.g. ScopeProvider."""
        return self._wrapper.resolve(provider)

    @cached_property
    def _spans(self) -> Mapping[cst.CSTNode, CodeRange]:
        return self._wrapper.resolve(PositionProvider)

    @cached_property
    def _parents(self) -> dict[int, cst.CSTNode]:
        parents: dict[int, cst.CSTNode] = {}
        pending: list[cst.CSTNode] = [self.module]
        while pending:
            node = pending.pop()
            for child in node.children:
                parents[id(child)] = node
                pending.append(child)
        return parents

    def nodes(self, within: cst.CSTNode | None = None) -> Iterator[cst.CSTNode]:
        """A node, by default the module, and all that it holds, in the order of the text."""
        pending: list[cst.CSTNode] = [within or self.module]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def node(self, place: Place, *kinds: type[Node]) -> Node:
        """The node of one of these types that stands exactly at a place.

        Of definitions and other compound statements only the start has to agree: libcst ends them elsewhere.
        """
        start = self.offset(place.line, place.column)
        end = self.offset(place.end_line, place.end_column)
        for node in self.nodes():
            if not isinstance(node, kinds) or self.span(node).start != start:
                continue
            if self.span(node).end == end or isinstance(node, cst.BaseCompoundStatement):
                return node
        names = " or ".join(kind.__name__ for kind in kinds)
        raise NotFixable(f"no {names} is found at line {place.line}")

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """None above the module."""
        return self._parents.get(id(node))

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """From the node's parent up to the module."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def statement_at_top(self, node: cst.CSTNode) -> cst.BaseStatement:
        """The statement of the module's own body that holds a node, or is it."""
        for item in (node, *self.ancestors(node)):
            if isinstance(self.parent(item), cst.Module) and isinstance(
                item, cst.SimpleStatementLine | cst.BaseCompoundStatement
            ):
                return item
        raise NotFixable("it stands in no statement")

    # places in the text

    @cached_property
    def _line_starts(self) -> list[int]:
        return _line_starts(self.text)

    @cached_property
    def _line_starts_of_tree(self) -> list[int]:
        """As libcst counts the lines."""
        return _line_starts(self.module.code)

    def offset(self, line: int, column: int) -> int:
        """The offset of a line, from 1, and a column in characters, from 0."""
        if not 0 < line <= len(self._line_starts):
            raise NotFixable(f"the file has no line {line}")
        return self._line_starts[line - 1] + column

    def span(self, node: cst.CSTNode) -> Span:
        """The node without the space and parentheses around it, a definition without its decorators."""
        (first, last), starts = (self._spans[node].start, self._spans[node].end), self._line_starts_of_tree
        return Span(starts[first.line - 1] + first.column, starts[last.line - 1] + last.column)

    def code(self, node: cst.CSTNode) -> str:
        return self.text[slice(*self.span(node))]

    def line_start(self, offset: int) -> int:
        """Where the line begins that an offset is in."""
        from bisect import bisect_right

        return self._line_starts[bisect_right(self._line_starts, offset) - 1]

    def line_after(self, offset: int) -> int:
        """Where the next line begins; the end of the text after the last."""
        found = _LINE_END.search(self.text, offset)
        return found.end() if found else len(self.text)

    def start_with_decorators(self, statement: cst.CSTNode) -> int:
        """Where a statement begins, its decorators included; comments above it are left above."""
        decorators = getattr(statement, "decorators", ())
        return self.span(decorators[0]).start if decorators else self.span(statement).start

    def indent_of(self, node: cst.CSTNode) -> str:
        """The space before the line on which the statement around a node begins."""
        for item in (node, *self.ancestors(node)):
            if isinstance(item, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                start = self.start_with_decorators(item)
                line = self.text[self.line_start(start) : start]
                return line[: len(line) - len(line.lstrip(" \t\f"))]
        return ""

    @cached_property
    def indent(self) -> str:
        """One step of indentation, as most blocks of the file do it."""
        usual = self.module.default_indent
        blocks = [node for node in self.nodes() if isinstance(node, cst.IndentedBlock)]
        steps = Counter(usual if block.indent is None else block.indent for block in blocks)
        return max(steps, key=steps.__getitem__, default=usual)

    @cached_property
    def quote(self) -> str:
        """What most of the file's texts stand between."""
        quotes = [node.quote for node in self.nodes() if isinstance(node, cst.SimpleString)]
        return "'" if quotes.count("'") > quotes.count('"') else '"'

    @cached_property
    def newline(self) -> str:
        found = _LINE_END.search(self.text)
        return found[0] if found else "\n"

    # edits

    def replaced(self, node: cst.CSTNode, text: str) -> Edit:
        return Edit(self.path, *self.span(node), text)

    def inserted(self, offset: int, text: str) -> Edit:
        return Edit(self.path, offset, offset, text)

    # names

    @cached_property
    def _names(self) -> set[str]:
        """Every name that the file binds or reads in some scope, also inside f-strings; not attributes and keywords."""
        names = set(dir(builtins)) | set(keyword.kwlist) | set(keyword.softkwlist)
        for node in self.nodes():
            if isinstance(node, cst.Name) and self.is_variable(node):
                names.add(node.value)
        return names

    def is_variable(self, node: cst.Name) -> bool:
        """Whether a name is one of a scope, not of an attribute, of an argument or inside an import."""
        above = self.parent(node)
        if isinstance(above, cst.Attribute):
            return above.value is node and not any(isinstance(item, cst.ImportFrom) for item in self.ancestors(above))
        if isinstance(above, cst.Arg):
            return above.keyword is not node
        if isinstance(above, cst.ImportAlias):
            return above.asname is None
        return not isinstance(above, cst.ImportFrom)

    def fresh(self, name: str) -> str:
        """The name, or one like it, that clashes with nothing in any scope of the file; each is given once."""
        taken = self._names | self._handed_out
        unused, number = name, 2
        while unused in taken:
            unused, number = f"{name}_{number}", number + 1
        self._handed_out.add(unused)
        return unused

    def is_free(self, name: str) -> bool:
        return name not in self._names and name not in self._handed_out

    def reserved(self, name: str) -> bool:
        """Whether a name can be used as it is; the fixes of one round cannot all have it."""
        if name in self._handed_out:
            return False
        self._handed_out.add(name)
        return True

    # imports

    @cached_property
    def _imports(self) -> Imports:
        return Imports(self)

    def imported(self, name: str, at: cst.CSTNode) -> str:
        """How a node may spell a module or a name of one, e.g. `mp.get_context`; nothing where it may not yet."""
        return self._imports.spelling(name, at)

    def with_import(self, statement: str, at: cst.CSTNode) -> tuple[str, list[Edit]]:
        """How a node may spell what `import x` or `from x import y` brings, and the edits that it takes, if any."""
        return self._imports.bring(statement, at)

    def with_moved(self, statements: list[str]) -> list[Edit]:
        """The edits by which imports that stood elsewhere in the file come to its top, as they are."""
        return self._imports.moved(statements)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _LINE_END.finditer(text))]


class Documents(Mapping[str, Document]):
    """The files of the project by their absolute paths, read when they are asked for."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._known: dict[str, Document] = {}

    def __getitem__(self, path: str) -> Document:
        if path not in self._known:
            try:
                self._known[path] = Document(path, self._read(path))
            except source.Unreadable as error:
                raise NotFixable(f"{path} cannot be read: {error}") from None
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
