"""Imports a submodule of multiprocessing where the file uses it as an attribute (TMP407).

`mp.shared_memory.SharedMemory(…)` becomes `multiprocessing.shared_memory.SharedMemory(…)` under an added
`import multiprocessing.shared_memory`. It is safe: where the attribute was there, it was the same module. Declined
where the import would come after the use.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change
from .document import Documents


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    node = document.node(repair, cst.Attribute)
    module = f"multiprocessing.{node.attr.value}"
    spelling, edits = document.with_import(f"import {module}", node)
    if document.code(node) != spelling:
        edits.append(document.replaced(node, spelling))
    return Change(tuple(edits), True, f"imported {module}")
