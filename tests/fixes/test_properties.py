"""What holds for every fix of every program, however it is laid out."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import os
import subprocess
import tempfile
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fixes.mending import mended_in
from fixture_format import fixtures
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from flake8_torchmp import rules, source
from flake8_torchmp.engine import Project
from flake8_torchmp.fixes.change import Edit, NotFixable, in_order
from flake8_torchmp.fixes.document import Documents
from flake8_torchmp.fixes.patch import patch
from flake8_torchmp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

FIXABLE = {rule.code for rule in rules.all_rules() if rule.fix}
KEEPING = frozenset(
    "absolute_path another_start_method available_start_method import_submodule lambda_to_function local_to_module "
    "main_guard overridden_option own_context rank_parameter sort_listing start_method_once".split()
)
"""Codemods after which no statement is gone for good, and so no comment either."""
EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "40"))
"""More of them are other ones, too."""
DERANDOMIZE = "PROPERTY_EXAMPLES" not in os.environ
BOM = b"\xef\xbb\xbf"
NAMES = {"loader": "загрузчик", "dataset": "données", "batch": "パッチ", "data": "größe"}


@cache
def programs() -> list[str]:
    """The fixtures of one file that have findings to mend."""
    return [
        source.decode(program.path.read_bytes())
        for program in fixtures()
        if program.path.is_file() and FIXABLE & {one.code for one in program.expected}
    ]


def tabs(text: str) -> str:
    return edited(text, lambda line: "\t" * ((len(line) - len(line.lstrip(" "))) // 4) + line.lstrip(" "))


def comments(text: str) -> str:
    return edited(text, lambda line: f"{line}  # ä: \t comment" if line.strip() and "#" not in line else line)


def edited(text: str, change: Callable[[str], str]) -> str:
    """The text with its lines changed, except those inside strings and continued lines."""
    lines = text.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    inside = {
        line
        for token in tokens
        if token.start[0] != token.end[0] and token.type not in (tokenize.NEWLINE, tokenize.NL)
        for line in range(token.start[0], token.end[0] + 1)
    }
    inside |= {number for number, line in enumerate(lines, 1) if line.endswith("\\")}
    inside |= {number + 1 for number in inside}
    return "\n".join(line if number in inside else change(line) for number, line in enumerate(lines, 1))


def names(text: str) -> str:
    """With identifiers that are not ASCII, the same everywhere."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    offsets, lines = [0], text.split("\n")
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    for token in reversed(tokens):
        if token.type == tokenize.NAME and token.string in NAMES:
            start = offsets[token.start[0] - 1] + token.start[1]
            text = text[:start] + NAMES[token.string] + text[start + len(token.string) :]
    return text


def one_line_suites(text: str) -> str:
    """`def f(x):` and its only statement on one line, where the tree says that it has no more."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.For | ast.If) and len(node.body) == 1:
            (only,) = node.body
            simple = isinstance(only, ast.Return | ast.Expr | ast.Assign) and only.lineno == only.end_lineno
            head = lines[only.lineno - 2]
            if simple and head.rstrip().endswith(":") and not (isinstance(node, ast.If) and node.orelse):
                lines[only.lineno - 2] = f"{head.rstrip()} {lines[only.lineno - 1].strip()}"
                lines[only.lineno - 1] = ""
    return "\n".join(lines)


def docstring(text: str) -> str:
    return f'"""Größe 🦊."""\n{text}'


def semicolons(text: str) -> str:
    return edited(text, lambda line: f"{line}; y_1 = 1; y_2 = 2" if line.startswith("import ") else line)


def backslashes(text: str) -> str:
    return edited(text, lambda line: line.replace(" = ", " = \\\n    ", 1) if " = " in line and "(" in line else line)


def form_feeds(text: str) -> str:
    return text.replace("\n\n\n", "\n\x0c\n\n")


TEXTS = [tabs, comments, names, one_line_suites, docstring, semicolons, backslashes, form_feeds]


def utf8(text: str) -> bytes:
    return text.encode()


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def marked(text: str) -> bytes:
    return text.encode("utf-8-sig")


def latin_1(text: str) -> bytes:
    return f"# -*- coding: latin-1 -*-\n{text}".encode("latin-1", "replace")


def unended(text: str) -> bytes:
    return text.rstrip("\n").encode()


@st.composite
def layouts(draw: st.DrawFn) -> bytes:
    text = draw(st.sampled_from(programs()))
    mutations = draw(st.lists(st.sampled_from(TEXTS), unique_by=lambda one: one.__name__, max_size=3))
    encode = draw(st.sampled_from([utf8, crlf, marked, latin_1, unended]))
    try:
        for mutation in mutations:
            text = mutation(text)
        data = encode(text)
        compile(data, "main.py", "exec")
    except (SyntaxError, ValueError, tokenize.TokenError):  # some go together badly
        assume(False)
    return data


def fixed(folder: Path, data: bytes, unsafe: bool) -> tuple[bytes, set[str]]:
    """The file after it, and the codemods that changed it."""
    (folder / "main.py").write_bytes(data)
    outcome = mended_in(folder, unsafe)
    ((_, new),) = outcome.files.values() if outcome.files else (((b"", data)),)
    return new, {fix.finding.repair.codemod for fix in outcome.fixes if fix.finding.repair}


@given(data=layouts(), unsafe=st.booleans())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=DERANDOMIZE, suppress_health_check=list(HealthCheck))
def test_every_fix(data: bytes, unsafe: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        (folder / "setup.cfg").touch()
        new, codemods = fixed(folder, data, unsafe)
        compile(new, "main.py", "exec")
        assert fixed(folder, new, unsafe) == (new, set()), "twice is once"
        assert bool(codemods) == (new != data)
        unchanged_as_they_were(data, new)
        if codemods <= KEEPING:
            assert sorted(comments_in(data)) == sorted(comments_in(new))
        (folder / "main.py").write_bytes(data)
        (folder / "p").write_bytes(patch("main.py", data, new))
        if new != data:
            done = subprocess.run(
                ["git", "apply", "--whitespace=nowarn", "p"], cwd=folder, capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr
        assert (folder / "main.py").read_bytes() == new


@given(data=layouts())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=DERANDOMIZE, suppress_health_check=list(HealthCheck))
def test_bytes_outside_the_edits(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        (folder / "setup.cfg").touch()
        path = str(folder / "main.py")
        Path(path).write_bytes(data)
        project = Project(folder, Settings())
        documents = Documents(lambda _: data)
        for repair in {one.repair for one in project.findings_from(path) if one.repair is not None}:
            codemod = importlib.import_module(f"flake8_torchmp.fixes.{repair.codemod}")
            with contextlib.suppress(NotFixable):
                edits = in_order(codemod.change(repair, documents).edits)
                assert_as_they_were(data, documents[path].after(tuple(edits)), edits)


def assert_as_they_were(data: bytes, new: bytes, edits: list[Edit]) -> None:
    """Walks along both contents: between one edit and the next they are the same bytes."""
    encoding = source.encoding(data)
    text = data.decode(encoding)
    marked = encoding == "utf-8-sig"

    def length(part: str) -> int:
        return len(part.encode("utf-8" if marked else encoding))

    old_at = new_at = len(BOM) if marked else 0
    assert new[:new_at] == data[:old_at]
    place = 0
    for edit in edits:
        assert place <= edit.start <= edit.end <= len(text)
        kept = length(text[place : edit.start])
        assert new[new_at : new_at + kept] == data[old_at : old_at + kept]
        old_at += kept + length(text[edit.start : edit.end])
        new_at += kept + length(edit.text)
        place = edit.end
    assert new[new_at:] == data[old_at:]


def unchanged_as_they_were(data: bytes, new: bytes) -> None:
    """Encoding, byte-order mark and line ends."""
    assert source.encoding(new) == source.encoding(data)
    assert new.startswith(BOM) == data.startswith(BOM)
    if b"\r\n" in data:
        assert b"\n" not in new.replace(b"\r\n", b"")
    else:
        assert b"\r" not in new


def comments_in(data: bytes) -> list[str]:
    text = source.decode(data)
    return [one.string for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type == tokenize.COMMENT]
