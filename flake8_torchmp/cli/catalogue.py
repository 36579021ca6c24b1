"""`torchmp rules` and `torchmp rule CODE`."""

from __future__ import annotations

import sys

from flake8_torchmp.cli import COULD_NOT_RUN
from flake8_torchmp.rules import all_rules


def show_rules(style: str) -> int:
    rules = sorted(all_rules(), key=lambda rule: rule.code)
    if style == "json":
        import json

        fields = ("code", "name", "summary", "fix", "since", "default", "page")
        json.dump([{field: getattr(rule, field) for field in fields} for rule in rules], sys.stdout, indent=2)
        print()
        return 0
    rows = [("CODE", "NAME", "FIX", "SUMMARY")]
    rows += [(rule.code, rule.name, rule.fix or "-", _summary(rule.summary, rule.default)) for rule in rules]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[3]]).rstrip())
    return 0


def _summary(summary: str, default: bool) -> str:
    return summary if default else f"{summary} (off by default)"


def show_rule(wanted: str) -> int:
    rules = all_rules()
    for rule in rules:
        if wanted.lower() in (rule.code.lower(), rule.name.lower()):
            print(rule.page.strip())
            return 0
    from difflib import get_close_matches

    known = {known.lower(): rule for rule in rules for known in (rule.code, rule.name)}
    close = get_close_matches(wanted.lower(), sorted(known), 1)
    hint = f"; did you mean {known[close[0]].code} ({known[close[0]].name})?" if close else "; see torchmp rules"
    print(f"torchmp: error: there is no rule {wanted}{hint}", file=sys.stderr)
    return COULD_NOT_RUN
