"""A lock, queue or shared value is made by the context of the process that gets it: `mp.get_context("spawn").Queue()`.

Safe: handed to that process it raised an exception, and what a spawn context makes can be handed to forked processes
too. `default_factory=mp.Event`, which is not called there, becomes the context's likewise. Refused: what is not called
by a name or an attribute.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Documents


def change(repair: Repair, documents: Documents) -> Change:
    document, notes = documents[repair.path], dict(repair.notes)
    node = document.node(repair, cst.Call, cst.Attribute, cst.Name)
    function = node.func if isinstance(node, cst.Call) else node
    name = function.attr if isinstance(function, cst.Attribute) else function
    if not isinstance(name, cst.Name):
        raise NotFixable("what makes it is not called by its name")
    if notes["of_module"] == "yes" and isinstance(function, cst.Attribute):
        spelling, imports = document.code(function.value), ()
    else:
        spelling, added = document.with_import("import multiprocessing", node)
        imports = tuple(added)  # type: ignore[assignment]
    context = f'{spelling}.get_context("{notes["method"]}")'
    edit = document.replaced(function, f"{context}.{notes['name']}")
    return Change((*imports, edit), True, f"it is made by the {notes['method']} context")
