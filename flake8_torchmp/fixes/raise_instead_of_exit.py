"""Raises RuntimeError where worker code ends its process (TMP603).

`sys.exit("no label")` becomes `raise RuntimeError("no label")`. Without a text of its own it says what was printed or
logged right before, else its function and the exit code. It is unsafe: whoever relied on the code, or on the parent
going on, sees an exception instead. Declined where the exit is part of an expression, where it is a signal or an abort,
and where the function itself would catch the exception.
"""

from __future__ import annotations

from itertools import pairwise

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents

TELLING = frozenset("print critical debug error exception fatal info warn warning".split())
CATCHING = frozenset(("RuntimeError", "Exception", "BaseException"))


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    node = document.node(repair, cst.Call, cst.Raise)
    call = node.exc if isinstance(node, cst.Raise) else node
    if not isinstance(call, cst.BaseExpression):
        raise NotFixable("it raises again what was caught")
    if isinstance(node, cst.Call) and not isinstance(document.parent(node), cst.Expr):
        raise NotFixable("the exit is part of an expression")
    if document.code(call.func if isinstance(call, cst.Call) else call).endswith(("kill", "killpg", "abort", "signal")):
        raise NotFixable("a signal or an abort is no place to raise from")
    if _is_caught(node, document):
        raise NotFixable("the function itself would catch the exception")
    message = _message(call)
    text = f"raise RuntimeError({document.code(message) if message is not None else _said_before(node, document)})"
    edits = (*_comments_above(node, message, document), document.replaced(node, text))
    return Change(edits, False, f"`{document.code(node)}` became `{text}`")


def _message(call: cst.BaseExpression) -> cst.BaseExpression | None:
    arguments = call.args if isinstance(call, cst.Call) else ()
    value = arguments[0].value if arguments else None
    return None if isinstance(value, cst.Integer | cst.UnaryOperation) else value


def _comments_above(node: cst.CSTNode, message: cst.CSTNode | None, document: Document) -> list[Edit]:
    """What is said inside an exit is said above it, but for what goes along with its message."""
    going_along = {id(part) for part in document.nodes(message)} if message is not None else set()
    inner = (part for part in document.nodes(node) if isinstance(part, cst.Comment) and id(part) not in going_along)
    said = [part.value for part in inner]
    start = document.span(node).start
    line = document.line_start(start)
    indent = document.text[line:start]
    if said and indent.strip():
        raise NotFixable("it says something in the middle of a line")
    return [document.inserted(line, "".join(f"{indent}{one}{document.newline}" for one in said))] if said else []


def _said_before(node: cst.CSTNode, document: Document) -> str:
    """The text that the statement right before prints or logs; else the exit code."""
    lines = (item for item in document.ancestors(node) if isinstance(item, cst.SimpleStatementLine))
    line = next((item for item in lines if len(item.body) == 1), None)
    block = getattr(document.parent(line), "body", ()) if line is not None else ()
    before = next((one for one, other in pairwise(block) if other is line), None)
    function = next((item.name.value for item in document.ancestors(node) if isinstance(item, cst.FunctionDef)), "")
    place = f"{function}: " if function else ""
    said = before.body[-1] if isinstance(before, cst.SimpleStatementLine) else None
    told = said.value if isinstance(said, cst.Expr) else None
    if isinstance(told, cst.Call) and _last(told.func) in TELLING:
        texts = [argument.value for argument in told.args if argument.keyword is None]
        if len(texts) == 1 and _is_text(texts[0]):
            return document.code(texts[0])
        keywords = {argument.keyword.value for argument in told.args if argument.keyword is not None}
        if _last(told.func) == "print" and keywords <= {"file", "flush"} and _is_joinable(texts):
            return _joined(texts, place, document)
    call = node.exc if isinstance(node, cst.Raise) else node
    code = call.args[0].value if isinstance(call, cst.Call) and call.args else None
    return f'"{place}exit code {document.code(code)}"' if code is not None else f'"{place}the worker stopped"'


def _is_text(value: cst.BaseExpression) -> bool:
    """A text, also with something put into it: `"no label in {}".format(path)`."""
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value == "format":
        return isinstance(value.func.value, cst.BaseString)
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo):
        return isinstance(value.left, cst.BaseString)
    return isinstance(value, cst.BaseString)


def _is_joinable(values: list[cst.BaseExpression]) -> bool:
    texts = [value for value in values if isinstance(value, cst.SimpleString)]
    is_plain = all(isinstance(value, cst.SimpleString | cst.Name | cst.Attribute) for value in values)
    is_alike = all(len(text.quote) == 1 and text.quote == texts[0].quote and not text.prefix for text in texts)
    return bool(values) and is_plain and is_alike


def _joined(values: list[cst.BaseExpression], place: str, document: Document) -> str:
    """What `print` makes of plain texts and names: `f"no label in {path}"`."""
    quote, parts = '"', []
    for value in values:
        if isinstance(value, cst.SimpleString):
            quote, place = value.quote, ""
            parts.append(value.raw_value.replace("{", "{{").replace("}", "}}"))
        else:
            parts.append(f"{{{document.code(value)}}}")
    return f"f{quote}{place}{' '.join(parts)}{quote}"


def _last(function: cst.BaseExpression) -> str:
    name = function.attr if isinstance(function, cst.Attribute) else function
    return name.value if isinstance(name, cst.Name) else ""


def _is_caught(node: cst.CSTNode, document: Document) -> bool:
    child: cst.CSTNode = node
    for above in document.ancestors(node):
        if isinstance(above, cst.FunctionDef):
            return False
        if isinstance(above, cst.Try) and child is above.body:
            for handler in above.handlers:
                kinds = document.nodes(handler.type) if handler.type is not None else ()
                if handler.type is None or any(getattr(kind, "value", "") in CATCHING for kind in kinds):
                    return True
        child = above
    return False
