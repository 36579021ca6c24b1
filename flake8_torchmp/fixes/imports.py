"""What a file imports at its top, and where another import belongs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst
from libcst.helpers import get_full_name_for_node

from .change import Edit, NotFixable

if TYPE_CHECKING:
    from .document import Document


WIDTH = 88
"""What a line of imports may have without being too long for anyone."""


_OF_FILE = re.compile(r"^#!|coding[:=]|(?i:copyright|licen[cs]e)")
"""Comments that have to stay at the top of a file."""


class _Import(NamedTuple):
    """One name that an import at module level binds."""

    brings: str
    """The module, or the name in a module, with dots."""
    spelling: str
    """How the file calls it: `mp`, or `torch.multiprocessing` after `import torch.multiprocessing`."""
    line: cst.SimpleStatementLine


class Imports:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._made: dict[str, tuple[str, list[Edit]]] = {}
        lines = [line for line in _sure(document.module.body) if isinstance(line, cst.SimpleStatementLine)]
        self._imports = [found for line in lines for found in _imports_of(line)]
        self._meanings: dict[str, set[str]] = {}
        """What names are bound to by imports anywhere in the file."""
        self._rebound = self._bound_otherwise()

    def _bound_otherwise(self) -> set[str]:
        """The names that are bound, somewhere in the file, other than by one and the same import."""
        document = self._document
        bound: set[str] = set()
        for node in document.nodes():
            if isinstance(node, cst.SimpleStatementLine):
                for found in _imports_of(node):
                    root = found.spelling.partition(".")[0]
                    own = found.brings if "." not in found.spelling else root
                    self._meanings.setdefault(root, set()).add(own)
            elif isinstance(node, cst.Name) and binds(document, node):
                bound.add(node.value)
        return bound | {name for name, brought in self._meanings.items() if len(brought) > 1}

    def _countable(self, at: cst.CSTNode) -> list[_Import]:
        """The imports that have run when a node runs, and whose names mean nothing else anywhere."""
        document = self._document
        start = document.span(document.statement_at_top(at)).start
        return [
            found
            for found in self._imports
            if document.span(found.line).start < start and found.spelling.partition(".")[0] not in self._rebound
        ]

    def spelling(self, name: str, at: cst.CSTNode) -> str:
        imports = self._countable(at)
        for found in imports:
            if found.brings == name:
                return found.spelling
        module, _, member = name.rpartition(".")
        while module:
            for found in imports:
                if found.brings == module:
                    return f"{found.spelling}.{member}"
            module, _, last = module.rpartition(".")
            member = f"{last}.{member}"
        return ""

    def bring(self, statement: str, at: cst.CSTNode) -> tuple[str, list[Edit]]:
        module, name = _parsed(statement)
        wanted = f"{module}.{name}" if name else module
        for found in self._countable(at):
            if found.brings == wanted:
                return found.spelling, []
            if name and found.brings == module:
                return f"{found.spelling}.{name}", []
        if statement not in self._made:
            self._made[statement] = self._add(module, name)
        spelling, edits = self._made[statement]
        document = self._document
        if any(edit.start > document.span(document.statement_at_top(at)).start for edit in edits):
            raise NotFixable(f"`{statement}` would come after its use")
        return spelling, list(edits)

    def _add(self, module: str, name: str) -> tuple[str, list[Edit]]:
        document = self._document
        root = name or module.partition(".")[0]
        unused = document.fresh(root)
        is_free = unused == root or (not name and self._is_only_brought_by_imports(root, module))
        if name:
            alias = name if is_free else f"{name} as {unused}"
            joined = self._joined(module, alias)
            if joined is not None:
                return unused, [joined]
            text, spelling = f"from {module} import {alias}", unused
        elif is_free:
            text, spelling = f"import {module}", module
        else:
            text, spelling = f"import {module} as {unused}", unused
        return spelling, [self._placed(text, module, bool(name))]

    def _is_only_brought_by_imports(self, root: str, module: str) -> bool:
        """Whether `import root.more` changes nothing for a file that uses the name already."""
        if root in self._rebound:
            return False
        return self._meanings.get(root) == {module} or any(
            found.spelling.partition(".")[0] == root and (found.brings == root or "." in found.spelling)
            for found in self._imports
        )

    def moved(self, statements: list[str]) -> list[Edit]:
        if not self._first_block() and statements:
            return [self._placed_first(self._document.newline.join(statements))]
        edits: list[Edit] = []
        for text in statements:
            line = cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)
            edits.append(self._placed(text, _module_of(line), isinstance(line.body[0], cst.ImportFrom)))
        return edits

    # where it goes

    def _joined(self, module: str, alias: str) -> Edit | None:
        """One more name in a `from module import ...` of the first block, where that is one line, or a name a line."""
        document = self._document
        for line in self._first_block():
            part = line.body[0]
            if len(line.body) > 1 or not isinstance(part, cst.ImportFrom) or _module_of(line) != module:
                continue
            if isinstance(part.names, cst.ImportStar):
                continue
            spans = [document.span(name) for name in part.names]
            gaps = [document.text[one.end : other.start] for one, other in pairwise(spans)]
            start, end = document.span(line)
            is_short = end - start + len(alias) + 2 <= WIDTH and "\n" not in document.code(line)
            if not is_short and (not gaps or any(not re.fullmatch(r",\r?\n[ \t]+", gap) for gap in gaps)):
                continue
            gap = gaps[0] if gaps else ", "
            before = _rank([document.code(name) for name in part.names], alias)
            if before < len(part.names):
                return document.replaced(part.names[before], alias + gap + document.code(part.names[before]))
            return document.replaced(part.names[-1], document.code(part.names[-1]) + gap + alias)
        return None

    def _placed(self, text: str, module: str, is_from: bool) -> Edit:
        document, newline = self._document, self._document.newline
        block = self._first_block()
        groups = _groups(block)
        group = next((group for group in groups if any(_kind(line) == _kind_of(module) for line in group)), None)
        if group is not None:
            before = [line for line in group if _sorts_before(line, module, is_from)]
            if before:
                end = document.line_after(document.span(before[-1]).end)
                ended = document.text[:end].endswith(("\n", "\r"))
                return document.inserted(end, f"{text}{newline}" if ended else f"{newline}{text}")
            return document.inserted(document.span(group[0]).start, f"{text}{newline}")
        if block:
            if _kind_of(module) < _kind(block[0]):
                return document.inserted(self._start_with_own_comments(block[0]), f"{text}{newline}{newline}")
            end = document.line_after(document.span(block[-1]).end)
            ended = document.text[:end].endswith(("\n", "\r"))
            return document.inserted(end, f"{text}{newline}" if ended else f"{newline}{text}")
        return self._placed_first(text)

    def _start_with_own_comments(self, line: cst.SimpleStatementLine) -> int:
        """Where an import begins, with the comments right above it that speak of what it imports."""
        document = self._document
        start = place = document.line_start(document.span(line).start)
        comments = ""
        while place:
            above = document.line_start(place - 1)
            text = document.text[above:place]
            if not text.startswith("#") or _OF_FILE.search(text):
                break
            comments, place = comments + text, above
        names = {word for word in re.findall(r"\w{3,}", document.code(line)) if word not in ("from", "import")}
        return place if names & set(re.findall(r"\w{3,}", comments)) else start

    def _placed_first(self, text: str) -> Edit:
        """Into a file without imports: after its first comments, its docstring and its __future__."""
        document, newline = self._document, self._document.newline
        head = [line for line in document.module.body[:1] if _is_docstring(line)]
        head += [line for line in document.module.body if _is_future(line)]
        if head:
            end = document.line_after(document.span(head[-1]).end)
            ended = document.text[:end].endswith(("\n", "\r"))
            return document.inserted(end, (newline if ended else newline * 2) + text + newline)
        body = document.module.body
        start = document.start_with_decorators(body[0]) if body else len(document.text)
        return document.inserted(start, f"{text}{newline}{newline}")

    def _first_block(self) -> list[cst.SimpleStatementLine]:
        """The first statements of the file that are nothing but imports, __future__ aside, without a gap."""
        block: list[cst.SimpleStatementLine] = []
        for line in self._document.module.body:
            if isinstance(line, cst.SimpleStatementLine) and all(
                isinstance(part, cst.Import | cst.ImportFrom) for part in line.body
            ):
                if not _is_future(line):
                    block.append(line)
            elif block or not (_is_docstring(line) or _is_harmless(line)):
                break
        return block


def _sure(lines: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements that have run once those after them do, also those of a `try:` whose handlers all raise."""
    for line in lines:
        yield line
        if isinstance(line, cst.Try) and line.handlers and all(_raises(handler.body) for handler in line.handlers):
            yield from _sure(line.body.body)


def _raises(block: cst.BaseSuite) -> bool:
    last = block.body[-1] if block.body else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)


def binds(document: Document, node: cst.Name) -> bool:
    """Whether a name is bound where it stands, other than by an import."""
    above = document.parent(node)
    if isinstance(above, cst.FunctionDef | cst.ClassDef | cst.Param | cst.NamedExpr | cst.NameItem):
        name = above.target if isinstance(above, cst.NamedExpr) else getattr(above, "name", above)
        return name is node or isinstance(above, cst.NameItem)
    return _is_target(document, node)


def _is_target(document: Document, node: cst.Name) -> bool:
    """Whether a name is assigned, looped over, unpacked into or deleted."""
    child: cst.CSTNode = node
    above = document.parent(node)
    if isinstance(above, cst.AsName):
        return not isinstance(document.parent(above), cst.ImportAlias)
    while isinstance(above, cst.Tuple | cst.List | cst.Element | cst.StarredElement):
        child, above = above, document.parent(above)
    return isinstance(
        above, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor | cst.Del | cst.MatchAs
    ) and child in (getattr(above, "target", None), getattr(above, "name", None))


def _imports_of(line: cst.SimpleStatementLine) -> list[_Import]:
    found: list[_Import] = []
    for part in line.body:
        if isinstance(part, cst.Import):
            for alias in part.names:
                module = get_full_name_for_node(alias.name) or ""
                found.append(_Import(module, alias.evaluated_alias or module, line))
                if alias.evaluated_alias is None and "." in module:
                    root = module.partition(".")[0]
                    found.append(_Import(root, root, line))
        elif isinstance(part, cst.ImportFrom) and not part.relative and not isinstance(part.names, cst.ImportStar):
            module = get_full_name_for_node(part.module) or "" if part.module else ""
            for alias in part.names:
                name = get_full_name_for_node(alias.name) or ""
                found.append(_Import(f"{module}.{name}", alias.evaluated_alias or name, line))
    return found


def _parsed(statement: str) -> tuple[str, str]:
    """(module, name of it or nothing)"""
    words = statement.split()
    return (words[1], words[3]) if words[0] == "from" else (words[1], "")


def _module_of(line: cst.SimpleStatementLine) -> str:
    part = line.body[0]
    if isinstance(part, cst.Import):
        return get_full_name_for_node(part.names[0].name) or ""
    assert isinstance(part, cst.ImportFrom)
    module = get_full_name_for_node(part.module) or "" if part.module else ""
    return "." * len(part.relative) + module


def _kind(line: cst.SimpleStatementLine) -> int:
    return _kind_of(_module_of(line))


def _kind_of(module: str) -> int:
    """The usual order: the standard library, other packages, the project's own by relative names."""
    if module.startswith("."):
        return 2
    return 0 if module.partition(".")[0] in sys.stdlib_module_names else 1


def _sorts_before(line: cst.SimpleStatementLine, module: str, is_from: bool) -> bool:
    if _kind(line) != _kind_of(module):
        return _kind(line) < _kind_of(module)
    return (isinstance(line.body[0], cst.ImportFrom), _module_of(line).lower()) <= (is_from, module.lower())


def _by_kind(name: str) -> tuple[int, str]:
    """CONSTANTS, Classes, functions: the usual order of names in one import."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name.lower()


def _rank(names: list[str], name: str) -> int:
    """Where another name belongs among names: in their order if they have one, else behind them."""
    keys: tuple[Callable[[str], tuple[int, str]], ...] = (_by_kind, lambda name: (0, name.lower()))
    for key in keys:
        if names == sorted(names, key=key):
            return sum(key(one) < key(name) for one in names)
    return len(names)


def _groups(block: list[cst.SimpleStatementLine]) -> list[list[cst.SimpleStatementLine]]:
    """The imports between blank lines."""
    groups: list[list[cst.SimpleStatementLine]] = []
    for line in block:
        if not groups or any(empty.comment is None for empty in line.leading_lines):
            groups.append([])
        groups[-1].append(line)
    return groups


def _is_docstring(line: cst.CSTNode) -> bool:
    return (
        isinstance(line, cst.SimpleStatementLine)
        and isinstance(line.body[0], cst.Expr)
        and isinstance(line.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )


def _is_future(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and any(
        isinstance(part, cst.ImportFrom) and isinstance(part.module, cst.Name) and part.module.value == "__future__"
        for part in line.body
    )


def _is_harmless(line: cst.CSTNode) -> bool:
    """`__version__ = "1"` and the like, which people put above their imports."""
    return (
        isinstance(line, cst.SimpleStatementLine)
        and isinstance(line.body[0], cst.Assign)
        and isinstance(line.body[0].value, cst.BaseString | cst.BaseNumber)
    )
