"""The text "fork" becomes another start method, where it is written: an argument, a default, a constant, an entry.

Unsafe: what forked children had by inheritance, spawned ones have to be given. The method is "spawn", or the one that
the settings prefer. A member of an enumeration keeps its value where a sibling has the wanted one, and its use changes.
In a `set_start_method` that runs at import the call is made harmless as well, because it would run in each child again.
Refused where the text is part of a longer expression that is no plain value, and where a comment beside it speaks of
forking: somebody chose it for a reason.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from flake8_torchmp.findings import Repair
from flake8_torchmp.semantics.nodes import last_name

from .change import Change, Edit, NotFixable
from .document import Documents
from .outline import Outline, outline_of
from .start_method_once import set_once

_FORKING = re.compile(r"(?i)\bfork(?!server)")
_QUOTED = re.compile(r'`.*?`|".*?"')


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    outline = outline_of(document)
    notes = dict(repair.notes)
    node: ast.Constant = outline.node(repair, ast.Constant)
    if _is_explained(outline, node):
        raise NotFixable("a comment beside it says something about fork")
    method = notes.get("method") or "spawn"
    sibling = _sibling(outline, node, method)
    if sibling:
        return Change(tuple(sibling), False, f'the start method is "{method}", not "fork"')
    call = outline.parents[node]
    if isinstance(call, ast.IfExp):
        other = call.orelse if call.body is node else call.body
        if isinstance(other, ast.Constant) and other.value == method:
            edit = outline.edit(outline.start(call), outline.end(call), outline.code(other))
            return Change((edit,), False, f'the start method is "{method}", not "fork"')
    edits = [text_replaced(outline, node, method)]
    if isinstance(call, ast.keyword):
        call = outline.parents[call]
    if isinstance(call, ast.Call) and last_name(call.func) == "set_start_method" and _runs_at_import(outline, call):
        once, _ = set_once(document, call, is_imported="imported" in notes)
        edits = _joined(outline, edits[0], once)
    return Change(tuple(edits), False, f'the start method is "{method}", not "fork"')


def _is_explained(outline: Outline, node: ast.Constant) -> bool:
    statement = outline.statement(node)
    body: list[ast.stmt] = getattr(statement, "body", [])
    last = outline.first_line(body[0]) - 1 if body else statement.end_lineno
    lines = outline.module.lines[outline.line_with_comments(statement) - 1 : max(last, node.end_lineno or 0)]
    comments = [line.partition("#")[2] for line in lines]
    return any(_FORKING.search(_QUOTED.sub("", comment)) for comment in comments)


def text_replaced(outline: Outline, node: ast.Constant, text: str) -> Edit:
    """Another text between the same quotes."""
    code = outline.code(node)
    quoted = str(node.value)
    if code.count(quoted) != 1:
        raise NotFixable("the text is not written in one piece")
    place = outline.start(node) + code.index(quoted)
    return outline.edit(place, place + len(quoted), text)


def _runs_at_import(outline: Outline, call: ast.Call) -> bool:
    """Whether a call stands at module level, has no `force=True`, and no guard around it."""
    if outline.scope_of(call).enclosing_function() is not None or outline.is_guarded(call):
        return False
    if len(call.args) > 1 or any(k.arg != "method" for k in call.keywords):
        return False
    return not any(isinstance(item, ast.Try) for item in outline.ancestors(call))


def _joined(outline: Outline, text: Edit, others: list[Edit]) -> list[Edit]:
    """The new text, also where another edit moves the place that it is written at."""
    line = outline.text[outline.line_start(text.start) : text.start] + outline.text[text.start : text.end]
    found: list[Edit] = []
    is_moved = any(edit.start <= text.start and text.end <= edit.end and edit.end > edit.start for edit in others)
    for edit in others:
        if is_moved and line.strip() in edit.text:
            changed = line.strip()[: len(line.strip()) - (text.end - text.start)] + text.text
            edit = edit._replace(text=edit.text.replace(line.strip(), changed, 1))
        found.append(edit)
    return found if is_moved else [text, *found]


def _sibling(outline: Outline, node: ast.Constant, method: str) -> list[Edit]:
    """`Start.FORK` becomes `Start.SPAWN` where a class has both, and uses the one for a value of its own file."""
    statement: Any = outline.parents[node]
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(
        outline.parents[statement], ast.ClassDef
    ):
        return []
    cls: Any = outline.parents[statement]
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    own = last_name(targets[0])
    others = [
        last_name(item.targets[0])
        for item in cls.body
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant) and item.value.value == method
    ]
    if not others or not own:
        return []
    uses = [
        part
        for part in ast.walk(outline.tree)
        if isinstance(part, ast.Attribute) and part.attr == own and last_name(part.value) == cls.name
    ]
    return [outline.edit(outline.end(use) - len(own), outline.end(use), others[0]) for use in uses]
