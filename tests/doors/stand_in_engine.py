"""An engine that finds what a test writes down, so that the doors are tested without any rule.

`bad_TMP301` in a source is a finding of TMP301 on that word; `crash_here` makes the engine fail; `settings_here` is
a finding whose message shows the settings; `asks_helper` is a finding if helper.py beside the file says `unpicklable`.
"""

from __future__ import annotations

import os
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchmp import source
from flake8_torchmp.findings import Finding, Step

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from flake8_torchmp.cache import Cache
    from flake8_torchmp.settings import Settings

_WORDS = re.compile(r"bad_(TMP\d+)|crash_here|settings_here|asks_helper")


class Rule(NamedTuple):
    code: str
    name: str
    summary: str
    fix: str
    since: str
    page: str
    default: bool


RULES = (
    Rule(
        "TMP301",
        "lambda-to-worker",
        "a lambda reaches a worker",
        "safe",
        "0.1",
        "# TMP301\n\nWhy *lambdas* fail.",
        True,
    ),
    Rule("TMP302", "local-callable-to-worker", "a local callable reaches a worker", "", "0.1", "# TMP302\n", True),
    Rule("TMP902", "cache-in-worker", "a cache for each worker", "", "0.1", "# TMP902\n", False),
)


class Project:
    def __init__(self, root: Path, settings: Settings, buffers: Mapping[str, bytes] = {}) -> None:
        self.root, self.settings, self.buffers = root, settings, buffers

    def findings(self, path: str, data: bytes | None = None, tree: ast.Module | None = None) -> list[Finding]:
        data = self._content(path) if data is None else data
        if tree is None:
            source.parse(data, path)
        found = []
        for number, line in enumerate(source.lines_of(source.decode(data)), 1):
            for word in _WORDS.finditer(line):
                if word[0] == "crash_here":
                    raise KeyError("a rule of the stand-in")
                if word[0] == "asks_helper" and b"unpicklable" not in self._helper_of(path):
                    continue
                message = repr(self.settings) if word[0] == "settings_here" else f"{word[0]} reaches a worker"
                way = (Step(path, number, word[0]), Step(os.path.abspath(path), number, "DataLoader(collate_fn=)"))
                code = word[1] or "TMP301"
                found.append(Finding(path, number, word.start(), code, message, number, word.end(), way=way))
        return found

    def _content(self, path: str) -> bytes:
        path = os.path.abspath(path)
        return self.buffers[path] if path in self.buffers else source.read(path)

    def _helper_of(self, path: str) -> bytes:
        try:
            return self._content(os.path.join(os.path.dirname(path), "helper.py"))
        except source.Unreadable:
            return b""


def check(
    paths: Sequence[str],
    settings: Settings,
    jobs: int = 1,
    buffers: Mapping[str, bytes] = {},
    progress: Callable[[int, int], None] | None = None,
    cache: Cache | None = None,
) -> Iterator[tuple[str, list[Finding], str]]:
    JOBS.append(jobs)
    CACHES.append(cache)
    for number, path in enumerate(paths, 1):
        try:
            yield path, Project(source.project_root(path), settings, buffers).findings(path), ""
        except source.Unreadable as problem:
            yield path, [], str(problem)
        if progress:
            progress(number, len(paths))


JOBS: list[int] = []
"""The number of processes that each check was asked to use."""
CACHES: list[Cache | None] = []
"""Where each check was asked to keep its answers."""


def modules() -> dict[str, ModuleType]:
    """What stands in for the engine and the rules, by the name of the module."""
    engine, rules = ModuleType("flake8_torchmp.engine"), ModuleType("flake8_torchmp.rules")
    vars(engine).update(Project=Project, check=check)
    vars(rules).update(all_rules=lambda: RULES)
    return {"engine": engine, "rules": rules}


def install() -> None:
    import flake8_torchmp

    for name, module in modules().items():
        sys.modules[f"flake8_torchmp.{name}"] = module
        setattr(flake8_torchmp, name, module)
