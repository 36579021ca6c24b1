"""What a file's names mean: which scope owns each, what is bound where, what a spawned child sees of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from flake8_torchmp import source
from flake8_torchmp.findings import Repair
from flake8_torchmp.semantics.flow import never_continues
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, DEFINITIONS, FUNCTIONS
from flake8_torchmp.semantics.scopes import Binding, Scope

from .change import Edit, NotFixable
from .document import Document

if TYPE_CHECKING:
    import libcst as cst

CLOSED_UP = 88
"""The length to which a call whose argument gets shorter is put on one line."""
_OUTLINES: WeakKeyDictionary[Document, Outline] = WeakKeyDictionary()


def outline_of(document: Document) -> Outline:
    if document not in _OUTLINES:
        _OUTLINES[document] = Outline(document)
    return _OUTLINES[document]


class Outline:
    def __init__(self, document: Document) -> None:
        self.path = document.path
        self.text = document.text
        self.offset = document.offset
        try:
            self.tree = source.parse(document.data, document.path)
        except source.Unreadable as error:
            raise NotFixable(str(error)) from None
        self.module = Module(document.path, "", self.tree, document.data)
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    # places

    def node(self, repair: Repair, *kinds: type[ast.AST]) -> Any:
        """The node of one of some types that begins where a repair says."""
        start = self.offset(repair.line, repair.column)
        end = self.offset(repair.end_line, repair.end_column)
        for node in ast.walk(self.tree):
            if isinstance(node, kinds) and self.start(node) == start and self.end(node) == end:
                return node
        raise NotFixable(f"line {repair.line} holds no such code any more")

    def start(self, node: Any) -> int:
        return self.offset(node.lineno, self._column(node.lineno, node.col_offset))

    def end(self, node: Any) -> int:
        return self.offset(node.end_lineno, self._column(node.end_lineno, node.end_col_offset))

    def _column(self, line: int, column: int) -> int:
        return source.character_column(self.module.lines[line - 1], column)

    def code(self, node: ast.AST) -> str:
        return self.text[self.start(node) : self.end(node)]

    def first_line(self, statement: Any) -> int:
        """The number of a statement's first line, its decorators included."""
        line: int = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        return line

    def line_with_comments(self, statement: ast.AST) -> int:
        """The number of the first of the comment lines right above a statement, or of its own first line."""
        first = self.first_line(statement)
        before = self.line_before(statement)
        while first - 1 > before and self.module.lines[first - 2].lstrip(" \t\f").startswith("#"):
            first -= 1
        return first

    def line_before(self, statement: Any) -> int:
        """The last line of what stands before a statement in its block, or of the block's own header; 0 at the top."""
        block = self.block(statement)
        index = block.index(statement)
        if index:
            return block[index - 1].end_lineno or 0
        holder: Any = self.parents[statement]
        if isinstance(holder, ast.Module):
            return 1 if self.text.startswith("#!") else 0
        parts = [node for node in self.parts(holder) if node not in block and hasattr(node, "end_lineno")]
        line: int = self.first_line(statement)
        return max((p.end_lineno for p in parts if p.end_lineno < line), default=getattr(holder, "lineno", 0))

    def block(self, statement: ast.AST) -> list[ast.stmt]:
        holder = self.parents[statement]
        for field in ("body", "orelse", "finalbody"):
            block = getattr(holder, field, None)
            if isinstance(block, list) and statement in block:
                return block
        raise NotFixable("it stands in no block of statements")

    def parts(self, node: ast.AST) -> Iterator[Any]:
        pending = list(ast.iter_child_nodes(node))
        while pending:
            part = pending.pop()
            yield part
            pending += ast.iter_child_nodes(part)

    def alone_on_its_lines(self, statement: ast.AST) -> bool:
        begin, end = self.line_start(self.start(statement)), self.end(statement)
        after = re.match(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)", self.text[end:])
        return self.text[begin : self.start(statement)].strip() == "" and after is not None

    def line_start(self, offset: int) -> int:
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def line_offset(self, line: int) -> int:
        """Where a line begins; the end of the text after the last."""
        return self.offset(line, 0) if line <= len(self.module.lines) else len(self.text)

    def indent(self, statement: ast.AST) -> str:
        begin = self.line_start(self.start(statement))
        line = self.text[begin : self.start(statement)]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def removed(self, first: int, last: int, *, is_first: bool = False, above: bool = True) -> Edit:
        """Some lines are taken out; of the blank lines around them the more stay, none at the beginning of a block.

        Not `above` means that what stands there goes as well, and takes those with it.
        """
        lines = self.module.lines
        over = below = 0
        while first - 2 - over >= 0 and not lines[first - 2 - over].strip():
            over += 1
        while last + below < len(lines) and not lines[last + below].strip():
            below += 1
        if is_first:
            first, last = first - over * above, last + below
        elif last + below >= len(lines) or below > over:
            first -= over
        else:
            last += below
        return self.edit(self.line_offset(first), self.line_offset(last + 1), "")

    def inside_strings(self, node: ast.AST) -> set[int]:
        """The numbers of lines that begin inside a string, docstrings aside: their indentation is content."""
        lines: set[int] = set()
        for part in ast.walk(node):
            is_text = isinstance(part, ast.Constant) and isinstance(part.value, str | bytes)
            if (is_text or isinstance(part, ast.JoinedStr)) and not self._is_docstring(part):
                lines.update(self._inside(part))
        return lines

    def _inside(self, part: Any) -> Iterator[int]:
        if part.end_lineno == part.lineno:
            return
        import io
        import tokenize

        text = "(" + self.code(part) + ")"
        depth = 0
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                kind = tokenize.tok_name[token.type]
                if kind == "STRING":
                    yield from range(part.lineno + token.start[0], part.lineno + token.end[0])
                elif kind in ("FSTRING_START", "TSTRING_START"):
                    depth += 1
                    first = token.start[0]
                elif kind in ("FSTRING_END", "TSTRING_END"):
                    depth -= 1
                    if not depth:
                        yield from range(part.lineno + first, part.lineno + token.end[0])
        except (tokenize.TokenError, SyntaxError):
            yield from range(part.lineno + 1, part.end_lineno + 1)

    def _is_docstring(self, part: ast.AST) -> bool:
        statement = self.parents.get(part)
        holder: Any = self.parents.get(statement) if statement is not None else None
        return (
            isinstance(statement, ast.Expr)
            and isinstance(holder, (*DEFINITIONS, ast.Module))
            and holder.body[0] is statement
        )

    # structure

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> Any:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def top(self, node: ast.AST) -> ast.stmt:
        """The statement of module level that a node is part of."""
        for item in (node, *self.ancestors(node)):
            if isinstance(self.parents.get(item), ast.Module):
                assert isinstance(item, ast.stmt)
                return item
        raise NotFixable("it stands in no statement")

    def cst_top(self, document: Document, statement: ast.stmt) -> cst.CSTNode:
        """libcst's node for a statement of module level."""
        start = self.start(statement)
        found: cst.CSTNode = document.module.body[0]
        for node in document.module.body:
            if document.span(node).start > start:
                break
            found = node
        return found

    def is_header(self, part: ast.AST, node: Any) -> bool:
        """Whether a part of a definition is evaluated where the definition stands."""
        body: Any = node.body
        inside = [body] if isinstance(node, ast.Lambda) else body
        return not any(item in inside for item in (part, *self.ancestors(part)))

    def replaced(self, node: ast.expr, text: str) -> Edit:
        """Another expression in the place of one, closed up where it is the only argument and has lines of its own."""
        start, end = self.with_parentheses(node)
        call = self.parents.get(node)
        if isinstance(call, ast.Call) and call.args == [node] and not call.keywords:
            opening, closing = self.end(call.func), self.end(call) - 1
            before, after = self.text[opening:start], self.text[end:closing]
            line = self.text[self.line_start(opening) : opening]
            rest = re.match(r"[^\r\n]*", self.text[closing:])
            length = len(line) + len(text) + len(rest[0] if rest else "") + 1
            if before.strip() == "(" and "\n" in before and not after.strip() and length <= CLOSED_UP:
                start, end = opening + 1, closing
        return self.edit(start, end, text)

    def with_parentheses(self, node: ast.AST) -> tuple[int, int]:
        """The span of an expression and of the parentheses that are its own alone."""
        start, end = self.start(node), self.end(node)
        parent: Any = self.parents[node]
        own_call = self.text.index("(", self.end(parent.func)) if isinstance(parent, ast.Call) else -1
        while True:
            before, after = self.text[:start].rstrip(), self.text[end:].lstrip()
            if not (before.endswith("(") and after.startswith(")")) or len(before) - 1 == own_call:
                return start, end
            start, end = len(before) - 1, len(self.text) - len(after) + 1

    # names

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated; for a definition, the one that it is bound in."""
        scopes, child = self.module.scopes, node
        for parent in self.ancestors(node):
            if isinstance(parent, DEFINITIONS):
                if child in parent.body:
                    return scopes[parent]
            elif isinstance(parent, ast.Lambda):
                if child is parent.body:
                    return scopes[parent]
            elif isinstance(parent, COMPREHENSIONS):
                first = parent.generators[0]
                if not (child is first and self._comes_from(node, first)):
                    return scopes[parent]
            child = parent
        return self.module.scope

    def _comes_from(self, node: ast.AST, first: ast.comprehension) -> bool:
        """Whether a node is part of what a comprehension iterates first, which is evaluated outside."""
        return any(item is first.iter for item in (node, *self.ancestors(node)))

    def owner(self, name: ast.Name) -> Scope | None:
        return self.owner_from(name.id, self.scope_of(name))

    def owner_from(self, name: str, scope: Scope) -> Scope | None:
        """The scope that a name belongs to where it is read in some scope; None for builtins and star imports."""
        current: Scope | None = scope
        while current is not None:
            if name in current.global_names:
                return self.module.scope
            is_seen = current is scope or not current.is_class
            if is_seen and name in current.bindings and name not in current.nonlocal_names:
                return current
            current = current.parent
        return None

    def names(self, node: ast.AST) -> list[ast.Name]:
        """In the order of the text."""
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        return sorted(names, key=lambda name: (name.lineno, name.col_offset))

    @cached_property
    def all_names(self) -> list[ast.Name]:
        return self.names(self.tree)

    def references(self, binding: Binding) -> list[ast.Name]:
        """Where a name is read that means what a binding's scope has under it."""
        return [
            name
            for name in self.all_names
            if name.id == binding.name and isinstance(name.ctx, ast.Load) and self.owner(name) is binding.scope
        ]

    def is_inside(self, scope: Scope | None, node: ast.AST) -> bool:
        while scope is not None:
            if scope.node is node:
                return True
            scope = scope.parent
        return False

    # what a spawned child sees

    @cached_property
    def early_exit(self) -> ast.stmt | None:
        """The first `if __name__ != "__main__": sys.exit()` of module level."""
        for statement in self.tree.body:
            if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.test, ast.Compare):
                continue
            is_other = isinstance(statement.test.ops[0], ast.NotEq | ast.NotIn | ast.IsNot)
            if is_other and "__main__" in self.code(statement.test) and never_continues(statement.body):
                return statement
        return None

    def is_guard(self, statement: ast.stmt) -> bool:
        if not isinstance(statement, ast.If):
            return False
        texts = [self.code(statement.test)]
        for name in self.names(statement.test):
            bindings = self.module.scope.bindings.get(name.id, ())
            if len(bindings) == 1 and bindings[0].value is not None:
                texts.append(self.code(bindings[0].value))
        return any("__main__" in text or "MainProcess" in text for text in texts)

    def is_guarded(self, node: ast.AST) -> bool:
        """Whether something at module level runs in the main process alone."""
        top = self.top(node)
        if self.early_exit is not None and top.lineno > self.early_exit.lineno:
            return True
        return isinstance(top, ast.If) and self.is_guard(top) and not any(node in ast.walk(s) for s in top.orelse)

    def edit(self, start: int, end: int, text: str) -> Edit:
        return Edit(self.path, start, end, text)


def is_function(node: ast.AST) -> bool:
    return isinstance(node, FUNCTIONS)
