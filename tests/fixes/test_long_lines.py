"""Lines that a fix makes too long."""

from __future__ import annotations

import pytest

from flake8_torchmp.fixes.change import Edit
from flake8_torchmp.fixes.change import applied as with_edits
from flake8_torchmp.fixes.document import Document
from flake8_torchmp.fixes.long_lines import broken_lines

NAME, LONG = "x" * 70, "x" * 104


def edited(text: str, old: str, new: str) -> str:
    document = Document("main.py", text.encode())
    edit = Edit("main.py", text.index(old), text.index(old) + len(old), new)
    return with_edits(text, [edit, *broken_lines(document, [edit])])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"def f():\n    names = [name for name in listed({NAME}) if name]\n    return names\n",
            (
                "def f():\n    names = [\n"
                f"        name for name in sorted(listed({NAME})) if name\n    ]\n    return names\n"
            ),
        ),
        (
            f"if here:\n    name = listed({LONG[:90]})  # all\n",
            f"if here:\n    name = (\n        sorted(listed({LONG[:90]}))\n    )  # all\n",
        ),
        (f"f(1)[2](listed({LONG[:90]}), 'é)')\r\n", f"f(1)[2](\r\n    sorted(listed({LONG[:90]})), 'é)'\r\n)\r\n"),
    ],
)
def test_it_goes_on_in_its_brackets(before: str, after: str) -> None:
    call = before[before.index("listed(") : before.index(")", before.index("listed(")) + 1]
    assert edited(before, call, f"sorted({call})") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"with Pool(\n    2, listed({LONG[:80]}), *more, key='value'\n) as pool:\n    pass\n",
            (
                f"with Pool(\n    2,\n    sorted(listed({LONG[:80]})),\n    *more,\n    key='value',\n"
                ") as pool:\n    pass\n"
            ),
        ),
        (
            f"pool = Pool(2, listed({LONG[:80]}), key='value',\n            other=1)\n",
            f"pool = Pool(2, sorted(listed({LONG[:80]})),\n            key='value',\n            other=1)\n",
        ),
        (
            f"pool = Pool(2,\n            1, listed({LONG[:90]}))\n",
            f"pool = Pool(2,\n            1,\n            sorted(listed({LONG[:90]})))\n",
        ),
        (
            f"run(\n    Pool(2, listed({LONG[:80]}), key='value'),\n    True,\n)\n",
            f"run(\n    Pool(\n        2, sorted(listed({LONG[:80]})), key='value'\n    ),\n    True,\n)\n",
        ),
        (
            f"f(Pool(key='value', listed=listed({LONG[:80]}),), [\n    1\n])\n",
            f"f(Pool(key='value',\n       listed=sorted(listed({LONG[:80]})),), [\n    1\n])\n",
        ),
    ],
)
def test_arguments_of_a_call_that_goes_on_get_lines(before: str, after: str) -> None:
    call = before[before.rindex("listed(") : before.index(")", before.rindex("listed(")) + 1]
    assert edited(before, call, f"sorted({call})") == after


@pytest.mark.parametrize(
    "before",
    [
        f"x = [listed({LONG[:50]})]\n",
        f"y = '{'-' * 150}'\nx = [listed({LONG})]\n",
        f"if [listed({LONG})]:\n    pass\n",
        f"x = [listed({LONG})]  # why\n",
        f"x = call(\n    [listed({LONG})], 1\n)\n",
    ],
)
def test_other_lines_stay(before: str) -> None:
    call = before[before.index("listed(") : before.index(")", before.index("listed(")) + 1]
    assert edited(before, call, f"sorted({call})") == before.replace(call, f"sorted({call})")
