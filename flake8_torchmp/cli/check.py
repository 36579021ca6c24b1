"""`torchmp check`: files in, a report out."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flake8_torchmp import __version__, source
from flake8_torchmp.cli import COULD_NOT_RUN, FINDINGS, noqa
from flake8_torchmp.cli.arguments import given_options
from flake8_torchmp.cli.baseline import Baseline
from flake8_torchmp.cli.discovery import files_below
from flake8_torchmp.cli.output import Output, Progress, counted, statistics
from flake8_torchmp.cli.selection import Selection
from flake8_torchmp.options.configuration import Chosen, Configuration, ConfigurationError, Configurations, shown
from flake8_torchmp.reports import Context, Report, RulePage, named, names

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from flake8_torchmp.findings import Finding

FEWEST_FOR_A_POOL = 20
"""Below this, starting processes takes longer than the check."""

_FOR_PEOPLE = ("concise", "full")


def check(arguments: Namespace) -> int:
    configurations = Configurations(given_options(arguments), arguments.config)
    chosen_format = configurations.for_folder(os.getcwd()).chosen["format"]
    report = _report(chosen_format)
    output = Output(arguments.output_file)

    baseline_file, paths = _baseline_file(arguments)
    named_paths, buffers = with_standard_input(paths, arguments.stdin_filename)
    baseline = Baseline(baseline_file, _Lines(buffers)) if baseline_file else None
    known = [path for path in named_paths if os.path.abspath(path) in buffers or os.path.exists(path)]
    missing = [(path, "No such file or directory") for path in named_paths if path not in known]
    files = files_below(known, lambda path: excluded(configurations, path))
    if not files and not missing:
        print("torchmp: no Python files to check", file=sys.stderr)

    cache_folder = None if arguments.no_cache else arguments.cache_dir
    run = Run(configurations, buffers, arguments.disable_noqa, cache_folder)
    findings = sorted(run.findings(files, arguments.jobs), key=lambda finding: finding[:4])
    problems = [*missing, *run.problems]
    for path, problem in problems:
        print(f"{path}: {problem}", file=sys.stderr)
    if baseline is not None:
        findings = _without_known(baseline, findings, files, bool(arguments.write_baseline))

    context = Context(__version__, _Lines(buffers), _rules, problems, output.unicode)
    with output as stream:
        report.write(findings, stream, context)
        if arguments.statistics and findings:
            counts = statistics(findings)
            (stream if chosen_format.value in _FOR_PEOPLE else sys.stderr).write(counts)
    if missing:
        return COULD_NOT_RUN
    return FINDINGS if (findings or problems) and not arguments.exit_zero else 0


def _baseline_file(arguments: Namespace) -> tuple[str, list[str]]:
    """The file, and the paths: `--write-baseline PATH` beside `--baseline FILE` took one of them for its own."""
    if arguments.write_baseline and arguments.baseline:
        taken = [arguments.write_baseline] if isinstance(arguments.write_baseline, str) else []
        return arguments.baseline, [*taken, *arguments.paths]
    if arguments.write_baseline is True:
        raise ConfigurationError("--write-baseline: which file? name it with --baseline FILE")
    return arguments.baseline or arguments.write_baseline, arguments.paths


def _without_known(baseline: Baseline, findings: list[Finding], files: Sequence[str], writes: bool) -> list[Finding]:
    if writes:
        number = counted(baseline.write(findings, files), "finding")
        print(f"torchmp: the baseline has {number}", file=sys.stderr)
        return []
    gone = baseline.gone(findings, files)
    if gone:
        text = f"{counted(gone, 'finding')} of the baseline cannot be found any longer; --write-baseline drops them"
        print(f"torchmp: {text}", file=sys.stderr)
    return baseline.unknown(findings)


def _report(chosen: Chosen) -> Report:
    report = named(str(chosen.value))
    if report is None:
        raise ConfigurationError(f"{chosen.origin}: {chosen.value!r} is not one of {', '.join(names())}")
    return report


def with_standard_input(paths: Sequence[str], name: str) -> tuple[list[str], dict[str, bytes]]:
    """The paths, with `-` replaced by the file that it stands for, and the content of that file."""
    if not paths:
        paths = ["-"] if name else ["."]
    if "-" not in paths:
        return list(paths), {}
    name = name or "stdin"
    return [name if path == "-" else path for path in paths], {os.path.abspath(name): sys.stdin.buffer.read()}


def excluded(configurations: Configurations, path: str) -> tuple[str, ...]:
    folder = os.path.abspath(path)
    configuration = configurations.for_folder(folder if os.path.isdir(folder) else os.path.dirname(folder))
    return (*(configuration.texts("exclude") or ()), *(configuration.texts("extend-exclude") or ()))


def by_configuration(configurations: Configurations, files: Sequence[str]) -> list[tuple[Configuration, list[str]]]:
    groups: dict[int, tuple[Configuration, list[str]]] = {}
    for file in files:
        configuration = configurations.for_file(file)
        groups.setdefault(id(configuration), (configuration, []))[1].append(file)
    return list(groups.values())


class Run:
    """One run of the engine over files that may be configured differently."""

    def __init__(
        self,
        configurations: Configurations,
        buffers: Mapping[str, bytes],
        disable_noqa: bool,
        cache_folder: str | None = None,
        codes: Sequence[str] = (),
    ) -> None:
        self._configurations, self._buffers, self._disable_noqa = configurations, buffers, disable_noqa
        self._cache_folder = cache_folder
        """Where answers are kept: empty for beside each project, None for nowhere."""
        self._codes = tuple(codes)
        """What is looked for, whatever the configuration selects; empty: what it selects."""
        self.problems: list[tuple[str, str]] = []

    def findings(self, files: Sequence[str], jobs: int) -> Iterator[Finding]:
        from flake8_torchmp import engine
        from flake8_torchmp.cache import Cache

        cache = None if self._cache_folder is None else Cache(self._cache_folder)
        jobs = 1 if len(files) < FEWEST_FOR_A_POOL else jobs or os.cpu_count() or 1
        with Progress(len(files)) as progress:
            for configuration, group in by_configuration(self._configurations, files):
                selection = Selection(configuration)
                settings = configuration.settings._replace(codes=self._codes)
                checked = engine.check(group, settings, jobs, self._buffers, progress.count, cache)
                for path, found, problem in checked:
                    if problem:
                        self.problems.append((path, problem))
                    if found:
                        yield from self._reported(path, found, selection)
                progress.add(len(group))

    def _reported(self, path: str, found: Sequence[Finding], selection: Selection) -> Iterator[Finding]:
        comments = None if self._disable_noqa else _comments(path, self._buffers)
        if comments and comments.whole_file:
            return
        seen = set()
        for finding in found:
            place = (finding.line, finding.column, finding.code)
            if place in seen or not (self._codes or selection.reports(path, finding.code)):
                continue
            seen.add(place)
            if not (comments and comments.silence(finding.line, finding.code)):
                way = tuple(step._replace(path=_as_named(step.path, path)) for step in finding.way)
                yield finding._replace(path=path, way=way)


def _as_named(place: str, path: str) -> str:
    absolute = os.path.abspath(place)
    return path if absolute == os.path.abspath(path) else shown(absolute)


def _comments(path: str, buffers: Mapping[str, bytes]) -> noqa.Comments | None:
    try:
        return noqa.comments_of(_content(path, buffers))
    except source.Unreadable:
        return None


def _content(path: str, buffers: Mapping[str, bytes]) -> bytes:
    data = buffers.get(os.path.abspath(path))
    return source.read(path) if data is None else data


class _Lines:
    """The lines of the file asked for last; reports go from file to file."""

    def __init__(self, buffers: Mapping[str, bytes]) -> None:
        self._buffers = buffers
        self._path = ""
        self._lines: list[str] = []

    def __call__(self, path: str) -> list[str]:
        if path != self._path:
            self._path = path
            try:
                self._lines = source.lines_of(source.decode(_content(path, self._buffers)))
            except source.Unreadable:
                self._lines = []
        return self._lines


def _rules() -> Sequence[RulePage]:
    from flake8_torchmp.rules import all_rules

    return all_rules()
