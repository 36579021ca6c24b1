"""Which files a check is about: the Python files that are there, less what git and the patterns leave out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flake8_torchmp.cli.selection import fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pathspec import GitIgnoreSpec

    Ignoring = list[tuple[str, GitIgnoreSpec]]  # outermost folder first

SUFFIX = ".py"


def files_below(paths: Sequence[str], excluded_in: Callable[[str], Sequence[str]]) -> list[str]:
    """The files to check, sorted, each once, named as flake8 names them (`./a.py` below `.`).

    A file that is named counts whatever it is called and whether or not git ignores it; only `excluded_in(path)`,
    the patterns that hold for what was named, can leave it out.
    """
    found: dict[str, str] = {}
    for path in paths:
        patterns = excluded_in(path)
        if fits(path, patterns):
            continue
        for file in _files_in(path, patterns) if os.path.isdir(path) else (path,):
            found.setdefault(os.path.abspath(file), file)
    return sorted(found.values())


def _files_in(folder: str, patterns: Sequence[str]) -> Iterator[str]:
    names = _listed_by_git(folder)
    if names is None:
        yield from _walk(folder, patterns, _ignored_above(folder))
        return
    is_left_out = _FolderFilter(folder, patterns)
    for name in names:
        path = os.path.join(folder, name)
        if is_left_out(os.path.dirname(name)) or fits(path, patterns):
            continue
        if name.endswith(SUFFIX) and os.path.isfile(path):
            yield path
        elif os.path.isdir(path) and not os.path.islink(path) and not is_left_out(name):
            yield from _files_in(path, patterns)  # a submodule, or another repository inside this one


class _FolderFilter:
    """Whether a folder below the named one, or any between, is left out; each is looked at once."""

    def __init__(self, top: str, patterns: Sequence[str]) -> None:
        self._top, self._patterns = top, patterns
        self._known = {"": False}

    def __call__(self, name: str) -> bool:
        if name not in self._known:
            path = os.path.join(self._top, name)
            self._known[name] = self(os.path.dirname(name)) or _left_out(path, self._patterns)
        return self._known[name]


def _left_out(folder: str, patterns: Sequence[str]) -> bool:
    return fits(folder, patterns) or os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def _listed_by_git(folder: str) -> list[str] | None:
    """What git tracks, and would track, below a folder; None where git has no say."""
    if not _is_in_work_tree(folder):
        return None
    import subprocess

    # A hook runs with GIT_DIR and the like set for its own repository, which need not be this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str) -> bytes | None:
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except OSError:  # there is no git
            return None
        return done.stdout if done.returncode == 0 else None

    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
    if not listed and git("check-ignore", "-q", ".") is not None:
        return None  # who names an ignored folder wants what is in it
    if listed is None:
        return None
    return sorted({os.fsdecode(name).rstrip("/") for name in listed.split(b"\0") if name})


def _is_in_work_tree(folder: str) -> bool:
    return any(os.path.exists(os.path.join(ancestor, ".git")) for ancestor in _upwards(folder))


def _upwards(folder: str) -> Iterator[str]:
    folder = os.path.abspath(folder)
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _walk(top: str, patterns: Sequence[str], ignoring: Ignoring) -> Iterator[str]:
    """Without git: every folder once (links to folders are not followed), honouring its .gitignore files."""
    pending = [(top, ignoring)]
    while pending:
        folder, ignoring = pending.pop()
        try:
            with os.scandir(folder) as scan:
                entries = list(scan)
        except OSError:  # it vanished, or may not be read
            continue
        if any(entry.name == ".gitignore" for entry in entries):
            ignoring = [*ignoring, *_spec_of(folder)]
        for entry in entries:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                is_source = entry.name.endswith(SUFFIX) and entry.is_file()
            except OSError:  # a link in a circle
                continue
            if not (is_folder or is_source) or _is_ignored(entry.path, is_folder, ignoring):
                continue
            if is_source:
                if not fits(entry.path, patterns):
                    yield entry.path
            elif not _left_out(entry.path, patterns):
                pending.append((entry.path, ignoring))


def _spec_of(folder: str) -> Ignoring:
    from pathspec import GitIgnoreSpec

    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
            return [(os.path.abspath(folder), GitIgnoreSpec.from_lines(file))]
    except (OSError, ValueError):
        return []


def _ignored_above(folder: str) -> Ignoring:
    """The .gitignore files above a folder, as far as its repository goes."""
    above: list[str] = []
    for ancestor in _upwards(folder):
        if ancestor != os.path.abspath(folder):
            above.append(ancestor)
        if os.path.exists(os.path.join(ancestor, ".git")):
            break
    else:
        return []
    specs = [spec for ancestor in reversed(above) for spec in _spec_of(ancestor)]
    return [] if _is_ignored(folder, True, specs) else specs


def _is_ignored(path: str, is_folder: bool, ignoring: Ignoring) -> bool:
    path = os.path.abspath(path)
    for base, spec in reversed(ignoring):
        name = os.path.relpath(path, base).replace(os.sep, "/") + ("/" if is_folder else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False
