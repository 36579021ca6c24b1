"""One codemod on a text: what comes out."""

from __future__ import annotations

import ast
import importlib
from textwrap import dedent
from typing import NamedTuple

from flake8_torchmp import source
from flake8_torchmp.findings import Repair
from flake8_torchmp.fixes.change import Change, NotFixable, applied, overlap
from flake8_torchmp.fixes.document import Documents

OTHERS = {"uses.py": "from main import MEAN\n", "runs.py": "import main\n"}
"""Other files of the project."""


class Changed(NamedTuple):
    text: str
    is_safe: bool
    what: str


def changed(codemod: str, text: str, at: str, **notes: str) -> Changed:
    """What a codemod makes of the code `at`, or of the definition of that name, in a program; `…` stands for a rest."""
    data = {name: content.encode() for name, content in {"main.py": text, **OTHERS}.items()}
    documents = Documents(data.__getitem__)
    module = importlib.import_module(f"flake8_torchmp.fixes.{codemod}")
    change: Change = module.change(_repair(codemod, text, at, notes), documents)
    mine = [edit for edit in change.edits if edit.path == "main.py"]
    assert not any(overlap(one, other) for number, one in enumerate(mine) for other in mine[:number])
    result = applied(documents["main.py"].text, mine)
    compile(result, "main.py", "exec")
    return Changed(result, change.is_safe, change.what)


def reason(codemod: str, text: str, at: str, **notes: str) -> str:
    """Why a codemod declines."""
    try:
        return f"it was changed: {changed(codemod, dedent(text), at, **notes).text}"
    except NotFixable as error:
        return str(error)


def _repair(codemod: str, text: str, at: str, notes: dict[str, str]) -> Repair:
    lines = source.lines_of(source.decode(text.encode()))
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        code = ast.get_source_segment(text.replace("\r\n", "\n"), node)
        if (
            code == at
            or (at.endswith("…") and code is not None and code.startswith(at[:-1]))
            or getattr(node, "name", None) == at
        ):
            assert node.end_lineno is not None and node.end_col_offset is not None
            start = source.character_column(lines[node.lineno - 1], node.col_offset)
            end = source.character_column(lines[node.end_lineno - 1], node.end_col_offset)
            return Repair(codemod, "main.py", node.lineno, start, node.end_lineno, end, tuple(notes.items()))
    raise AssertionError(f"no {at} in the text")
