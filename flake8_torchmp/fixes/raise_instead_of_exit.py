"""Raises RuntimeError where worker code ends its process (TMP603).

`sys.exit("no label")` becomes `raise RuntimeError("no label")`, a number its message. It is unsafe: whoever relied on
the exit code, or on the parent going on, sees an exception instead. Declined where the exit is part of an expression,
where it is a signal or an abort, and where the function itself would catch the exception.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Document, Documents

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
    text = f"raise RuntimeError({_message(call, document)})"
    return Change((document.replaced(node, text),), False, f"`{document.code(node)}` became `{text}`")


def _message(call: cst.BaseExpression, document: Document) -> str:
    arguments = call.args if isinstance(call, cst.Call) else ()
    if not arguments:
        return '"the worker stopped"'
    value = arguments[0].value
    if isinstance(value, cst.Integer | cst.UnaryOperation):
        return f'"exit code {document.code(value)}"'
    return document.code(value)


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
