"""A context is given as the call takes it: `get_context("spawn").Pool(...)`, an object for a name, a name that exists.

Safe, because each of these calls raises an exception as it stands. Refused: a name that resembles no start method, a
keyword that comes from a dict, and calls of anything but a name or an attribute.
"""

from __future__ import annotations

import difflib

import libcst as cst

from flake8_torchmp.findings import Repair
from flake8_torchmp.settings import START_METHODS

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .dropped_argument import without
from .multiprocessing_functions import spelled

EXPRESSIONS = (cst.SimpleString, cst.ConcatenatedString, cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.IfExp)


def change(repair: Repair, documents: Documents) -> Change:
    document, notes = documents[repair.path], dict(repair.notes)
    if notes["problem"] == "name":
        return _named(document, document.node(repair, cst.SimpleString))
    if notes["problem"] == "module":
        module = document.node(repair, cst.Name, cst.Attribute)
        text = f'{document.code(module)}.get_context("{notes["method"]}")'
        return Change((document.replaced(module, text),), True, "the module became a context object")
    if notes["problem"] == "text":
        node: cst.CSTNode = document.node(repair, *EXPRESSIONS)
        context, edits = _context(document, node, "text")
        return Change((*edits, document.replaced(node, context)), True, "the name became a context object")
    return _called_on_context(document, document.node(repair, cst.Call), notes)


def _named(document: Document, node: cst.SimpleString) -> Change:
    given = str(node.evaluated_value)
    nearest = difflib.get_close_matches(given.lower(), START_METHODS, 1)
    if not nearest:
        raise NotFixable(f'"{given}" resembles no start method')
    text = f"{node.prefix}{node.quote}{nearest[0]}{node.quote}"
    return Change((document.replaced(node, text),), True, f"the start method is {nearest[0]}")


def _called_on_context(document: Document, call: cst.Call, notes: dict[str, str]) -> Change:
    found = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == notes["keyword"]]
    if not found or not isinstance(call.func, cst.Name | cst.Attribute):
        raise NotFixable("the argument does not stand in the call")
    argument = found[0]
    context, edits = _context(document, argument.value, notes["value"])
    function = document.replaced(call.func, f"{context}.{notes['name']}")
    return Change((*edits, function, without(document, call, argument)), True, "it is called on the context")


def _context(document: Document, node: cst.CSTNode, kind: str) -> tuple[str, tuple[Edit, ...]]:
    """An expression as a context object: it is one, or it names one."""
    text = document.code(node)
    if kind == "context":
        return (text if isinstance(node, cst.Name | cst.Attribute | cst.Call) else f"({text})"), ()
    spelling, imports = spelled(document, "get_context", node)
    return f"{spelling}({text})", tuple(imports)
