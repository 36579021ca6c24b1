"""What worker code writes by a relative path: it stands where the parent is, unless somebody changes the folder."""

from __future__ import annotations

import ast
import re

from flake8_torchmp.semantics.codebase import Codebase
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name

_CHANGING_FOLDER = re.compile(rb"\b(?:f?chdir|hydra)\b")
_WRITING = frozenset("save imwrite write_text write_bytes".split())


def writes(node: ast.Call) -> bool:
    """`open(path, "w")`, `cv2.imwrite(path, image)`"""
    modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    name = last_name(node.func)
    return name in _WRITING or (
        name == "open"
        and any(isinstance(mode, ast.Constant) and str(mode.value)[:1] in ("w", "a", "x") for mode in modes)
    )


def may_change_folder(codebase: Codebase, *modules: Module) -> bool:
    """Whether a program that may run some modules changes the current folder."""
    return any(codebase.matches(path, _CHANGING_FOLDER) for path in codebase.users([m.path for m in modules]))
