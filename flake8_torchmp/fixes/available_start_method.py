"""`"forkserver"` becomes `"forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"`.

Safe: where the platform has the method nothing changes, where it has not the program raised ValueError. It is changed
where it is written: an argument, a default, a constant, an entry of a dict. The choices of an option are left alone.
"""

from __future__ import annotations

import ast

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .multiprocessing_functions import spelled
from .outline import Outline, outline_of

QUESTION = "get_all_start_methods"


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    outline = outline_of(document)
    node: ast.Constant = outline.node(repair, ast.Constant)
    parent = outline.parents[node]
    code = outline.code(node)
    if "\n" in code or "\r" in code or isinstance(parent, ast.JoinedStr):
        raise NotFixable("the text is not written in one piece")
    question, edits = asking(document, outline, node)
    quote = code[-1]
    text = f"{code} if {code} in {question}() else {quote}spawn{quote}"
    is_plain = isinstance(
        parent,
        ast.Assign
        | ast.AnnAssign
        | ast.Call
        | ast.keyword
        | ast.Return
        | ast.arguments
        | ast.Dict
        | ast.List
        | ast.Tuple,
    )
    start, end = outline.start(node), outline.end(node)
    edits.append(outline.edit(start, end, text if is_plain else f"({text})"))
    return Change(tuple(edits), True, "the start method is chosen by what the platform has")


def asking(document: Document, outline: Outline, node: ast.AST) -> tuple[str, list[Edit]]:
    """How to ask which methods there are at some place, and the import that it takes."""
    return spelled(document, QUESTION, outline.cst_top(document, outline.top(node)))
