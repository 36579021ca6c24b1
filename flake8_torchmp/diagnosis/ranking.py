"""Which finding explains what was printed: its rule can cause the message, its way passes where the traceback was."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from flake8_torchmp.findings import Finding

from .printed import Frame, Printed, Said

# What counts how much. A cause's weight goes from 1 to 10.
PER_WEIGHT = 10
NAMED = 60
"""The message names what the finding is about."""
ON_THE_LINE = 45
"""A frame of the traceback is on the finding's lines."""
ON_THE_WAY = 25
IN_THE_FUNCTION = 15
IN_THE_FILE = 10
ALIKE = 12
"""So much less counts each further finding of the same rule."""

_WORD = re.compile(r"\w+")
_LOCALS = re.compile(r"<\w+(?:>|$)")


class Suspect(NamedTuple):
    finding: Finding
    score: int
    explains: Said | None
    """The message that its rule can cause."""
    is_named: bool = False
    """Whether that message names what the finding is about."""


class Scene(NamedTuple):
    """What a traceback leaves behind: its frames by file and line, and what was said."""

    lines: frozenset[tuple[str, int]]
    files: frozenset[str]
    said: tuple[Said, ...]

    @staticmethod
    def of(printed: Printed, frames: Iterable[Frame]) -> Scene:
        lines = frozenset((frame.path, frame.line) for frame in frames)
        return Scene(lines, frozenset(path for path, _ in lines), printed.said)

    @property
    def codes(self) -> frozenset[str]:
        """The rules that can cause what was said: if there are any, no other counts."""
        return frozenset(code for said in self.said for code in said.message.causes)

    @property
    def names(self) -> frozenset[str]:
        """What is quoted, in words."""
        return frozenset(name for said in self.said for name in said.names)


def words_of(name: str) -> list[str]:
    """`main.<locals>.collate`: main, collate"""
    return [name] if "/" in name else [part for part in _LOCALS.sub("", name).split(".") if part]


def _in_module(parts: list[str], path: str) -> list[str]:
    """A qualified name less the module that it begins with, if that is this file."""
    if parts and parts[0] in ("__main__", "__mp_main__"):
        return parts[1:]
    module = path.removesuffix(".py").split(os.sep)
    for length in range(len(parts) - 1, 0, -1):
        if module[-length:] == parts[:length]:
            return parts[length:]
    return parts


def rank(findings: Iterable[Finding], scene: Scene, text_of: Callable[[str], str]) -> list[Suspect]:
    """The findings that can be behind it, the likeliest first."""
    places = _Places(text_of)
    suspects = [suspect for finding in findings if (suspect := _judge(finding, scene, places)) is not None]
    in_order = sorted(suspects, key=lambda suspect: (-suspect.score, suspect.finding[:4]))
    return sorted(_varied(in_order), key=lambda suspect: (-suspect.score, suspect.finding[:4]))


def _varied(suspects: Iterable[Suspect]) -> Iterator[Suspect]:
    """Of many findings of one rule among which nothing decides, the first speak for it: other rules come to word."""
    seen: Counter[tuple[str, int]] = Counter()
    for suspect in suspects:
        alike = (suspect.finding.code, suspect.score)
        yield suspect._replace(score=suspect.score - ALIKE * seen[alike])
        seen[alike] += 1


def _judge(finding: Finding, scene: Scene, places: _Places) -> Suspect | None:
    evidence = _nearness(finding, scene, places)
    best = Suspect(finding, evidence, None)
    for said in scene.said:
        weight = said.message.causes.get(finding.code, 0)
        if weight:
            is_named = places.is_named(finding, said.names)
            suspect = Suspect(finding, evidence + weight * PER_WEIGHT + NAMED * is_named, said, is_named)
            best = max(best, suspect, key=lambda one: one.score)
    if best.explains is None and (scene.codes or not evidence):
        return None
    return best


def _nearness(finding: Finding, scene: Scene, places: _Places) -> int:
    if any((finding.path, line) in scene.lines for line in range(finding.line, finding.end_line + 1)):
        return ON_THE_LINE
    if any((step.path, step.line) in scene.lines for step in finding.way):
        return ON_THE_WAY
    if finding.path not in scene.files:
        return 0
    span = places.function_around(finding)
    inside = span is not None and any(path == finding.path and line in span for path, line in scene.lines)
    return IN_THE_FUNCTION if inside else IN_THE_FILE


class _Places:
    """What stands where in the files of the findings."""

    def __init__(self, text_of: Callable[[str], str]) -> None:
        self._text_of = text_of
        self._trees: dict[str, tuple[Sequence[str], ast.Module]] = {}

    def is_named(self, finding: Finding, names: Iterable[str]) -> bool:
        lines, tree = self._parsed(finding.path)
        about = " ".join([*lines[finding.line - 1 : finding.end_line], finding.message, *(s.text for s in finding.way)])
        words = set(_WORD.findall(about))
        around = [getattr(node, "name", "") for node in _around(tree, finding.line)]
        for name in names:
            if "/" in name or "\\" in name:
                if name in about:
                    return True
                continue
            parts = _in_module(words_of(name), finding.path)
            if not parts:
                continue
            is_inside_of = around[-len(parts) :] == parts
            is_defined_in = len(parts) > 1 and around[-len(parts) + 1 :] == parts[:-1] and parts[-1] in words
            if is_inside_of or is_defined_in or (len(parts) == 1 and (parts[0] in words or parts[0] in around)):
                return True
        return False

    def function_around(self, finding: Finding) -> range | None:
        functions = [
            node
            for node in _around(self._parsed(finding.path)[1], finding.line)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        return range(functions[-1].lineno, (functions[-1].end_lineno or 0) + 1) if functions else None

    def _parsed(self, path: str) -> tuple[Sequence[str], ast.Module]:
        if path not in self._trees:
            text = self._text_of(path)
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                tree = ast.Module([], [])
            self._trees[path] = (text.splitlines(), tree)
        return self._trees[path]


def _around(tree: ast.AST, line: int) -> list[ast.AST]:
    """The functions and classes around a line, the outermost first."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if getattr(child, "lineno", line) <= line <= (getattr(child, "end_lineno", None) or line):
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    found.append(child)
                pending.append(child)
    return sorted(found, key=lambda node: getattr(node, "lineno", 0))
