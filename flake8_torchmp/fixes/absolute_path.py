"""A relative path becomes absolute where it is given: `os.path.abspath("data")`, `Path("data").resolve()`.

Safe for the argument of a call, and for a constant whose every use is one. Otherwise it may be joined to another
folder, which an absolute path would replace, and the fix is unsafe. So it is for the default of a parameter, which
would mean the folder in which the file is imported, not that of the call. A slash at the end stays, unless a library
joins what comes behind it. Texts inside f-strings and the parts of a
text written in several pieces are refused.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents

_JOINING = frozenset("join Path PurePath".split())
"""Functions that put what follows their first argument behind it."""
_ADDING = frozenset("joinpath format replace startswith endswith".split())
"""Methods that do so with every argument, or look for it in a text."""


def change(repair: Repair, documents: Documents) -> Change:
    document, notes = documents[repair.path], dict(repair.notes)
    node = document.node(
        repair, cst.SimpleString, cst.ConcatenatedString, cst.FormattedString, cst.Call, cst.BinaryOperation
    )
    above = document.parent(node)
    if isinstance(above, cst.ConcatenatedString | cst.FormattedStringExpression):
        raise NotFixable("the path is a part of another text")
    is_safe = isinstance(above, cst.Arg) or (notes.get("is_shared") != "yes" and _is_constant_of_calls(document, node))
    text = document.code(node)
    if notes.get("kind") == "path":
        text = text if isinstance(node, cst.Call) else f"({text})"
        return Change((document.replaced(node, f"{text}.resolve()"),), is_safe, "the path is resolved")
    function = document.imported("os.path.abspath", node)
    imports: list[Edit] = []
    if not function:
        spelling, imports = document.with_import("import os", node)
        function = f"{spelling}.path.abspath"
    absolute = f"{function}({text})"
    if text[:-1].endswith("/") and notes.get("joins") != "yes":
        absolute = f"{absolute} + {text[-1]}/{text[-1]}"
        if not isinstance(above, cst.Arg | cst.Param | cst.Assign | cst.AnnAssign | cst.Element | cst.DictElement):
            absolute = f"({absolute})"
    edits = (*imports, document.replaced(node, absolute))
    return Change(edits, is_safe, "the path is made absolute")


def _is_constant_of_calls(document: Document, node: cst.BaseExpression) -> bool:
    assign = document.parent(node)
    targets = [target.target for target in assign.targets] if isinstance(assign, cst.Assign) else []
    names = {target.value for target in targets if isinstance(target, cst.Name)}
    if isinstance(assign, cst.AnnAssign) and isinstance(assign.target, cst.Name):
        names, targets = {assign.target.value}, [assign.target]
    uses = [
        use
        for use in document.nodes()
        if isinstance(use, cst.Name) and use.value in names and not any(use is target for target in targets)
    ]
    return bool(names) and len(names) == len(targets) and all(_is_plain_argument(document, use) for use in uses)


def _is_plain_argument(document: Document, use: cst.Name) -> bool:
    argument = document.parent(use)
    if not isinstance(argument, cst.Arg):
        return False
    if argument.keyword is use:
        return True
    call = document.parent(argument)
    assert isinstance(call, cst.Call | cst.ClassDef)
    if not isinstance(call, cst.Call) or argument.star:
        return False
    function = call.func
    name = function.attr if isinstance(function, cst.Attribute) else function
    joins = isinstance(name, cst.Name) and name.value in _JOINING
    adds = isinstance(name, cst.Name) and name.value in _ADDING
    return not adds and (not joins or call.args[0] is argument)
