"""`@functools.wraps(function)` is put over the inner function of a decorator, so that pickle finds what it decorates.

Safe: what is decorated takes over its name, module and docstring, and behaves as before. Refused where the inner
function is a lambda, or where the decorator takes no function.
"""

from __future__ import annotations

import ast
from typing import Any

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Documents
from .outline import outline_of


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    outline = outline_of(document)
    inner = outline.node(repair, ast.FunctionDef, ast.AsyncFunctionDef)
    maker: Any = next((item for item in outline.ancestors(inner) if isinstance(item, ast.FunctionDef)), None)
    arguments = [*maker.args.posonlyargs, *maker.args.args] if maker is not None else []
    if not arguments or inner.decorator_list:
        raise NotFixable("it is not seen what the inner function stands for")
    called = {
        part.func.id for part in ast.walk(inner) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    }
    wrapped = next((a.arg for a in arguments if a.arg in called), arguments[0].arg)
    top = outline.cst_top(document, outline.top(inner))
    spelling, edits = document.with_import("from functools import wraps", top)
    place = outline.start(inner)
    text = f"@{spelling}({wrapped}){document.newline}{outline.indent(inner)}"
    return Change((*edits, outline.edit(place, place, text)), True, f"{inner.name} takes over the name of {wrapped}")
