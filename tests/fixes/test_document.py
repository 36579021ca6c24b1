"""Texts, trees and places of strange files; names and imports that clash with nothing."""

from __future__ import annotations

import ast
import codecs
from typing import NamedTuple

import libcst as cst
import pytest

from flake8_torchmp import source
from flake8_torchmp.fixes.change import Change, Edit, Moves, NotFixable, applied, combined, overlap
from flake8_torchmp.fixes.document import Document

PROGRAM = 'def load(data):\n\treturn ("äöü🦊", lambda a: a), [\n\t\tlambda b: b]  # é\n'
UTF8 = {
    "plain": PROGRAM.encode(),
    "CRLF": PROGRAM.replace("\n", "\r\n").encode(),
    "CR": PROGRAM.replace("\n", "\r").encode(),
    "byte-order mark": codecs.BOM_UTF8 + PROGRAM.encode(),
    "form feed": b"x = 1\n\x0c\n" + PROGRAM.encode(),
    "form feed in a string": b"x = 'a\x0cb\x0bc\x1cd'\n" + PROGRAM.encode(),
    "line separator in a string": "x = 'a\u2028b\u0085c'\n".encode() + PROGRAM.encode(),
    "form feed before the definition": b"\x0c" + PROGRAM.encode(),
    "no line end at the end": PROGRAM.rstrip().encode(),
    "mixed line ends": b"x = 1\r\ny = 2\n" + PROGRAM.encode(),
    "backslash": b"x = \\\n    1\n" + PROGRAM.encode(),
    "latin-1": ("# coding: latin-1\n" + PROGRAM.replace("🦊", "ß")).encode("latin-1"),
}


class At(NamedTuple):
    line: int
    column: int
    end_line: int
    end_column: int


def places(data: bytes, kind: type[ast.AST]) -> list[At]:
    """Where the checker says that the nodes are."""
    lines = source.lines_of(source.decode(data))
    found = []
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, kind):
            assert isinstance(node, ast.expr | ast.stmt)
            assert node.end_lineno is not None and node.end_col_offset is not None
            start = source.character_column(lines[node.lineno - 1], node.col_offset)
            end = source.character_column(lines[node.end_lineno - 1], node.end_col_offset)
            found.append(At(node.lineno, start, node.end_lineno, end))
    return found


@pytest.mark.parametrize("name", UTF8)
def test_nodes_are_found_by_their_place(name: str) -> None:
    document = Document("a.py", UTF8[name])
    lambdas = [document.node(place, cst.Lambda) for place in places(document.data, ast.Lambda)]
    assert sorted(document.code(node) for node in lambdas) == ["lambda a: a", "lambda b: b"]
    functions = [document.node(place, cst.FunctionDef) for place in places(document.data, ast.FunctionDef)]
    assert [function.name.value for function in functions] == ["load"]


@pytest.mark.parametrize("name", UTF8)
def test_only_the_edit_changes(name: str) -> None:
    document = Document("a.py", UTF8[name])
    first, second = (document.node(place, cst.Lambda) for place in places(document.data, ast.Lambda))
    edits = (document.replaced(first, "f"), document.replaced(second, "g"), Edit("b.py", 0, 1, "elsewhere"))
    assert document.after(edits) == UTF8[name].replace(b"lambda a: a", b"f").replace(b"lambda b: b", b"g")


def test_a_place_without_the_node() -> None:
    document = Document("a.py", b"x = 1\n")
    with pytest.raises(NotFixable, match="no Lambda is found at line 1"):
        document.node(At(1, 4, 1, 5), cst.Lambda)
    with pytest.raises(NotFixable, match="no line 9"):
        document.node(At(9, 4, 9, 5), cst.Lambda)


@pytest.mark.parametrize("data", [b"caf\xe9 = 1\n", b"# coding: klingon\n", b"# coding: hex\nx = 1\n"])
def test_what_cannot_be_decoded(data: bytes) -> None:
    with pytest.raises(NotFixable):
        Document("a.py", data)


def test_what_the_encoding_cannot_say() -> None:
    document = Document("a.py", b"# coding: latin-1\nx = 1\n")
    with pytest.raises(NotFixable, match="no bytes"):
        document.after((Edit("a.py", 18, 19, "🦊"),))


def test_around_a_node() -> None:
    document = Document("a.py", b"@deco\ndef f():\n    if 1:\n        x = lambda: 0; y = 1\n")
    (place,) = places(document.data, ast.Lambda)
    node = document.node(place, cst.Lambda)
    top = document.statement_at_top(node)
    assert isinstance(top, cst.FunctionDef)
    assert document.start_with_decorators(top) == 0
    assert document.text[document.span(top).start :].startswith("def f")
    assert document.indent_of(node) == "        "
    assert document.indent == "    "
    assert isinstance(document.parent(node), cst.Assign)
    assert [type(one).__name__ for one in document.ancestors(node)][-1] == "Module"


def test_fresh_names() -> None:
    document = Document("a.py", b"import os\ndef collate(a, *, b):\n    x.attribute(key=f'{inside}')\n    global g\n")
    assert [document.fresh(name) for name in ("collate", "a", "b", "g", "inside", "list", "os", "class")] == [
        "collate_2", "a_2", "b_2", "g_2", "inside_2", "list_2", "os_2", "class_2"
    ]  # fmt: skip
    assert [document.fresh(name) for name in ("attribute", "key", "new", "new")] == ["attribute", "key", "new", "new_2"]


def test_edits_beside_each_other() -> None:
    inside, around = Edit("a", 3, 4, ""), Edit("a", 2, 6, "")
    assert overlap(inside, around) and overlap(around, inside)
    assert overlap(Edit("a", 3, 3, "x"), around)
    assert not overlap(Edit("a", 2, 2, "x"), around)
    assert not overlap(Edit("a", 6, 6, "x"), around)
    assert overlap(Edit("a", 2, 2, "x"), Edit("a", 2, 2, "y"))
    assert overlap(Edit("a", 2, 2, "x"), Edit("a", 2, 2, "x"))
    assert not overlap(Edit("a", 2, 2, "x\n"), Edit("a", 2, 2, "y\n"))
    assert not overlap(Edit("a", 2, 2, "x\n"), Edit("a", 2, 2, "x\n"))
    assert not overlap(Edit("b", 3, 4, ""), around)
    assert not overlap(around, around)
    assert overlap(around, Edit("a", 2, 6, "other"))
    assert applied("0123456", [Edit("a", 6, 7, "z"), Edit("a", 0, 0, "x"), Edit("a", 0, 0, "y")]) == "xy012345z"


def test_what_several_changes_ask_for_is_done_once() -> None:
    lines = Edit("a", 0, 0, "import os\n")
    assert combined([Change((lines,), True, ""), Change((lines, Edit("a", 3, 4, "")), True, "")]) == [
        lines, Edit("a", 3, 4, "")
    ]  # fmt: skip


def test_where_characters_were() -> None:
    moves = Moves([Edit("a", 2, 4, "xyz"), Edit("a", 6, 6, "-"), Edit("a", 8, 9, "")])
    text = applied("0123456789", [Edit("a", 2, 4, "xyz"), Edit("a", 6, 6, "-"), Edit("a", 8, 9, "")])
    assert text == "01xyz45-679"
    found = [moves.origin(offset) for offset in range(len(text))]
    assert [place for place, was_there in found if was_there] == [0, 1, 4, 5, 6, 7, 9]
    assert found[2] == found[4] == (2, False) and found[7] == (6, False)
    assert [moves.is_replaced(offset) for offset in (1, 2, 3, 4, 6, 8)] == [False, True, True, False, False, True]


IMPORTS = {
    "there already": ("import functools\nuse()\n", "import functools", "functools", None),
    "under another name": ("import functools as ft\nuse()\n", "import functools", "ft", None),
    "a name of a module that is there": (
        "import functools as ft\nuse()\n", "from functools import partial", "ft.partial", None,
    ),
    "the name is there": ("from functools import partial as p\nuse()\n", "from functools import partial", "p", None),
    "beside others": (
        "import abc\nimport os\n\nimport torch\nuse()\n", "import functools", "functools",
        "import abc\nimport functools\nimport os\n\nimport torch\nuse()\n",
    ),
    "first of its group": (
        "import os\nimport sys\n\nimport torch\nuse()\n", "import functools", "functools",
        "import functools\nimport os\nimport sys\n\nimport torch\nuse()\n",
    ),
    "a line of the same module": (
        "from functools import reduce\nuse()\n", "from functools import partial", "partial",
        "from functools import partial, reduce\nuse()\n",
    ),
    "classes before functions": (
        "from a import B, D, c\nuse()\n", "from a import E", "E", "from a import B, D, E, c\nuse()\n",
    ),
    "a name a line": (
        "from a import (\n    b,\n    d,\n)\nuse()\n", "from a import c", "c",
        "from a import (\n    b,\n    c,\n    d,\n)\nuse()\n",
    ),
    "lines with comments": (
        "from a import (\n    b,  # 1\n    d,\n)\nuse()\n", "from a import c", "c",
        "from a import (\n    b,  # 1\n    d,\n)\nfrom a import c\nuse()\n",
    ),
    "from after import": (
        "import os\nimport sys\n\nimport torch\nuse()\n", "from functools import partial", "partial",
        "import os\nimport sys\nfrom functools import partial\n\nimport torch\nuse()\n",
    ),
    "no group of its kind": (
        "import torch\nuse()\n", "import functools", "functools", "import functools\n\nimport torch\nuse()\n",
    ),
    "no imports": ("use()\n", "import functools", "functools", "import functools\n\nuse()\n"),
    "after the first comments": (
        "#!/usr/bin/env python\n# Licence\n\nuse()\n", "import functools", "functools",
        "#!/usr/bin/env python\n# Licence\n\nimport functools\n\nuse()\n",
    ),
    "after docstring and future": (
        '"""Doc."""\nfrom __future__ import annotations\nuse()\n', "import functools", "functools",
        '"""Doc."""\nfrom __future__ import annotations\n\nimport functools\nuse()\n',
    ),
    "after a docstring": (
        '"""Doc."""\nuse()\n', "import functools", "functools", '"""Doc."""\n\nimport functools\nuse()\n',
    ),
    "comes later": (
        "use()\nimport functools\n", "import functools", "functools", "import functools\n\nuse()\nimport functools\n",
    ),
    "only for types": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import functools\nuse()\n", "import functools",
        "functools",
        "import functools\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import functools\nuse()\n",
    ),
    "in a function": (
        "def f():\n    import functools\nuse()\n", "import functools", "functools",
        "import functools\n\ndef f():\n    import functools\nuse()\n",
    ),
    "another one in a function": (
        "def f():\n    import tools as functools\nuse()\n", "import functools", "functools_2",
        "import functools as functools_2\n\ndef f():\n    import tools as functools\nuse()\n",
    ),
    "in a block that raises otherwise": (
        "try:\n    import functools\nexcept ImportError as e:\n    print(e)\n    raise\nuse()\n", "import functools",
        "functools", "try:\n    import functools\nexcept ImportError as e:\n    print(e)\n    raise\nuse()\n",
    ),
    "in a block that goes on": (
        "try:\n    import functools\nexcept ImportError:\n    functools = None\nuse()\n", "import functools",
        "functools_2",
        ("import functools as functools_2\n\ntry:\n    import functools\nexcept ImportError:\n    functools = None\n"
         "use()\n"),
    ),
    "rebound": (
        "import functools\ndef f(functools):\n    pass\nuse()\n", "import functools", "functools_2",
        "import functools\nimport functools as functools_2\ndef f(functools):\n    pass\nuse()\n",
    ),
    "a module of a package that is there": (
        "import os\nuse()\n", "import os.path", "os.path", "import os\nimport os.path\nuse()\n",
    ),
    "CRLF": (
        "import os\r\nuse()\r\n", "import functools", "functools", "import functools\r\nimport os\r\nuse()\r\n",
    ),
    "only names of it are there": (
        "from os import makedirs as m\nfrom os.path import exists\nuse()\n", "import os", "os",
        "import os\nfrom os import makedirs as m\nfrom os.path import exists\nuse()\n",
    ),
    "a comment that speaks of the first import": (
        "# This loader is a drop-in one.\nfrom fast import loader\nuse()\n", "import functools", "functools",
        "import functools\n\n# This loader is a drop-in one.\nfrom fast import loader\nuse()\n",
    ),
    "a comment that speaks of the file": (
        "#!/usr/bin/env python\n# Trains models.\nimport torch\nuse()\n", "import functools", "functools",
        "#!/usr/bin/env python\n# Trains models.\nimport functools\n\nimport torch\nuse()\n",
    ),
    "comments behind and semicolons": (
        "import abc; import os  # both\nuse()\n", "import functools", "functools",
        "import abc; import os  # both\nimport functools\nuse()\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", IMPORTS)
def test_imports(case: str) -> None:
    before, statement, wanted, after = IMPORTS[case]
    document = Document("a.py", before.encode())
    use = next(
        node
        for node in document.nodes()
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "use"
    )
    spelling, edits = document.with_import(statement, use)
    assert spelling == wanted
    result = document.after(tuple(edits)).decode()
    assert result == (before if after is None else after)
    compile(result, "a.py", "exec")
    assert document.with_import(statement, use) == (spelling, edits), "asked for twice, imported once"


def test_how_a_file_calls_it() -> None:
    imports = "import torch.multiprocessing as mp\nfrom multiprocessing import get_context as g\nimport os.path\n"
    document = Document("a.py", f"{imports}use()\nimport abc\n".encode())
    use = document.module.body[3]
    names = (
        "torch.multiprocessing",
        "torch.multiprocessing.spawn",
        "multiprocessing.get_context",
        "os",
        "abc",
        "torch",
    )
    assert [document.imported(name, use) for name in names] == ["mp", "mp.spawn", "g", "os", "", ""]
