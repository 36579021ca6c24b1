"""The rules: one module each, found by walking this package; a rule's page is its module's docstring."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.module import Module

Check = Callable[[Module, Model], Iterator[Finding]]


class Rule(NamedTuple):
    code: str
    name: str
    summary: str
    fix: str
    """safe, unsafe, "safe or unsafe", or nothing"""
    since: str
    page: str
    check: Check

    @property
    def default(self) -> bool:
        """Whether it is on without being asked for: opinions are not."""
        return not self.code.startswith("TMP9")


def rule(code: str, name: str, *, fix: str = "", since: str = "0.1.0") -> Callable[[Check], Rule]:
    """Makes a rule of a function that yields the findings which a module gives rise to, in it or elsewhere."""

    def register(check: Check) -> Rule:
        page = (sys.modules[check.__module__].__doc__ or "").strip()
        title, _, summary = page.partition("\n")[0].partition(": ")
        if title != f"{code} {name}" or not summary:
            raise ValueError(f"the page of {code} has to begin with `{code} {name}: what it says`")
        return Rule(code, name, summary, fix, since, page, check)

    return register


def first_of_files(several: Sequence[Finding]) -> Finding:
    """Of findings with one cause the first one, tests last; it names the other files, and its way has their places."""
    ordered = sorted(several, key=lambda finding: (is_called_test(finding.path), *finding[:4]))
    first = ordered[0]
    others = {finding.path: finding for finding in reversed(ordered) if finding.path != first.path}
    if not others:
        return first
    files = "1 more file" if len(others) == 1 else f"{len(others)} more files"
    places = [Step(path, others[path].line, "likewise") for path in sorted(others)]
    return first._replace(message=f"{first.message} (likewise in {files})", way=(*first.way, *places))


@cache
def all_rules() -> tuple[Rule, ...]:
    found: list[Rule] = []
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("tmp"):
            loaded = importlib.import_module(f"{__name__}.{module.name}")
            found += [value for value in vars(loaded).values() if isinstance(value, Rule)]
    return tuple(sorted(found, key=lambda rule: rule.code))


def rule_for(code: str) -> Rule | None:
    return next((rule for rule in all_rules() if rule.code == code), None)
