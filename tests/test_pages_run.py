"""Runs the programs of the rules' pages: what fails prints what its page shows, what works ends well.

One page in three by default, always the same ones; all of them with FIXTURE_STARTS=all in the environment.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

import pytest
from running import LONG, run
from test_docs import RULES, blocks, section

from flake8_torchmp import rules

NOT_HERE = {
    "TMP104": "Windows alone has no forkserver",
    "TMP703": "needs a GPU",
    "TMP907": "OpenCV is not installed",
}
"""Rules whose failing program cannot fail on this machine."""

PATIENCE = 20
"""Seconds that a program is given whose page says that it hangs."""


def runnable() -> list[rules.Rule]:
    every = os.environ.get("FIXTURE_STARTS") == "all"
    return [rule for rule in RULES if rule.code not in NOT_HERE and (every or zlib.crc32(rule.code.encode()) % 3 == 0)]


@pytest.mark.parametrize("rule", runnable(), ids=lambda rule: rule.code)
def test_failing_program_prints_what_its_page_shows(rule: rules.Rule, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(blocks(section(rule, "Fails"), "python")[0], encoding="utf-8")
    wanted = blocks(section(rule, "Fails"), "text")[0].splitlines()
    hangs = any("hangs" in line or "waits" in line for line in wanted)
    output = ""
    for start in ("spawn", "fork"):
        output += f"--- under {start}\n" + run("train.py", tmp_path, start, PATIENCE if hangs else LONG)[1]
        if all(_shows(output, line) for line in wanted):
            return
    pytest.fail(f"{rule.code}: its page shows\n" + "\n".join(wanted) + f"\n{output[-3000:]}", pytrace=False)


def _shows(output: str, line: str) -> bool:
    """Whether an output has a line of a page, up to numbers, spaces, folders, and what is left out by dots.

    In brackets, or after several spaces, stands what nothing prints.
    """
    line = line.partition("    ")[0].strip() or line.strip()
    if not line or (line.startswith("(") and line.endswith(")")):
        return True
    return re.search(re.escape(_without_numbers(line)).replace(r"\.\.\.", ".*"), _without_numbers(output)) is not None


def _without_numbers(text: str) -> str:
    text = re.sub(r"'[^'\s]*/", "'", text.replace("[...]", "..."))
    return re.sub(r"\s+", "", re.sub(r"-?(?:\b|(?<=_))(?:0x[0-9a-f]+|\d+)", "0", text))


@pytest.mark.parametrize("rule", runnable(), ids=lambda rule: rule.code)
def test_program_that_works_ends_well(rule: rules.Rule, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(blocks(section(rule, "Works"), "python")[0], encoding="utf-8")
    ended, output = run("train.py", tmp_path, "spawn")
    assert ended == "well", output[-2000:]
