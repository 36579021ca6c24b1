"""`torchmp noqa`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from doors.calling import Command, Project

TEXTS = {
    "x = bad_TMP301\n": "x = bad_TMP301  # noqa: TMP301\n",
    "x = bad_TMP301, bad_TMP302": "x = bad_TMP301, bad_TMP302  # noqa: TMP301, TMP302",
    "x = bad_TMP301  # why\r\ny = 1\r\n": "x = bad_TMP301  # why  # noqa: TMP301\r\ny = 1\r\n",
    "x = bad_TMP301   # noqa: E501 because\n": "x = bad_TMP301   # noqa: E501, TMP301 because\n",
    "x = bad_TMP301  # noqa:E501,W5\n": "x = bad_TMP301  # noqa:E501,W5, TMP301\n",
    "f(\n    bad_TMP301,\n    1,\n)\n": "f(\n    bad_TMP301,  # noqa: TMP301\n    1,\n)\n",
    'x = bad_TMP301, """\n\n"""\n': 'x = bad_TMP301, """\n\n"""  # noqa: TMP301\n',
    "x = 1 + \\\n  bad_TMP301 + \\\n  2\n": "x = 1 + \\\n  bad_TMP301 + \\\n  2  # noqa: TMP301\n",
    "# é\nif x: bad_TMP301; y\n": "# é\nif x: bad_TMP301; y  # noqa: TMP301\n",
    "x = bad_TMP301  # noqa\n": "x = bad_TMP301  # noqa\n",
    "# flake8: noqa\nx = bad_TMP301\n": "# flake8: noqa\nx = bad_TMP301\n",
}


@pytest.mark.parametrize("before", TEXTS)
def test_comments_that_flake8_honours(before: str, project: Project, torchmp: Command, flake8: Command) -> None:
    folder = project(a_py=before)
    assert torchmp("noqa").code == 0
    assert (folder / "a.py").read_bytes().decode() == TEXTS[before]
    assert torchmp("check").code == 0
    assert "TMP" not in flake8("a.py", "--select", "TMP").out
    torchmp("noqa")
    assert (folder / "a.py").read_bytes().decode() == TEXTS[before], "twice is once"


def test_only_what_is_asked_for(project: Project, torchmp: Command) -> None:
    folder = project(a_py="bad_TMP301\nbad_TMP302\n", b_py="bad_TMP301\n", c_py="def\n# bad_TMP301\n")
    result = torchmp("noqa", "a.py", "c.py", "missing", "--select", "TMP302")
    assert result.code == 2
    assert [line.partition(":")[0] for line in result.err.splitlines()] == ["missing", "c.py"]
    assert result.out == "1 finding silenced in 1 file\n"
    assert (folder / "a.py").read_text() == "bad_TMP301\nbad_TMP302  # noqa: TMP302\n"
    assert (folder / "b.py").read_text() == "bad_TMP301\n"


RUFF = {
    '[tool.ruff.lint]\nselect = ["RUF"]\n': True,
    '[tool.ruff]\nextend-select = ["RUF100"]\n': True,
    '[tool.ruff.lint]\nselect = ["ALL"]\n': True,
    '[tool.ruff.lint]\nselect = ["ALL"]\nignore = ["RUF1"]\n': False,
    '[tool.ruff.lint]\nselect = ["E"]\n': False,
    '[tool.ruff.lint]\nselect = ["RUF"]\nexternal = ["TMP"]\n': False,
    '[tool.ruff.lint]\nselect = ["RUF"]\nexternal = ["TMP301"]\n': True,
    '[tool.ruff]\nextend = "other.toml"\n': True,
    "[tool.other]\n": False,
    "[tool.ruff\n": False,
}


@pytest.mark.parametrize("configuration", RUFF)
def test_warns_where_ruff_would_delete_them(configuration: str, project: Project, torchmp: Command) -> None:
    project(pyproject_toml=configuration, sub__a_py="bad_TMP301\n", other_toml='lint.select = ["RUF"]\n')
    result = torchmp("noqa", "sub/a.py")
    assert ('ruff would delete these comments; add external = ["TMP"]' in result.err) == RUFF[configuration]


def test_a_ruff_file_goes_first(project: Project, torchmp: Command) -> None:
    project(pyproject_toml="[tool.ruff]\n", ruff_toml='lint.select = ["RUF102"]\n', a_py="bad_TMP301\n")
    assert "ruff.toml: ruff would delete" in torchmp("noqa").err
