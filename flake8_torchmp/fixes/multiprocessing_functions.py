"""How a file calls a function of multiprocessing: by what it imports, else by another import in the same manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .document import Document

if TYPE_CHECKING:
    import libcst as cst

    from .change import Edit

MODULES = ("multiprocessing", "torch.multiprocessing")


def spelled(document: Document, name: str, at: cst.CSTNode) -> tuple[str, list[Edit]]:
    known = [document.imported(f"{module}.{name}", at) for module in MODULES]
    known = [one for one in known if one and (not one.startswith("torch.") or MODULES[1] in document.text)]
    if known:
        return known[0], []
    for other in ("get_context", "set_start_method", "Process", "Pool", "Queue"):
        for module in MODULES:
            if document.imported(f"{module}.{other}", at).isidentifier():
                return document.with_import(f"from {module} import {name}", at)
    spelling, edits = document.with_import("import multiprocessing", at)
    return f"{spelling}.{name}", edits
