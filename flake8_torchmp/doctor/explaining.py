"""What the check finds in the code that the patient is made of, and which of it is behind a problem."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchmp import engine, source
from flake8_torchmp.diagnosis.printed import read
from flake8_torchmp.diagnosis.ranking import Scene, rank
from flake8_torchmp.diagnosis.whereabouts import in_project
from flake8_torchmp.options.configuration import Configurations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flake8_torchmp.findings import Finding

    from .problems import Place, Problem


class Explainer:
    def __init__(self, target: str) -> None:
        where = target.rpartition(":")[0]
        self._path = os.path.abspath(where if where.endswith(".py") else where.replace(".", os.sep) + ".py")
        if not os.path.isfile(self._path):
            self._path = os.path.join(self._path.removesuffix(".py"), "__init__.py")

    def explained(self, problem: Problem) -> Problem:
        says_why = problem.kind == "rung-fails" and _is_known(problem.said)
        finding = (None if says_why else self._by_code(problem)) or self._by_message(problem)
        return problem._replace(finding=finding) if finding else problem

    @cached_property
    def _files(self) -> list[str]:
        """The file that was named, and what it reaches."""
        if not os.path.isfile(self._path):
            return []
        settings = Configurations({}, "").for_file(self._path).settings
        project = engine.Project(source.project_root(self._path), settings)
        return sorted({self._path, *project.codebase.reachable([self._path])})

    @cached_property
    def _findings(self) -> list[Finding]:
        if not self._files:
            return []
        settings = Configurations({}, "").for_file(self._path).settings
        return [
            finding._replace(way=tuple(step._replace(path=os.path.abspath(step.path)) for step in finding.way))
            for _, found, _ in engine.check(self._files, settings)
            for finding in found
        ]

    def _by_code(self, problem: Problem) -> Finding | None:
        """A finding of a rule for this kind of problem; one that passes its place, if there is a place."""
        candidates = [finding for finding in self._findings if finding.code in problem.codes]
        return min(
            candidates,
            key=lambda finding: (not _passes(finding, problem.places), problem.codes.index(finding.code), finding.line),
            default=None,
        )

    def _by_message(self, problem: Problem) -> Finding | None:
        if not problem.said or problem.kind == "hangs":
            return None
        printed = read(problem.said.splitlines())
        scene = Scene.of(printed, in_project(printed.frames, self._files))
        suspects = rank(self._usual(), scene, _text_of)
        return suspects[0].finding if suspects and suspects[0].explains else None

    def _usual(self) -> Iterable[Finding]:
        """Less those of the rules that are opinions."""
        return (finding for finding in self._findings if not finding.code.startswith("TMP9"))


def _is_known(said: str) -> bool:
    return any(one.message.causes for one in read(said.splitlines()).said)


def _passes(finding: Finding, places: Sequence[Place]) -> bool:
    lines = {(place.path, place.line) for place in places}
    on_it = any((finding.path, line) in lines for line in range(finding.line, finding.end_line + 1))
    return on_it or any((step.path, step.line) in lines for step in finding.way)


def _text_of(path: str) -> str:
    try:
        return source.decode(source.read(path))
    except source.Unreadable:
        return ""
