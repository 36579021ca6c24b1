"""What `# noqa` silences is compared with flake8's own answer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest
from flake8.processor import FileProcessor  # type: ignore[import-untyped]
from flake8.violation import Violation  # type: ignore[import-untyped]

from flake8_torchmp.cli import noqa

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "f(lambda: 0)  # noqa\n",
    "f(lambda: 0)  # NoQA:TMP301\n",
    "f(lambda: 0)  # noqa: TMP3\n",
    "f(lambda: 0)  # noqa: TMP302\n",
    "f(lambda: 0)  # noqa: tmp301\n",
    "f(lambda: 0)  # noqa: E501,TMP301\n",
    "f(lambda: 0)  # noqa: E501 TMP301 because of that\n",
    "f(lambda: 0)  # noqa:  TMP302\n",
    "f(lambda: 0)  # noqa : TMP302\n",
    "f(lambda: 0)  #noqa\n",
    "f(lambda: 0)  # type: ignore # noqa: E501\n",
    "f(\n    lambda: 0,  # noqa\n    1,\n)\n",
    "f(\n    lambda: 0,\n    1,\n)  # noqa\n",
    "f(  # noqa: TMP301\n    lambda: 0,\n)\n",
    'f(lambda: """\n\n""")  # noqa\nx = 1\n',
    'x = """\n# noqa\n""", lambda: 0\n',
    'x = f"""\n{1}\n""", lambda: 0  # noqa\n',
    'x = f"""\n{1 +\n 2}\n""", lambda: 0  # noqa\n',
    "x = 1 + \\\n    2  # noqa\n",
    "# flake8: noqa\nf(lambda: 0)\n",
    "  # flake8: noqa: E501\nf(lambda: 0)\n",
    "x = 1  # flake8: noqa\nf(lambda: 0)\n",
    "# FLAKE8=NOQA\nf(lambda: 0)\n",
    "\x0cf(lambda: 0)  # noqa\n",
    "x = '\u2028'  # noqa\ny = 1\n",
    "f(lambda: 0)  # noqa",
    "def f():\n    return (  # noqa\n",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_noqa_means_what_it_means_in_flake8(text: str, tmp_path: Path) -> None:
    options = argparse.Namespace(
        hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0, disable_noqa=False
    )
    (tmp_path / "a.py").write_text(text, encoding="utf-8", newline="")
    processor = FileProcessor(str(tmp_path / "a.py"), options)
    comments = noqa.Comments(text)
    assert comments.whole_file == processor.should_ignore_file()
    for line in range(1, text.count("\n") + 3):
        for code in ("TMP301", "TMP101", "E501"):
            violation = Violation(code, str(tmp_path / "a.py"), line, 1, "", processor.noqa_line_for(line))
            assert comments.silence(line, code) == violation.is_inline_ignored(False), (line, code)


def test_files_that_do_not_mention_noqa_need_no_tokens() -> None:
    assert noqa.mentioned(b"x  # NoQa")
    assert not noqa.mentioned(b"x  # no qa")
