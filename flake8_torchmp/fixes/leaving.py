"""Statements that leave a method, as one edit for each line and one for each block that nothing remains of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from .change import Edit
from .document import Document

PLAIN = (
    *(cst.Name, cst.Attribute, cst.SimpleString, cst.Integer, cst.Float, cst.Tuple, cst.List, cst.Set, cst.Element),
    *(cst.Comparison, cst.ComparisonTarget, cst.UnaryOperation, cst.BooleanOperation),
    *(cst.BaseCompOp, cst.BaseUnaryOp, cst.BaseBooleanOp),
)
"""Of such parts are the tests made that nobody misses."""


class Going:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._instead: dict[int, list[str]] = {}
        self._units: list[cst.CSTNode] = []

    def replace(self, unit: cst.CSTNode, instead: list[str]) -> None:
        """A statement, small or compound, and the small ones that stand in its place, if any."""
        self._units.append(unit)
        self._instead[id(unit)] = instead

    def block(self, unit: cst.CSTNode) -> cst.BaseSuite:
        block = self._document.parent(self._line(unit))
        assert isinstance(block, cst.BaseSuite)
        return block

    def comments(self, unit: cst.CSTNode) -> tuple[list[str], str]:
        """What is said of a statement that stands alone on its lines: right above it, and behind it with its space."""
        line = self._line(unit)
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1:
            return [], ""
        above = [empty.comment.value for empty in self._own_lines(line) if empty.comment is not None]
        behind = line.trailing_whitespace if isinstance(line, cst.SimpleStatementLine) else None
        return above, f"  {behind.comment.value}" if behind is not None and behind.comment is not None else ""

    def edits(self) -> Iterator[Edit]:
        lines = {id(self._line(unit)): self._line(unit) for unit in self._units}
        blocks = {id(self.block(unit)): self.block(unit) for unit in self._units}
        emptied = {key for key, block in blocks.items() if all(not self._remaining(line) for line in block.body)}
        for line in lines.values():
            block = self._document.parent(line)
            if id(block) not in emptied:
                yield self._edit(line)
        for key in emptied:
            yield self._without(blocks[key])

    def _line(self, unit: cst.CSTNode) -> cst.CSTNode:
        above = self._document.parent(unit)
        return above if isinstance(above, cst.SimpleStatementLine) else unit

    def _remaining(self, line: cst.CSTNode) -> list[str]:
        document = self._document
        if not isinstance(line, cst.SimpleStatementLine):
            return self._instead.get(id(line), [document.code(line)])
        return [text for part in line.body for text in self._instead.get(id(part), [document.code(part)])]

    def _own_lines(self, line: cst.CSTNode) -> list[cst.EmptyLine]:
        """The comments right above a statement, without those that a blank line parts from it."""
        own: list[cst.EmptyLine] = []
        for empty in reversed(getattr(line, "leading_lines", ())):
            if empty.comment is None:
                break
            own.insert(0, empty)
        return own

    def _begin(self, line: cst.CSTNode) -> int:
        document, own = self._document, self._own_lines(line)
        comment = own[0].comment if own else None
        return document.line_start(document.span(comment or line).start)

    def _edit(self, line: cst.CSTNode) -> Edit:
        document, remaining = self._document, self._remaining(line)
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1 and remaining:
            first, last = document.span(line.body[0]).start, document.span(line.body[-1]).end
            return Edit(document.path, first, last, "; ".join(remaining))
        indent = document.indent_of(line)
        text = "".join(f"{indent}{one}{document.newline}" for one in remaining)
        return Edit(document.path, self._begin(line), document.line_after(document.span(line).end), text)

    def _without(self, block: cst.BaseSuite) -> Edit:
        """Nothing remains of a block: the `else` or the `if` goes with it, or it passes."""
        document, holder = self._document, self._document.parent(block)
        end = document.line_after(document.span(block.body[-1]).end)
        if isinstance(holder, cst.Else):
            return Edit(document.path, document.line_start(document.span(holder).start), end, "")
        if isinstance(holder, cst.If) and holder.orelse is None and not isinstance(document.parent(holder), cst.If):
            is_alone = len(getattr(document.parent(holder), "body", ())) == 1
            if not is_alone and all(
                isinstance(node, PLAIN) or not node.children for node in document.nodes(holder.test)
            ):
                return Edit(document.path, self._begin(holder), end, "")
        first = block.body[0]
        text = f"{document.indent_of(first)}pass{document.newline}"
        return Edit(document.path, self._begin(first), end, text)
