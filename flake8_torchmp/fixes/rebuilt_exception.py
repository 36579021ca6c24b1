"""An exception can be made anew in the parent: it says how by `__reduce__`, or its parameters get defaults.

Pools and executors pickle exceptions, so the class gets a `__reduce__` from what its `__init__` stores; what it does
not store is stored first. A DataLoader calls the class with one text, so the parameters after the first get None as
default. Both are unsafe: classes that derive from it, or code that relies on the TypeError, may see a difference.
`__reduce__` is refused where `__init__` has `*args` or `**kwargs`."""

from __future__ import annotations

import re

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    init = document.node(repair, cst.FunctionDef)
    positional = [*init.params.posonly_params, *init.params.params]
    takes_anything = isinstance(init.params.star_arg, cst.Param) or init.params.star_kwarg is not None
    taken = positional[1:]
    if dict(repair.notes).get("kind") == "loader":
        return _with_defaults(document, [*taken[1:], *init.params.kwonly_params], bool(taken))
    if takes_anything or not positional:
        raise NotFixable("its __init__ takes anything")
    return _with_reduce(document, init, positional[0].name.value, taken, list(init.params.kwonly_params))


def _with_defaults(document: Document, parameters: list[cst.Param], takes_text: bool) -> Change:
    edits: list[Edit] = []
    for parameter in parameters:
        if parameter.default is None and parameter.annotation is None:
            edits.append(document.inserted(document.span(parameter.name).end, "=None"))
        elif parameter.default is None and parameter.annotation is not None:
            edits += _optional(document, parameter.annotation.annotation)
    if not edits or not takes_text:
        raise NotFixable("it has no parameter for the text")
    return Change(tuple(edits), False, "its parameters have defaults")


def _optional(document: Document, annotation: cst.BaseExpression) -> list[Edit]:
    """`int` becomes `Optional[int] = None`, in the way that the file says it."""
    text = document.code(annotation)
    if isinstance(annotation, cst.SimpleString) or re.search(r"\b(Optional|None|Any|object)\b", text):
        return [document.inserted(document.span(annotation).end, " = None")]
    if re.search(r"\| ?None\b|^from __future__ import .*\bannotations\b", document.text, re.MULTILINE):
        return [document.replaced(annotation, f"{text} | None = None")]
    spelling, edits = document.with_import("from typing import Optional", annotation)
    return [*edits, document.replaced(annotation, f"{spelling}[{text}] = None")]


def _with_reduce(
    document: Document, init: cst.FunctionDef, receiver: str, taken: list[cst.Param], options: list[cst.Param]
) -> Change:
    edits: list[Edit] = []
    stored = _stored(init, receiver)
    body = init.body
    if not isinstance(body, cst.IndentedBlock):
        raise NotFixable("its __init__ stands on one line")
    indent = document.indent_of(body.body[0])
    end = document.line_after(document.span(body.body[-1]).end)
    newline = document.newline
    if end == len(document.text) and not document.text.endswith(("\n", "\r")):
        raise NotFixable("the file does not end with a line end")
    lines: list[str] = []
    values: dict[str, str] = {}
    for parameter in (*taken, *options):
        name = parameter.name.value
        if name not in stored:
            stored[name] = f"_{name}"
            lines.append(f"{indent}{receiver}._{name} = {name}")
        values[name] = f"{receiver}.{stored[name]}"
    kind = f"type({receiver})"
    if options:
        spelling, edits = document.with_import("from functools import partial", init)
        kind = f"{spelling}({kind}, {', '.join(f'{p.name.value}={values[p.name.value]}' for p in options)})"
    arguments = [values[p.name.value] for p in taken]
    made = f"({', '.join(arguments)}{',' * (len(arguments) == 1)})"
    outer = document.indent_of(init)
    lines += ["", f"{outer}def __reduce__({receiver}):", f"{indent}return {kind}, {made}, {receiver}.__dict__"]
    text = "".join(f"{line}{newline}" for line in lines)
    return Change((*edits, document.inserted(end, text)), False, "it is made anew from what it stores")


def _stored(init: cst.FunctionDef, receiver: str) -> dict[str, str]:
    """The parameters that `__init__` stores, with their attributes: `self.path = path`."""
    found: dict[str, str] = {}
    body = init.body.body if isinstance(init.body, cst.IndentedBlock) else ()
    for line in body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.Assign):
                pairs = [(target.target, statement.value) for target in statement.targets]
            elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
                pairs = [(statement.target, statement.value)]
            else:
                continue
            for target, value in pairs:
                if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
                    inner = zip(target.elements, value.elements, strict=False)
                    pairs_of = [(left.value, right.value) for left, right in inner]
                else:
                    pairs_of = [(target, value)]
                for left, right in pairs_of:
                    if (
                        isinstance(left, cst.Attribute)
                        and isinstance(left.value, cst.Name)
                        and left.value.value == receiver
                        and isinstance(right, cst.Name)
                    ):
                        found.setdefault(right.value, left.attr.value)
    return found
