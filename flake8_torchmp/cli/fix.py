"""`torchmp fix`: mends what can be mended, proves it by checking again, and says what is left."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flake8_torchmp import __version__, engine, source
from flake8_torchmp.cli import COULD_NOT_RUN, FINDINGS, noqa
from flake8_torchmp.cli.arguments import given_options
from flake8_torchmp.cli.check import FEWEST_FOR_A_POOL, by_configuration, excluded, with_standard_input
from flake8_torchmp.cli.discovery import files_below
from flake8_torchmp.cli.fix_reports import Report, as_json, as_markdown, as_text
from flake8_torchmp.cli.output import Output, Progress
from flake8_torchmp.cli.selection import Selection
from flake8_torchmp.options.configuration import Configurations, shown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence
    from types import FrameType

    from flake8_torchmp.findings import Finding
    from flake8_torchmp.fixes.engine import Outcome
    from flake8_torchmp.options.configuration import Configuration

TERMINATED = 128 + signal.SIGTERM


def fix(arguments: Namespace) -> int:
    configurations = Configurations(given_options(arguments), arguments.config)
    paths, buffers = with_standard_input(arguments.paths, arguments.stdin_filename)
    known = [path for path in paths if os.path.abspath(path) in buffers or os.path.exists(path)]
    missing = [(path, "No such file or directory") for path in paths if path not in known]
    files = _each_once(files_below(known, lambda path: excluded(configurations, path)))
    if not files and not missing:
        print("torchmp: no Python files to fix", file=sys.stderr)

    signal.signal(signal.SIGTERM, _terminated)
    run = _Run(configurations, buffers, arguments.unsafe_fixes)
    report = run.report(files, arguments.jobs)
    if not arguments.diff and not buffers:
        report = _written(report)
    report = report._replace(problems=[*missing, *report.problems])
    _tell(report, arguments, buffers)
    if missing:
        return COULD_NOT_RUN
    return FINDINGS if arguments.exit_non_zero_on_fix and report.files else 0


def _terminated(_number: int, _frame: FrameType | None) -> None:
    """Ends as an error would, so that nothing half done stays behind."""
    raise SystemExit(TERMINATED)


def _each_once(files: Sequence[str]) -> list[str]:
    """Without the links to files that are there already."""
    by_target: dict[str, str] = {}
    for path in sorted(files, key=lambda path: (os.path.islink(path), path)):
        by_target.setdefault(os.path.realpath(path), path)
    kept = set(by_target.values())
    return [path for path in files if path in kept]


class _Run:
    """One run over files that may belong to several projects and be configured differently."""

    def __init__(self, configurations: Configurations, buffers: Mapping[str, bytes], unsafe: bool) -> None:
        self._configurations, self._buffers, self._unsafe = configurations, buffers, unsafe
        self._report = Report([], [], {}, [], [])

    def report(self, files: Sequence[str], jobs: int) -> Report:
        jobs = 1 if len(files) < FEWEST_FOR_A_POOL else jobs or os.cpu_count() or 1
        names = {os.path.abspath(path): path for path in files}
        with Progress(len(files)) as progress:
            for configuration, group in by_configuration(self._configurations, files):
                by_root: dict[str, list[str]] = {}
                for path in group:
                    by_root.setdefault(str(source.project_root(path)), []).append(os.path.abspath(path))
                for root, members in by_root.items():
                    self._mend(root, members, configuration, jobs, progress)
                    progress.add(len(members))
        return self._report._replace(name=lambda path: names.get(path) or shown(path))

    def _mend(self, root: str, members: list[str], configuration: Configuration, jobs: int, progress: Progress) -> None:
        settings = configuration.settings
        now = {**self._buffers, **{path: new for path, (_, new) in self._report.files.items()}}
        project = engine.Project(Path(root), settings, now)
        by_seed = {}
        with engine.looked_at_by(project, members, jobs) as observer:
            seeds = observer.seeds(members)
            for seed, found in zip(seeds, observer.findings_of(seeds), strict=True):
                by_seed[seed] = found
                progress.count(len(by_seed) * len(members) // len(seeds), len(members))
            problems = list(observer.problems(members))
        self._report.problems.extend((shown(path), problem) for path, problem in problems)
        if not any(by_seed.values()):
            return

        from flake8_torchmp.fixes.engine import Wishes, mend

        def changed(contents: Mapping[str, bytes]) -> engine.Project:
            return project.changed({**now, **contents})

        wishes = Wishes(self._unsafe, _Wanted(configuration), self._hindrance)
        self._add(mend(changed, project, by_seed, members, wishes))

    def _hindrance(self, path: str) -> str:
        from flake8_torchmp.fixes.writing import hindrance

        if path in self._buffers:
            return ""
        return f"{shown(path)} would have to change, too" if self._buffers else hindrance(path)

    def _add(self, outcome: Outcome) -> None:
        report = self._report
        report.fixes.extend(outcome.fixes)
        report.left.extend(outcome.left)
        report.together.extend(outcome.linked())
        for path, (old, new) in outcome.files.items():
            first, _ = report.files.get(path, (old, b""))
            report.files[path] = (first, new)


class _Wanted:
    """Whether a finding is selected, and no comment silences it in what its file says at the moment."""

    def __init__(self, configuration: Configuration) -> None:
        self._selection = Selection(configuration)
        self._comments: dict[bytes, noqa.Comments | None] = {}

    def __call__(self, finding: Finding, data: bytes) -> bool:
        if not self._selection.reports(shown(finding.path), finding.code):
            return False
        if data not in self._comments:
            self._comments[data] = noqa.comments_of(data)
        comments = self._comments[data]
        return comments is None or not (comments.whole_file or comments.silence(finding.line, finding.code))


def _written(report: Report) -> Report:
    """What was done: what could not be written is left."""
    from flake8_torchmp.fixes.engine import Left
    from flake8_torchmp.fixes.writing import write

    refused = write(report.files, report.together)
    left = [
        Left(fix.finding, next(refused[path] for path in fix.paths if path in refused))
        for fix in report.fixes
        if refused.keys() & set(fix.paths)
    ]
    return report._replace(
        fixes=[fix for fix in report.fixes if not refused.keys() & set(fix.paths)],
        left=sorted([*report.left, *left]),
        files={path: change for path, change in report.files.items() if path not in refused},
    )


def _tell(report: Report, arguments: Namespace, buffers: Mapping[str, bytes]) -> None:
    """The text or the patch goes to standard output, and the words then to standard error."""
    for path, problem in report.problems:
        print(f"{path}: {problem}", file=sys.stderr)
    if arguments.summary:
        with Output(arguments.summary, "--summary") as stream:
            stream.write(as_markdown(report, __version__))
    if arguments.style == "json":
        with Output("") as stream:
            stream.write(as_json(report, __version__, arguments.diff))
        return
    if not arguments.diff and not buffers:
        sys.stdout.write(as_text(report, arguments.unsafe_fixes))
        return
    if arguments.diff:
        sys.stdout.buffer.write(b"".join(report.patches()))
    else:
        ((path, data),) = buffers.items()
        sys.stdout.buffer.write(report.files[path][1] if path in report.files else data)
    sys.stdout.buffer.flush()
    sys.stderr.write(as_text(report, arguments.unsafe_fixes, would=arguments.diff))
