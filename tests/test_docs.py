"""The documentation says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import generate
import pytest

from flake8_torchmp import engine, rules
from flake8_torchmp.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
RULES = rules.all_rules()
DEFAULT = {rule.code for rule in RULES if rule.default}
SECTIONS = ["What happens", "Fails", "Works", "What it does not see", "How to silence it"]


def section(rule: rules.Rule, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", rule.page, re.MULTILINE | re.DOTALL)
    assert found, f"the page of {rule.code} has no section {title!r}"
    return found[1]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def codes_found(program: str, folder: Path, rule: rules.Rule | None = None) -> set[str]:
    (folder / "setup.cfg").touch()
    path = folder / "train.py"
    path.write_text(program, encoding="utf-8")
    ((_, findings, problem),) = engine.check([str(path)], Settings())
    assert problem == ""
    wanted = DEFAULT if rule is None else DEFAULT | {rule.code}
    return {one.code for one in findings if one.code in wanted}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page_is_complete(rule: rules.Rule) -> None:
    assert rule.page.partition("\n")[0] == f"{rule.code} {rule.name}: {rule.summary}"
    assert re.findall(r"^## (.*)$", rule.page, re.MULTILINE) == SECTIONS
    assert blocks(section(rule, "Fails"), "text"), "the real error is missing"
    assert f"# noqa: {rule.code}" in section(rule, "How to silence it")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_program_that_fails_is_found(rule: rules.Rule, tmp_path: Path) -> None:
    program = blocks(section(rule, "Fails"), "python")[0]
    assert codes_found(program, tmp_path, rule) == {rule.code}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_program_that_works_is_quiet(rule: rules.Rule, tmp_path: Path) -> None:
    program = blocks(section(rule, "Works"), "python")[0]
    assert codes_found(program, tmp_path, rule) == set()


def test_generated_pages_are_fresh() -> None:
    assert generate.stale() == [], "run python docs/generate.py"


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_example_in_the_readme_is_found() -> None:
    paths = sorted(str(path) for path in (ROOT / "examples" / "broken").glob("*.py"))
    assert paths
    found = {one.code for _, findings, _ in engine.check(paths, Settings()) for one in findings}
    assert {"TMP201", "TMP301", "TMP401", "TMP501"} <= found


def test_changelog_names_this_version() -> None:
    from flake8_torchmp import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
