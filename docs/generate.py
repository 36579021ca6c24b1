"""Writes the pages that are made from the code: one for each rule, their table, the table of options.

python docs/generate.py            writes them
python docs/generate.py --check    says which are stale, and writes nothing
"""

from __future__ import annotations

import sys
from pathlib import Path

from flake8_torchmp.options import COMMAND, SETTINGS, Option
from flake8_torchmp.rules import Rule, all_rules

DOCS = Path(__file__).resolve().parent
BEGIN = "<!-- made by docs/generate.py: begin -->\n"
END = "<!-- made by docs/generate.py: end -->\n"


def pages() -> dict[Path, str]:
    """Every generated page, as it should be."""
    rules = all_rules()
    made = {DOCS / "rules" / f"{rule.code}.md": _rule_page(rule) for rule in rules}
    made[DOCS / "rules" / "index.md"] = _rule_table(rules)
    configuration = DOCS / "configuration.md"
    made[configuration] = _between_marks(configuration.read_text(encoding="utf-8"), _options())
    return made


def stale() -> list[Path]:
    """The pages that differ from what they should be, those of rules that are gone among them."""
    made = pages()
    wrong = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    return sorted({*wrong, *(path for path in (DOCS / "rules").glob("*.md") if path not in made)})


def _rule_page(rule: Rule) -> str:
    rest = rule.page.partition("\n")[2].strip()
    facts = f"On by default: {_yes(rule.default)}. Fix: {rule.fix or 'none'}. Since {rule.since}."
    return f"# {rule.code} {rule.name}\n\n{rule.summary}\n\n{facts}\n\n{rest}\n"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _rule_table(rules: tuple[Rule, ...]) -> str:
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.summary} | {rule.fix or 'none'} "
        f"| {_yes(rule.default)} | {rule.since} |"
        for rule in rules
    ]
    head = [
        "# Rules",
        "",
        "| code | name | what it finds | fix | by default | since |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows, ""])


def _options() -> str:
    parts = [
        "## For every door",
        "",
        "In pyproject.toml under `[tool.torchmp]`, as `--name`, and as `torchmp-name` in flake8's configuration.",
        "",
        *_option_table(SETTINGS),
        "",
        "## For the command alone",
        "",
        "In pyproject.toml under `[tool.torchmp]` and as `--name`; flake8 has options of its own for these.",
        "",
        *_option_table(COMMAND),
    ]
    return "\n".join([*parts, ""])


def _option_table(options: tuple[Option, ...]) -> list[str]:
    rows = [f"| `{option.name}` | {option.help} | {_default(option)} |" for option in options]
    return ["| name | meaning | default |", "| --- | --- | --- |", *rows]


def _default(option: Option) -> str:
    if not option.default:
        return ""
    if isinstance(option.default, str):
        return f"`{option.default}`"
    return ", ".join(f"`{item}`" for item in option.default)


def _between_marks(text: str, made: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{made}\n{END}{after}"


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        wrong = stale()
        for path in wrong:
            print(f"stale: {path.relative_to(DOCS.parent)}; run python docs/generate.py")
        return bool(wrong)
    made = pages()
    for path in stale():
        if path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
