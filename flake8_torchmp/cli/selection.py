"""Which codes are reported where: flake8's rules, so that the same lists mean the same here and there."""

from __future__ import annotations

import os
import re
from fnmatch import translate
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flake8_torchmp.options.configuration import Configuration

OFF_BY_DEFAULT = "TMP9"


@cache
def _matcher(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(os.path.normcase(pattern)) for pattern in patterns) or r"(?!)")


def fits(path: str, patterns: Sequence[str]) -> bool:
    """Whether the name of a file or folder, or its absolute path, is like one of the patterns."""
    matches = _matcher(tuple(patterns)).match
    name = os.path.basename(path)
    if name not in (".", "..") and matches(os.path.normcase(name)):
        return True
    return matches(os.path.normcase(os.path.abspath(path))) is not None


class Selection:
    """The select and ignore lists of one configuration."""

    def __init__(self, configuration: Configuration) -> None:
        select, ignore = configuration.texts("select"), configuration.texts("ignore")
        extend_select = configuration.texts("extend-select") or ()
        extend_ignore = configuration.texts("extend-ignore") or ()
        self._selected_by_user = (*(select or ()), *extend_select)
        self._ignored_by_user = (*(ignore or ()), *extend_ignore)
        self._selected = (*(("TMP",) if select is None else select), *extend_select)
        self._ignored = (*((OFF_BY_DEFAULT,) if ignore is None else ignore), *extend_ignore)
        by_file = configuration.value("per-file-ignores")
        self._by_file = by_file if isinstance(by_file, dict) else {}

    def reports(self, path: str, code: str) -> bool:
        if code.startswith(OFF_BY_DEFAULT) and longest(self._selected_by_user, code) < len(OFF_BY_DEFAULT):
            return False
        codes_here = self._ignored_in(path)
        return self._decide(code, (*self._ignored_by_user, *codes_here), (*self._ignored, *codes_here))

    def _ignored_in(self, path: str) -> tuple[str, ...]:
        here = [pattern for pattern in self._by_file if fits(path, (pattern,))]
        return self._by_file[max(here, key=len)] if here else ()

    def _decide(self, code: str, ignored_by_user: tuple[str, ...], ignored: tuple[str, ...]) -> bool:
        if not code.startswith(self._selected):
            return False
        if not code.startswith(ignored):
            return True
        named, unwanted = code.startswith(self._selected_by_user), code.startswith(ignored_by_user)
        if named != unwanted:
            return named
        return longest(self._selected, code) > longest(ignored, code)


def longest(prefixes: tuple[str, ...], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)
