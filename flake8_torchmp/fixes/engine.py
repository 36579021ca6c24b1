"""Mends findings in rounds. A change stays only if the checker agrees: its finding is gone, and none is new."""

from __future__ import annotations

import contextlib
import importlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from flake8_torchmp.engine import Project, merged
from flake8_torchmp.findings import Finding

from .change import Change, Edit, Moves, NotFixable, clash, combined
from .document import Document, Documents
from .long_lines import broken_lines
from .matching import Difference, Lines, difference, place
from .unused_imports import unused_after
from .widening import edits_between

MOST_ROUNDS = 10

MOST_TOGETHER = 6
"""Changes that are made as one, because each mends what another one would bring."""

MOST_NEAR = 60
"""Of a larger project not every file that might lead to findings in a changed one is looked at again."""

GENERATED = b"@" + b"generated"
"""libcst's mark of files that nobody edits."""

UNSAFE = "its fix may change what the program does: --unsafe-fixes applies it"
NO_FIX = "needs its author"


class Fix(NamedTuple):
    """What was done about a finding, which is as it stood in the file that was checked."""

    finding: Finding
    what: str
    is_safe: bool
    paths: tuple[str, ...]


class Left(NamedTuple):
    finding: Finding
    reason: str


class Wishes(NamedTuple):
    unsafe: bool
    is_wanted: Callable[[Finding, bytes], bool]
    """Whether a finding in a file of this content is to be mended: it is selected and nothing silences it."""
    hindrance: Callable[[str], str]
    """Why a file is not to be changed; nothing where it may be."""


class Outcome(NamedTuple):
    fixes: list[Fix]
    left: list[Left]
    files: dict[str, tuple[bytes, bytes]]
    """What changed: the content that was checked, and the new one."""

    def linked(self) -> list[frozenset[str]]:
        """The changed files, in sets that have to be written together."""
        sets: list[frozenset[str]] = [frozenset([path]) for path in self.files]
        for fix in self.fixes:
            touched = [one for one in sets if one & set(fix.paths)]
            if len(touched) > 1:
                sets = [one for one in sets if one not in touched] + [frozenset().union(*touched)]
        return sets


class _Candidate(NamedTuple):
    finding: Finding
    change: Change


class _Trial(NamedTuple):
    """The project with some changes made, and what the checker says of it."""

    project: Project
    contents: dict[str, bytes]
    by_seed: dict[str, list[Finding]]


class Refused(Exception):  # noqa: N818 - an answer, not an accident
    """Changes that do not stay, and why; those that are to blame, where that is plain; and what they would bring."""

    def __init__(
        self,
        reason: str,
        blamed: Sequence[_Candidate] = (),
        new: Sequence[Finding] = (),
        contents: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(reason)
        self.blamed, self.new, self.contents = blamed, new, dict(contents or {})


def mend(
    make_project: Callable[[Mapping[str, bytes]], Project],
    project: Project,
    by_seed: Mapping[str, list[Finding]],
    members: Iterable[str],
    wishes: Wishes,
) -> Outcome:
    """Fixes the members of a checked project, in memory. `make_project` makes it anew with other contents of files."""
    return _Mending(make_project, project, by_seed, members, wishes).run()


class _Mending:
    def __init__(
        self,
        make_project: Callable[[Mapping[str, bytes]], Project],
        project: Project,
        by_seed: Mapping[str, list[Finding]],
        members: Iterable[str],
        wishes: Wishes,
    ) -> None:
        self._make_project, self._wishes = make_project, wishes
        self._project = project
        self._by_seed = dict(by_seed)
        self._members = frozenset(members)
        self._contents: dict[str, bytes] = {}
        self._first: dict[str, bytes] = {}
        """The changed files as they were checked."""
        self._origins: dict[Finding, Finding] = {}
        """What stands elsewhere now, as it stood when it was checked."""
        self._undone: dict[tuple[str, str, str], str] = {}
        self._fixes: list[Fix] = []
        self._fixed: list[tuple[str, str]] = []

    def run(self) -> Outcome:
        for _ in range(MOST_ROUNDS):
            documents = Documents(self._data)
            candidates, left = self._candidates(documents)
            if not candidates:
                break
            self._round(_beside_each_other(candidates), documents)
        else:
            candidates, left = self._candidates(Documents(self._data))
            left += [Left(one.finding, f"not done after {MOST_ROUNDS} rounds") for one in candidates]
        files = {path: (self._first[path], data) for path, data in self._contents.items() if data != self._first[path]}
        return Outcome(sorted(self._fixes), [Left(self._origin(one.finding), one.reason) for one in left], files)

    def _origin(self, finding: Finding) -> Finding:
        return self._origins.get(finding, finding)

    def _data(self, path: str) -> bytes:
        return self._contents[path] if path in self._contents else self._project.codebase.data(path)

    def _data_with(self, contents: Mapping[str, bytes], path: str) -> bytes:
        return contents[path] if path in contents else self._data(path)

    def _lines(self, path: str) -> Lines:
        return Lines(_text(self._data(path)))

    # what can be done

    def _candidates(self, documents: Documents) -> tuple[list[_Candidate], list[Left]]:
        """The findings of the moment: those that a codemod knows how to mend, and the others with the reason."""
        candidates: list[_Candidate] = []
        left: list[Left] = []
        found = merged(one for findings in self._by_seed.values() for one in findings)
        for finding in found:
            if finding.path not in self._members or not self._wishes.is_wanted(finding, self._data(finding.path)):
                continue
            try:
                candidates.append(_Candidate(finding, self._change(finding, documents)))
            except NotFixable as reason:
                left.append(Left(finding, str(reason)))
        return candidates, left

    def _change(self, finding: Finding, documents: Documents) -> Change:
        if finding.repair is None:
            raise NotFixable(NO_FIX)
        self._demand_changeable(finding.repair.path)
        undone = self._undone.get(self._key(finding))
        if undone is not None:
            raise NotFixable(undone)
        try:
            change: Change = importlib.import_module(f"{__package__}.{finding.repair.codemod}").change(
                finding.repair, documents
            )
        except NotFixable:
            raise
        except Exception as error:
            raise NotFixable(f"the codemod {finding.repair.codemod} failed: {_one_line(error)}") from error
        if not change.is_safe and not self._wishes.unsafe:
            raise NotFixable(UNSAFE)
        if not any(documents[edit.path].text[edit.start : edit.end] != edit.text for edit in change.edits):
            raise NotFixable("there is nothing to change")
        for path in {edit.path for edit in change.edits}:
            self._demand_changeable(path)
        return change

    def _demand_changeable(self, path: str) -> None:
        hindrance = self._wishes.hindrance(path)
        if hindrance:
            raise NotFixable(hindrance)
        if GENERATED in self._data(path):
            raise NotFixable(f"{os.path.basename(path)} is generated")

    def _key(self, finding: Finding) -> tuple[str, str, str]:
        return finding.path, finding.code, self._lines(finding.path).underlined(finding)

    # what stays

    def _round(self, candidates: list[_Candidate], documents: Documents) -> None:
        base = _Trial(self._project, self._contents, self._by_seed)
        stay, last = self._tested(candidates, [], base, documents)
        if not stay:
            return
        edits = _edits(stay, documents)
        for path in edits:
            self._first.setdefault(path, self._data(path))
        self._fixes += [
            Fix(self._origin(one.finding), one.change.what, one.change.is_safe, _paths(one.change)) for one in stay
        ]
        self._remember_origins(base, last, edits)
        self._project, self._contents, self._by_seed = last

    def _tested(
        self, batch: list[_Candidate], kept: list[_Candidate], last: _Trial, documents: Documents
    ) -> tuple[list[_Candidate], _Trial]:
        """Of a batch, what stays beside those that are kept already; and the project with all of them."""
        if not batch:
            return kept, last
        try:
            return [*kept, *batch], self._tried([*kept, *batch], documents)
        except Refused as refused:
            if len(batch) == 1:
                wider = self._widened(batch[0], refused, documents)
                if wider is None:
                    self._undone[self._key(batch[0].finding)] = str(refused)
                elif not any(clash(wider.change, other.change) for other in kept):
                    with contextlib.suppress(Refused):  # beside the others it waits for the next round
                        return [*kept, wider], self._tried([*kept, wider], documents)
                return kept, last
            blamed = [one for one in refused.blamed if one in batch]
        if 0 < len(blamed) < len(batch):
            parts = [[one for one in batch if one not in blamed], *([one] for one in blamed)]
        else:
            parts = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
        for part in parts:
            kept, last = self._tested(part, kept, last, documents)
        return kept, last

    def _widened(self, first: _Candidate, refused: Refused, documents: Documents) -> _Candidate | None:
        """A change that takes along the changes which mend what it would bring; None where there are none."""
        done = [first.change]
        while refused.new and len(done) < MOST_TOGETHER:
            contents = refused.contents
            changed = Documents(partial(self._data_with, contents))
            try:
                done.append(self._change(refused.new[0], changed))
                contents |= {
                    path: changed[path].after(tuple(those)) for path, those in _by_path(done[-1].edits).items()
                }
                texts = {path: (documents[path].text, Document(path, data).text) for path, data in contents.items()}
            except NotFixable:
                return None
            edits = [edit for path, (old, new) in texts.items() for edit in edits_between(path, old, new)]
            what = "; ".join(dict.fromkeys(change.what for change in done))
            wider = _Candidate(first.finding, Change(tuple(edits), all(one.is_safe for one in done), what))
            try:
                self._tried([wider], documents)
                return wider
            except Refused as another:
                refused = another
        return None

    def _tried(self, candidates: list[_Candidate], documents: Documents) -> _Trial:
        edits = _edits(candidates, documents)
        contents = dict(self._contents)
        for path, those in edits.items():
            try:
                contents[path] = documents[path].after(tuple(those))
            except NotFixable as problem:
                raise Refused(str(problem)) from None
            problem_there = _compile_problem(contents[path], path)
            if problem_there:
                raise Refused(f"the result would not compile: {problem_there}")
        project = self._make_project(contents)
        seeds = self._near(project, list(edits))
        seeds += [path for path in edits if path in self._by_seed and path not in seeds]  # what was one may be none now
        again = {seed: project.findings_from(seed) for seed in seeds}
        trial = _Trial(project, contents, {**self._by_seed, **again})
        change = self._difference(seeds, trial, edits)
        remaining = [one for one in candidates if place(one.finding) in change.remaining]
        if remaining:
            raise Refused("its finding would stay", remaining)
        if change.new:
            first = change.new[0]
            blamed = [one for one in candidates if any(edit.path == first.path for edit in one.change.edits)]
            where = f"{os.path.basename(first.path)}:{first.line}"
            reason = f"it would bring {first.code} in {where}: {first.message}"
            raise Refused(reason, blamed, change.new, contents)
        return trial

    def _near(self, project: Project, paths: list[str]) -> list[str]:
        """Whose crossings and workers can lead to other findings than before in changed files and their users."""
        near = project.seeds(paths)
        led = [seed for seed, found in self._by_seed.items() if any(one.path in paths for one in found)]
        if len(near) > MOST_NEAR:
            users = {*project.codebase.users(paths)}
            near = [seed for seed in near if seed in users]
        return [*near, *(seed for seed in led if seed not in near)]

    def _difference(self, seeds: Iterable[str], trial: _Trial, edits: Mapping[str, list[Edit]]) -> Difference:
        before = {one for seed in {*self._by_seed, *seeds} for one in self._found_before(seed)}
        after = {one for seed in seeds for one in trial.by_seed[seed] if self._counts(one, trial)}

        @cache
        def text_before(path: str) -> Lines:
            return self._lines(path)

        @cache
        def text_after(path: str) -> Lines:
            return Lines(_text(trial.project.codebase.data(path)))

        return difference(sorted(before), sorted(after), edits, text_before, text_after)

    def _counts(self, finding: Finding, trial: _Trial) -> bool:
        """An opinion that nobody asked for is no reason to undo a fix."""
        data = trial.project.codebase.data(finding.path)
        return not finding.code.startswith("TMP9") or self._wishes.is_wanted(finding, data)

    def _found_before(self, seed: str) -> list[Finding]:
        if seed not in self._by_seed:
            self._by_seed[seed] = self._project.findings_from(seed)
        return self._by_seed[seed]

    def _remember_origins(self, base: _Trial, last: _Trial, edits: Mapping[str, list[Edit]]) -> None:
        """What is still there stands on other lines now; people look at the lines that they have."""
        origins: dict[Finding, Finding] = {}
        for path, those in edits.items():
            moves = Moves(those)
            old, new = Lines(_text(base.contents.get(path, self._first[path]))), Lines(_text(last.contents[path]))
            before = {(one.code, old.offset(one.line, one.column)): one for one in _in_file(base, path)}
            for one in _in_file(last, path):
                offset, _ = moves.origin(new.offset(one.line, one.column))
                known = before.get((one.code, offset))
                there = self._origin(known) if known else one._replace(line=old.line(offset))
                origins[one] = there
        self._origins.update(origins)


def _in_file(trial: _Trial, path: str) -> Iterator[Finding]:
    for found in trial.by_seed.values():
        yield from (one for one in found if one.path == path)


def _beside_each_other(candidates: list[_Candidate]) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    for candidate in candidates:
        if not any(clash(candidate.change, other.change) for other in chosen):
            chosen.append(candidate)
    return chosen


def _edits(candidates: Iterable[_Candidate], documents: Documents) -> dict[str, list[Edit]]:
    """What is to be done in each file, with the imports that this leaves without a use, and lines made too long."""
    by_path = _by_path(combined(candidate.change for candidate in candidates))
    return {
        path: [*edits, *unused_after(documents[path], edits), *broken_lines(documents[path], edits)]
        for path, edits in by_path.items()
    }


def _by_path(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    return by_path


def _paths(change: Change) -> tuple[str, ...]:
    return tuple(sorted({edit.path for edit in change.edits}))


def _text(data: bytes) -> str:
    try:
        return Document("", data).text
    except NotFixable:
        return ""


def _compile_problem(data: bytes, path: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        return _one_line(error)
    return ""


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
