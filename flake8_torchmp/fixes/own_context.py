"""A lock, queue or shared value is made by the context of the process that gets it: `mp.get_context("spawn").Queue()`.

Safe: handed to that process it raised an exception, and what a spawn context makes can be handed to forked processes
too, and to those of a fork server, which not every platform has. A context that has a name already makes it. Of
`(ctx or mp)` the module becomes the context. `default_factory=mp.Event`, which is not called there, becomes the
context's likewise. Refused: what is not called by a name or an attribute, and what is chosen between other things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .imports import binds
from .multiprocessing_functions import spelled


def change(repair: Repair, documents: Documents) -> Change:
    document, notes = documents[repair.path], dict(repair.notes)
    node = document.node(repair, cst.Call, cst.Attribute, cst.Name)
    function = node.func if isinstance(node, cst.Call) else node
    name = function.attr if isinstance(function, cst.Attribute) else function
    if not isinstance(name, cst.Name):
        raise NotFixable("what makes it is not called by its name")
    method = {"forkserver": "spawn"}.get(notes["method"], notes["method"])
    if isinstance(function, cst.Attribute) and function.value.lpar:
        return _chosen(document, function.value, method)
    context = _kept_context(document, node, notes["method"])
    if context:
        edit = document.replaced(function, f"{context}.{notes['name']}")
        return Change((edit,), True, f"it is made by {context}")
    if notes["of_module"] == "yes" and isinstance(function, cst.Attribute):
        imports: list[Edit] = []
        spelling = f"{document.code(function.value)}.get_context"
    else:
        spelling, imports = spelled(document, "get_context", node)
    edit = document.replaced(function, f"{spelling}({document.quote}{method}{document.quote}).{notes['name']}")
    return Change((*imports, edit), True, f"it is made by the {method} context")


def _kept_context(document: Document, node: cst.CSTNode, method: str) -> str:
    """The name of a context of this method that is made before, in a block around; nothing where there is none."""
    start, around = document.span(node).start, list(document.ancestors(node))
    for assign in document.nodes():
        line = document.parent(assign) if isinstance(assign, cst.Assign) else None
        if not isinstance(assign, cst.Assign) or document.span(assign).end > start or len(assign.targets) > 1:
            continue
        target, made = assign.targets[0].target, assign.value
        is_made = isinstance(made, cst.Call) and re.fullmatch(
            rf"(.*\.)?get_context\((['\"]){method}\2\)", document.code(made)
        )
        if is_made and isinstance(target, cst.Name) and document.parent(line or assign) in around:
            bound = [one for one in document.nodes() if isinstance(one, cst.Name) and one.value == target.value]
            if sum(binds(document, one) for one in bound) == 1:
                return target.value
    return ""


def _chosen(document: Document, owner: cst.BaseExpression, method: str) -> Change:
    """Of `(ctx or mp).Queue()` the module becomes a context, and who gives one still decides."""
    spellings = {document.imported(name, owner) for name in ("multiprocessing", "torch.multiprocessing")} - {""}
    modules = [part for part in _outcomes(owner) if document.code(part) in spellings]
    if len(modules) != 1:
        raise NotFixable("what makes it is chosen between several")
    edit = document.replaced(modules[0], f'{document.code(modules[0])}.get_context("{method}")')
    return Change((edit,), True, f"it is made by the {method} context")


def _outcomes(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What an expression can come to."""
    if isinstance(node, cst.BooleanOperation):
        yield from (*_outcomes(node.left), *_outcomes(node.right))
    elif isinstance(node, cst.IfExp):
        yield from (*_outcomes(node.body), *_outcomes(node.orelse))
    else:
        yield node
