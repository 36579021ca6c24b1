"""A parameter whose default is a relative path is made absolute where the function begins."""

from __future__ import annotations

import libcst as cst

from .change import Edit
from .document import Document

_AS_TEXT = (cst.Arg, cst.Assign, cst.AssignTarget, cst.AnnAssign, cst.FormattedStringExpression)


def resolved_at_start(document: Document, default: cst.CSTNode, function: str) -> Edit | None:
    """`root = os.path.abspath(root)`; None where the function has no place for it, or the path may be no text."""
    parameter = document.parent(default)
    above = document.parent(document.parent(parameter) or default) if isinstance(parameter, cst.Param) else None
    if not isinstance(parameter, cst.Param) or not isinstance(above, cst.FunctionDef):
        return None
    if not isinstance(above.body, cst.IndentedBlock) or document.code(default)[:-1].endswith("/"):
        return None
    name = parameter.name.value
    uses = [use for use in document.nodes(above.body) if isinstance(use, cst.Name) and use.value == name]
    if not all(_is_used_as_text(document, use) for use in uses if document.is_variable(use)):
        return None
    statements = [line for line in above.body.body if not _is_docstring(line, above)]
    if not statements:
        return None
    if len(statements) > 1 and "super(" in document.code(statements[0]) and name not in document.code(statements[0]):
        place = document.line_after(document.span(statements[0]).end)
    else:
        place = _above_comments(document, statements[0])
    indent = document.indent_of(statements[0])
    return document.inserted(place, f"{indent}{name} = {function}({name}){document.newline}")


def _is_used_as_text(document: Document, use: cst.Name) -> bool:
    above = document.parent(use)
    is_added = isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Add)
    return is_added or (isinstance(above, _AS_TEXT) and getattr(above, "star", "") == "")


def _is_docstring(line: cst.BaseStatement, function: cst.FunctionDef) -> bool:
    if line is not function.body.body[0] or not isinstance(line, cst.SimpleStatementLine):
        return False
    first = line.body[0]
    return isinstance(first, cst.Expr) and isinstance(first.value, cst.BaseString)


def _above_comments(document: Document, statement: cst.BaseStatement) -> int:
    place = document.line_start(document.start_with_decorators(statement))
    while place and document.text[document.line_start(place - 1) : place].lstrip().startswith("#"):
        place = document.line_start(place - 1)
    return place
