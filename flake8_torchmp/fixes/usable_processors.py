"""`os.cpu_count()` becomes the number of processors that this process may use.

That is `os.process_cpu_count()` from Python 3.13 on, else `len(os.sched_getaffinity(0))` where the platform has it:
macOS and Windows do not. Unsafe: the number may be another one.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change
from .document import Documents

OPEN = (cst.Arg, cst.Assign, cst.AnnAssign, cst.Return, cst.Param, cst.Element, cst.DictElement)
"""Where an expression needs no parentheses."""


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    call = document.node(repair, cst.Call)
    has = dict(repair.notes).get("has", "")
    os, imports = document.with_import("import os", call)
    text = f"{os}.process_cpu_count()" if has == "process_cpu_count" else f"len({os}.sched_getaffinity(0))"
    if not has:
        text = f'{text} if hasattr({os}, "sched_getaffinity") else {document.code(call)}'
        text = text if isinstance(document.parent(call), OPEN) else f"({text})"
    edit = document.replaced(call, text)
    return Change((*imports, edit), False, "it counts the processors that the process may use")
