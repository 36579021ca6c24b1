"""A relative path becomes absolute where it is given: `os.path.abspath("data")`, `Path("data").resolve()`.

Safe for the argument of a call, and for a constant whose every use is one, unless the dataset counts the parts of its
paths from the beginning. Otherwise it may be joined to another folder, which an absolute path would replace, and the
fix is unsafe. So it is for the default of a parameter: the function makes it absolute when it begins, or, where it may
get something else than a text, the default itself is. What the same name is in another branch of an `if` becomes
absolute with it. A slash at the end stays, unless the dataset or its library joins what comes behind it. Texts inside
f-strings and the parts of a text written in several pieces are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from flake8_torchmp.boundary.files.paths import is_relative
from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .resolved_parameter import resolved_at_start

_JOINS = re.compile(r"(?:(?:\w+\.)*path\.|osp\.)?join|(?:pathlib\.)?Path")
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
    is_safe = notes.get("counts_parts") != "yes" and (
        isinstance(above, cst.Arg) or (notes.get("is_shared") != "yes" and _is_constant_of_calls(document, node))
    )
    if notes.get("kind") == "path":
        text = document.code(node)
        text = text if isinstance(node, cst.Call) else f"({text})"
        return Change((document.replaced(node, f"{text}.resolve()"),), is_safe, "the path is resolved")
    function = document.imported("os.path.abspath", node)
    imports: list[Edit] = []
    if not function:
        spelling, imports = document.with_import("import os", node)
        function = f"{spelling}.path.abspath"
    resolved = resolved_at_start(document, node, function)
    if resolved is not None:
        return Change((*imports, resolved), False, "the path is made absolute where the function begins")
    nodes = [node, *_in_other_branches(document, node)]
    absolute = [document.replaced(one, _absolute(document, one, function, notes)) for one in nodes]
    return Change((*imports, *absolute), is_safe, "the path is made absolute")


def _absolute(document: Document, node: cst.CSTNode, function: str, notes: dict[str, str]) -> str:
    text, above = document.code(node), document.parent(node)
    absolute = f"{function}({text})"
    if text[:-1].endswith("/") and not _is_joined(document, node, notes):
        absolute = f"{absolute} + {text[-1]}/{text[-1]}"
        if not isinstance(above, cst.Arg | cst.Param | cst.Assign | cst.AnnAssign | cst.Element | cst.DictElement):
            absolute = f"({absolute})"
    return absolute


def _is_joined(document: Document, node: cst.CSTNode, notes: dict[str, str]) -> bool:
    """Whether a slash at the end serves nobody: not a library, nor the one dataset that gets the path."""
    by = notes.get("joins", "no")
    if by == "yes":
        return True
    if isinstance(document.parent(node), cst.Arg):
        return _is_given_to(document, node, by)
    _, uses = _names_and_uses(document, node)
    if uses and notes.get("is_shared") != "yes" and all(_begins_joined(document, use) for use in uses):
        return True
    given = [use for use in uses if getattr(document.parent(use), "keyword", None) is not use]
    return bool(given) and notes.get("is_shared") != "yes" and all(_is_given_to(document, use, by) for use in given)


def _begins_joined(document: Document, use: cst.CSTNode) -> bool:
    argument = document.parent(use)
    call = document.parent(argument) if isinstance(argument, cst.Arg) else None
    return isinstance(call, cst.Call) and call.args[0] is argument and bool(_JOINS.fullmatch(document.code(call.func)))


def _is_given_to(document: Document, use: cst.CSTNode, names: str) -> bool:
    argument = document.parent(use)
    call = document.parent(argument) if isinstance(argument, cst.Arg) else None
    return isinstance(call, cst.Call) and document.code(call.func).rpartition(".")[2] in names.split()


def _in_other_branches(document: Document, node: cst.CSTNode) -> Iterator[cst.SimpleString]:
    """The relative paths that the same name gets instead in the other branches of an `if`."""
    assign = document.parent(node)
    line = document.parent(assign) if isinstance(assign, cst.Assign) else None
    first = document.parent(document.parent(line) or node) if line is not None else None
    while isinstance(first, cst.Else) or (isinstance(first, cst.If) and _is_elif(document, first)):
        first = document.parent(first)
    if not isinstance(assign, cst.Assign) or not isinstance(first, cst.If):
        return
    branch: cst.CSTNode | None = first
    while isinstance(branch, cst.If | cst.Else):
        for part in branch.body.body:
            for other in part.body if isinstance(part, cst.SimpleStatementLine) else ():
                if other is assign or not isinstance(other, cst.Assign):
                    continue
                if _targets(document, other) == _targets(document, assign):
                    path = other.value
                    text = str(path.evaluated_value) if isinstance(path, cst.SimpleString) else ""
                    if isinstance(path, cst.SimpleString) and "/" in text and is_relative(text):
                        yield path
        branch = branch.orelse if isinstance(branch, cst.If) else None


def _is_elif(document: Document, branch: cst.If) -> bool:
    return isinstance(document.parent(branch), cst.If)


def _targets(document: Document, assign: cst.Assign) -> list[str]:
    return [document.code(target.target) for target in assign.targets]


def _is_constant_of_calls(document: Document, node: cst.BaseExpression) -> bool:
    is_named, uses = _names_and_uses(document, node)
    return is_named and all(_is_plain_argument(document, use) for use in uses)


def _names_and_uses(document: Document, node: cst.CSTNode) -> tuple[bool, list[cst.Name]]:
    """Whether a value is given to names alone, and where else in the file those names stand."""
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
    return bool(names) and len(names) == len(targets), uses


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
