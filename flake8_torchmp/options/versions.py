"""Which Python versions a specifier such as `>=3.10,<3.13` allows."""

from __future__ import annotations

import operator
import re

from flake8_torchmp.settings import PYTHONS

_CLAUSE = re.compile(r"\s*(~=|===?|!=|<=|>=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?[\w.+!-]*\s*")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

Version = tuple[int, ...]


def pythons_allowed(specifier: str) -> tuple[str, ...]:
    """The known versions that it allows; empty where it cannot be understood or allows none.

    A version older or newer than those that are known counts as its nearest neighbour: a project for Python 3.8
    alone is checked as one for 3.10.
    """
    clauses = [_CLAUSE.fullmatch(clause) for clause in specifier.split(",") if clause.strip()]
    if not clauses or None in clauses:
        return ()
    parsed = [(found[1], _version(found[2]), bool(found[3])) for found in clauses if found]
    known = [_version(python)[1] for python in PYTHONS]
    patches = {0, 99} | {
        max(0, version[2] + step) for _, version, _ in parsed if len(version) > 2 for step in (-1, 0, 1)
    }
    allowed = {
        min(max(minor, known[0]), known[-1])
        for minor in range(known[-1] + 20)
        for patch in patches
        if all(_holds((3, minor, patch), *clause) for clause in parsed)
    }
    return tuple(f"3.{minor}" for minor in sorted(allowed))


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def _holds(python: Version, sign: str, wanted: Version, any_below: bool) -> bool:
    if sign == "~=":
        return python >= _padded(wanted) and python[: len(wanted) - 1] == wanted[:-1]
    if sign in _COMPARE:
        return bool(_COMPARE[sign](python, _padded(wanted)))
    equal = python[: len(wanted)] == wanted if any_below else python == _padded(wanted)
    return equal != (sign == "!=")


def _padded(version: Version) -> Version:
    return version + (0,) * (3 - len(version))
