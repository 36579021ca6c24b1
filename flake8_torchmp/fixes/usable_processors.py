"""`os.cpu_count()` becomes `len(os.sched_getaffinity(0))`: the processors that this process may use.

Unsafe: macOS and Windows do not have it, and the number may be another one.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change
from .document import Documents


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    call = document.node(repair, cst.Call)
    spelling, imports = document.with_import("import os", call)
    edit = document.replaced(call, f"len({spelling}.sched_getaffinity(0))")
    return Change((*imports, edit), False, "it counts the processors that the process may use")
