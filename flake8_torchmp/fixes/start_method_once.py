"""`set_start_method` at import goes under the main guard, or asks first whether a method is set already.

Under the guard where it stands by itself at module level and no other module imports this one. Elsewhere, in functions,
classes, branches and libraries, it is put behind `if get_start_method(allow_none=True) is None:`: the first call still
sets the method, and a child, which has one, goes on. Where there is no room for that, `force=True` says the same. Safe:
what changes is a call that raised RuntimeError.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .main_guard import Run
from .outline import Outline, outline_of

ASKING = re.compile(
    r"\b(?:\w*Queue|R?Lock|Event|Value|Array|Manager|Pool|Process|\w*Semaphore|Barrier|Condition|ProcessPoolExecutor"
    r"|DataLoader|get_context|get_start_method|start)\b"
)
"""What fixes the start method, or uses it."""


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    outline = outline_of(document)
    call: ast.Call = outline.node(repair, ast.Call)
    edits, what = set_once(document, call, is_imported="imported" in dict(repair.notes))
    return Change(tuple(edits), True, what)


def set_once(document: Document, call: ast.Call, *, is_imported: bool) -> tuple[list[Edit], str]:
    outline = outline_of(document)
    statement = outline.statement(call)
    stands_alone = isinstance(statement, ast.Expr) and statement.value is call and outline.alone_on_its_lines(statement)
    if not is_imported:
        run = Run(document, outline.top(statement))
        edits = run.as_real_guard()
        if not edits and stands_alone and isinstance(outline.parents[statement], ast.Module):
            is_alone = _may_wait(run) or _is_last_to_run(run)
            edits = run.under_guard([statement]) if is_alone else run.guarded([statement])
        if edits:
            return edits, "the start method is set under the main guard"
    question, edits = _question(document, outline, call) if stands_alone else ("", [])
    if not question:
        return [_forced(outline, call)], "the start method is set with force=True"
    newline, indent = document.newline, outline.indent(statement)
    start = outline.start(statement)
    inside = outline.inside_strings(statement)
    for line in range(statement.lineno + 1, statement.end_lineno + 1):
        place = outline.line_offset(line)
        if line not in inside:
            edits.append(outline.edit(place, place, document.indent))
    head = f"if {question}(allow_none=True) is None:{newline}{indent}{document.indent}"
    edits.append(outline.edit(start, start, head))
    return edits, "the start method is set where none is set yet"


def _may_wait(run: Run) -> bool:
    """Whether nothing between a call and the guard depends on the start method."""
    if run.guard is None:
        return False
    between = run.body[run.index + 1 : run.body.index(run.guard)]
    return not any(ASKING.search(run.outline.code(statement)) for statement in between if not run.stays(statement))


def _is_last_to_run(run: Run) -> bool:
    """Whether only definitions and constants follow, or a guard with an `else`, which takes up nothing."""
    if run.guard is not None:
        return False
    return all(run.stays(statement) or run.is_plain(statement) for statement in run.body[run.index + 1 :])


def _question(document: Document, outline: Outline, call: ast.Call) -> tuple[str, list[Edit]]:
    """How the file spells get_start_method, beside the set_start_method that it calls."""
    function: Any = call.func
    if isinstance(function, ast.Attribute):
        return f"{outline.code(function.value)}.get_start_method", []
    owner = outline.owner(function) if isinstance(function, ast.Name) else None
    bindings = owner.bindings[function.id] if owner is not None and owner.is_module else []
    if len(bindings) != 1 or bindings[0].kind != "from":
        return "", []
    statement: Any = outline.parents[bindings[0].node]
    try:
        return document.with_import(
            f"from {statement.module} import get_start_method", outline.cst_top(document, outline.top(call))
        )
    except NotFixable:
        return "", []


def _forced(outline: Outline, call: ast.Call) -> Edit:
    force = next((k.value for k in call.keywords if k.arg == "force"), call.args[1] if len(call.args) > 1 else None)
    if force is not None:
        return outline.edit(outline.start(force), outline.end(force), "True")
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not values or any(isinstance(value, ast.Starred) for value in call.args):
        raise NotFixable("its arguments are not seen")
    end = max(outline.end(value) for value in values)
    return outline.edit(end, end, ", force=True")
