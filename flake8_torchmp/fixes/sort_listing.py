"""A listing of a folder is sorted where it is made: `sorted(os.listdir(folder))`.

Safe: the program gets the same names, in one of the orders that it had to expect, and a list where it had a list or an
iterator. Entries of `os.scandir` are sorted by their names. Refused are `os.walk`, whose order is that of lists inside
what it gives, an iterator that is entered by `with` or asked by `next`, and files with a `sorted` of their own.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Document, Documents


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    node = document.node(repair, cst.Call)
    name = _last(node.func)
    if name in ("walk", "fwalk"):
        raise NotFixable("os.walk has an order at each level: sort the folders and files inside the loop")
    if any(isinstance(one, cst.FunctionDef | cst.AssignTarget) and _bound(one) == "sorted" for one in document.nodes()):
        raise NotFixable("the file has a sorted of its own")
    above = document.parent(node)
    if isinstance(above, cst.WithItem):
        raise NotFixable("the listing is entered by with")
    if name != "listdir" and _is_asked_by_next(document, node):
        raise NotFixable("the listing is asked by next")
    key = ", key=lambda entry: entry.name" if name == "scandir" else ""
    around = document.parent(above) if isinstance(above, cst.Arg) else None
    whole = around if isinstance(around, cst.Call) and _last(around.func) == "list" and len(around.args) == 1 else node
    return Change((document.replaced(whole, f"sorted({document.code(node)}{key})"),), True, "the listing is sorted")


def _is_asked_by_next(document: Document, node: cst.Call) -> bool:
    names = {document.code(node)}
    assign = document.parent(node)
    if isinstance(assign, cst.Assign):
        names |= {document.code(target.target) for target in assign.targets}
    return any(
        isinstance(call, cst.Call)
        and _last(call.func) == "next"
        and bool(call.args)
        and document.code(call.args[0].value) in names
        for call in document.nodes()
    )


def _last(function: cst.BaseExpression) -> str:
    name = function.attr if isinstance(function, cst.Attribute) else function
    return name.value if isinstance(name, cst.Name) else ""


def _bound(node: cst.FunctionDef | cst.AssignTarget) -> str:
    name = node.name if isinstance(node, cst.FunctionDef) else node.target
    return name.value if isinstance(name, cst.Name) else ""
