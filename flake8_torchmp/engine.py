"""Bytes, paths and settings in, findings out: the one call that every door makes."""

from __future__ import annotations

import ast
import contextlib
import gc
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from . import source
from .boundary.failures.expectations import expects_error
from .boundary.model import Model
from .boundary.tables.apis import LIBRARIES, OWN_WORDS, POPULAR_NAMES, WORDS
from .findings import CRASH, Answer, Finding
from .rules import Rule, all_rules
from .semantics.codebase import Codebase
from .semantics.files import Extent
from .settings import Settings

if TYPE_CHECKING:
    from .cache import Cache

MOST_LOADED = 16_000_000
"""Bytes of source whose trees are kept from file to file, and half as many more from rule to rule: they take thirty
times as much, and what was given up is often parsed again."""

FEW = 20
"""Fewer files than this are done sooner than processes have started."""

STACK = 5_000
"""Python's own limit, a thousand calls, is too near: following a value takes up to some seven hundred."""

_ASIDE = re.compile(
    rb"^(?:(?:(?:async[ \t]+)?def|class|if[ \t]+__name__)\b[^\n]*(?:\n(?:[ \t)#][^\n]*)?$)*|(?:import|from|@|#)[^\n]*)",
    re.MULTILINE,
)
"""What does not run, or calls nothing, when a file is imported."""
_CALLED = re.compile(rb"\b\w[\w.]*[ \t]*\(")
_LOOKED_UP = re.compile(rb"[\])}][ \t]*\(")
_GIVEN_BY_LOOP = re.compile(rb"\bfor[ \t]+([^:\n]*?)[ \t]in\b")
_STATEMENT = re.compile(rb"\n(?=[^\s)\]}])")
_ITERATES = re.compile(rb"\bfor[ \t][^:\n]*?[ \t]in\b")


def can_matter(data: bytes) -> bool:
    """Whether a file can have a crossing, worker code or a start of its own: decided by its bytes."""
    return OWN_WORDS.search(data) is not None


def _calls_what_it_looks_up(text: bytes, called: set[bytes]) -> bool:
    """Whether it calls what a table or a loop gives: `COMMANDS[name]()`, `for step in STEPS: step()`."""
    if _LOOKED_UP.search(text):
        return True
    given = {name.strip(b" \t()") for names in _GIVEN_BY_LOOP.findall(text) for name in names.split(b",")}
    return any(name.rstrip(b"( \t") in given for name in called)


class Project:
    """One project: what it has read and found is kept."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        buffers: Mapping[str, bytes] | None = None,
        most_loaded: int = MOST_LOADED,
    ) -> None:
        self.codebase = Codebase(Extent(str(root), settings.source_roots, LIBRARIES, POPULAR_NAMES, buffers or {}))
        self.model = Model(self.codebase, settings)
        self._most_loaded = most_loaded
        self._seeds: dict[str, bool] = {}
        self._asked = 0
        self._found: dict[str, list[Finding]] = {}

    def changed(self, buffers: Mapping[str, bytes]) -> Project:
        """The project with other contents of some of its files."""
        return Project(Path(self.codebase.root), self.model.settings, buffers)

    def findings(self, path: str, data: bytes | None = None, tree: ast.Module | None = None) -> list[Finding]:
        """What all rules say about a file, in order."""
        path = os.path.abspath(path)
        if data is not None and tree is not None:
            self.codebase.give(path, data, tree)
        found = [f for seed in self.seeds([path]) for f in self.findings_from(seed) if f.path == path]
        return merged(found)

    def seeds(self, paths: Sequence[str]) -> list[str]:
        """The files whose crossings, worker code and starts can lead to findings in some files."""
        near = self.codebase.reachable(self.codebase.users(list(paths)))
        found = [path for path in near if self.is_seed(path)]
        self._asked += len(paths)
        if self._asked > FEW or len(found) < FEW:
            return found  # who asks for so many asks for all: what leads to each is found sooner than looked for
        mentions = self.codebase.mentions
        close = {user for path in paths for user in mentions.of_file(path)}
        return [path for path in found if not close.isdisjoint(mentions.of_file(path))]

    def is_seed(self, path: str) -> bool:
        if path not in self._seeds:
            self._seeds[path] = (
                self.codebase.matches(path, OWN_WORDS)
                or path in self.codebase.derived_from(WORDS)
                or self.model.crossings.aliases.imported_by(path)
                or self._starts_elsewhere(path)
            )
        return self._seeds[path]

    def _starts_elsewhere(self, path: str) -> bool:
        """Whether a file calls or iterates something of the project at module level that may start processes."""
        data = self.codebase.data(path)
        run = _ASIDE.sub(b"", data)
        if _calls_what_it_looks_up(run, set(_CALLED.findall(run))):
            text = data
        else:
            text = b"\n".join(part for part in _STATEMENT.split(run) if _CALLED.search(part) or _ITERATES.search(part))
        return bool(text) and self.model.starts.possible.reach.comes_to(text, path)

    def findings_from(self, seed: str) -> list[Finding]:
        """What the crossings, worker code and starts of one file lead to, there and in other files."""
        if seed not in self._found:
            self._bound_memory(self._most_loaded)
            module = self.codebase.module(seed)
            self._found[seed] = []
            with _uncollected(), _deep_stack():
                for rule in asked(self.model.settings) if module is not None else ():
                    self._bound_memory(self._most_loaded * 3 // 2)
                    self.model.start_afresh()
                    self._found[seed] += self._checked(rule, seed)
        return self._found[seed]

    def findings_of(self, seeds: Sequence[str]) -> Iterator[list[Finding]]:
        return map(self.findings_from, seeds)

    def problems(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Why files could not be checked: all are read, those that can matter are parsed."""
        for path in paths:
            problem = self.codebase.problem(path, parses=can_matter(self.codebase.data(path)))
            if problem:
                yield path, problem

    def _bound_memory(self, most: int) -> None:
        if self.codebase.loaded_bytes > most:
            self.model.forget()
            gc.unfreeze()
            gc.collect()

    def _checked(self, rule: Rule, seed: str) -> list[Finding]:
        module = self.codebase.module(seed)
        assert module is not None
        try:
            found = [finding._replace(rule=rule.name) for finding in rule.check(module, self.model)]
            return [finding for finding in found if not self._is_expected(finding)]
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(place.filename)}:{place.lineno}"
            message = f"rule {rule.code} {rule.name} failed ({type(error).__name__} in {where}): please report it"
            return [Finding(seed, 1, 0, CRASH, message, 1, 0, "internal-error")]

    def _is_expected(self, finding: Finding) -> bool:
        """Whether a test expects an error where it is, or on the way that leads there."""
        for path, line in {(finding.path, finding.line), *((step.path, step.line) for step in finding.way)}:
            module = self.codebase.module(path)
            if module is not None and expects_error(module, line):
                return True
        return False


def asked(settings: Settings) -> Sequence[Rule]:
    return [rule for rule in all_rules() if not settings.codes or rule.code in settings.codes]


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Trees and values are many and live long: looking for garbage among them takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _deep_stack() -> Iterator[None]:
    """The same findings wherever they are asked from: an editor's own calls are on the stack too."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, STACK))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """In order, each place once, and of those with the same cause the first."""
    causes: set[tuple[str, str, str]] = set()
    places: set[tuple[str, int, int, str]] = set()
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: finding[:10]):  # a repair has no order
        place = (finding.path, finding.line, finding.column, finding.code)
        cause = (finding.path, finding.code, finding.cause)
        if place in places or (finding.cause and cause in causes):
            continue
        places.add(place)
        causes.add(cause)
        kept.append(finding)
    return kept


Progress = Callable[[int, int], None]


def check(
    paths: Sequence[str],
    settings: Settings,
    jobs: int = 1,
    buffers: Mapping[str, bytes] | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
) -> Iterator[tuple[str, list[Finding], str]]:
    """For each path in turn: what was found in it, or one line that says why it could not be checked."""
    by_root: dict[str, list[str]] = {}
    for path in paths:
        by_root.setdefault(str(source.project_root(path)), []).append(os.path.abspath(path))
    answers: dict[str, Answer] = {}
    done = 0
    for root, members in by_root.items():
        known = cache.of(root, settings, buffers) if cache is not None else None

        def count(part: float, before: int = done, number: int = len(members)) -> None:
            if progress is not None:
                progress(before + int(part * number), len(paths))

        told = known.answers(members) if known is not None else None
        if told is None:
            told = _answers(Project(Path(root), settings, buffers), members, jobs, count)
            if known is not None:
                known.keep(told)
        answers.update((answer.path, answer) for answer in told)
        done += len(members)
    for path in paths:
        answer = answers[os.path.abspath(path)]
        yield path, answer.findings, answer.problem or ""


def _answers(project: Project, members: list[str], jobs: int, count: Callable[[float], None]) -> list[Answer]:
    found: dict[str, list[Finding]] = {}
    with looked_at_by(project, members, jobs) as observer:
        seeds = observer.seeds(members)
        for number, findings in enumerate(observer.findings_of(seeds), 1):
            for finding in findings:
                found.setdefault(finding.path, []).append(finding)
            count(number / len(seeds))
        problems = dict(observer.problems(members))
    return [Answer(path, merged(found.get(path, ())), problems.get(path, "")) for path in members]


class Observer(Protocol):
    """What looks at a project: the project itself, or processes that have one each."""

    def seeds(self, paths: Sequence[str]) -> list[str]: ...
    def findings_of(self, seeds: Sequence[str]) -> Iterator[list[Finding]]: ...
    def problems(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]: ...


@contextlib.contextmanager
def looked_at_by(project: Project, members: Sequence[str], jobs: int) -> Iterator[Observer]:
    """Processes where there is much to look at; this process then holds nothing of the project."""
    mattering = (path for path in members if can_matter(project.codebase.look_at(path)))
    if jobs < 2 or len(list(islice(mattering, FEW))) < FEW:
        yield project
        return
    from .parallel import Processes

    with contextlib.closing(Processes(project, jobs)) as processes:
        yield processes
