"""`torchmp diagnose`: what a program printed in, the line to change out."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from flake8_torchmp import __version__, source
from flake8_torchmp.cli import COULD_NOT_RUN
from flake8_torchmp.cli.check import Run
from flake8_torchmp.cli.discovery import files_below
from flake8_torchmp.diagnosis.printed import Printed, read
from flake8_torchmp.diagnosis.ranking import Scene, Suspect, rank, words_of
from flake8_torchmp.diagnosis.whereabouts import in_project
from flake8_torchmp.options.configuration import ConfigurationError, Configurations, shown
from flake8_torchmp.reports import Context, full
from flake8_torchmp.reports.concise import line_of
from flake8_torchmp.rules import rule_for

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from flake8_torchmp.diagnosis.printed import Frame
    from flake8_torchmp.findings import Finding

NO_ANSWER = 1
FEW = 0.25
"""The part of all files that is worth a look of its own before all are looked at."""
OTHERS = 5
"""So many other suspects are named."""


class Answer:
    """What a diagnosis comes to."""

    def __init__(self, printed: Printed, frames: Sequence[Frame], suspects: Sequence[Suspect], checked: int) -> None:
        self.printed = printed
        self.frames = frames
        self.suspects = suspects
        self.checked = checked
        """The number of files that were looked at."""

    @property
    def outside(self) -> list[str]:
        """What is known of causes outside the code, a text each."""
        return [
            f"{said.message.meaning}\n  to make sure: {said.message.check}\n  what helps: {said.message.remedy}"
            for said in self.printed.said
            if said.message.is_outside
        ]

    @property
    def exit_code(self) -> int:
        return 0 if self.suspects or self.outside else NO_ANSWER


def diagnose(arguments: Namespace) -> int:
    root = os.path.abspath(arguments.root)
    if not os.path.isdir(root):
        raise ConfigurationError(f"--root: {arguments.root}: no such folder")
    try:
        printed = _printed(arguments.file)
    except OSError as error:
        print(f"torchmp: error: {arguments.file}: {error.strerror}", file=sys.stderr)
        return COULD_NOT_RUN
    answer = _answer(printed, root)
    if arguments.format == "json":
        _write_json(answer, sys.stdout)
    else:
        _write(answer, sys.stdout)
    return answer.exit_code


def _printed(file: str) -> Printed:
    if file == "-":
        return read(io.TextIOWrapper(sys.stdin.buffer, errors="replace", newline="\n"))
    with open(file, errors="replace", newline="\n") as lines:
        return read(lines)


def _answer(printed: Printed, root: str) -> Answer:
    configurations = Configurations({}, "")
    excluded = configurations.for_folder(root).texts("exclude") or ()
    files = files_below([root], lambda _: excluded)
    by_path = {os.path.abspath(file): file for file in files}
    frames = in_project(printed.frames, list(by_path))
    scene = Scene.of(printed, frames)
    if not scene.codes and not frames:
        return Answer(printed, frames, [], 0)

    def suspects_in(paths: Sequence[str], jobs: int) -> list[Suspect]:
        run = Run(configurations, {}, disable_noqa=True, codes=sorted(scene.codes))
        return rank(_absolute(run.findings(paths, jobs)), scene, _text_of)

    near = _near({frame.path for frame in frames}, root, configurations)
    if near:
        paths = [path for path in by_path if path in near]
        suspects = suspects_in(paths, jobs=1)
        if suspects and (suspects[0].explains or not printed.said):
            return Answer(printed, frames, suspects, len(paths))
    elif scene.names:
        paths = [path for path in by_path if _mentions(_text_of(path), scene.names)]
        suspects = suspects_in(paths, jobs=1) if 0 < len(paths) <= len(by_path) * FEW else []
        if suspects and suspects[0].is_named:
            return Answer(printed, frames, suspects, len(paths))
    return Answer(printed, frames, suspects_in(list(by_path), jobs=0), len(by_path))


def _mentions(text: str, names: Iterable[str]) -> bool:
    """Whether a file can have what one of the names stands for: a cheap question, before any file is checked."""
    return any(words and all(word in text for word in words) for words in map(words_of, names))


def _near(files: set[str], root: str, configurations: Configurations) -> set[str]:
    """The files of the traceback, and what they reach."""
    if not files:
        return set()
    from flake8_torchmp.engine import Project

    project = Project(source.project_root(os.path.join(root, "_")), configurations.for_folder(root).settings)
    return files | set(project.codebase.reachable(sorted(files)))


def _absolute(findings: Iterable[Finding]) -> list[Finding]:
    """The ways of findings are written for people; frames are compared by absolute paths."""
    return [
        finding._replace(
            path=os.path.abspath(finding.path),
            way=tuple(step._replace(path=os.path.abspath(step.path)) for step in finding.way),
        )
        for finding in findings
    ]


def _text_of(path: str) -> str:
    try:
        return source.decode(source.read(path))
    except source.Unreadable:
        return ""


def _shown(finding: Finding) -> Finding:
    return finding._replace(
        path=shown(finding.path), way=tuple(step._replace(path=shown(step.path)) for step in finding.way)
    )


def _write(answer: Answer, stream: TextIO) -> None:
    if answer.suspects:
        _write_suspect(answer.suspects[0], stream)
        others = [_shown(suspect.finding) for suspect in answer.suspects[1 : OTHERS + 1]]
        if others:
            stream.write("\nalso possible:\n" + "".join(f"  {line_of(finding)}\n" for finding in others))
    stream.writelines(("\n" if answer.suspects else "") + text + "\n" for text in answer.outside)
    if not answer.suspects:
        _write_what_was_ruled_out(answer, stream)


def _write_suspect(suspect: Suspect, stream: TextIO) -> None:
    finding = _shown(suspect.finding)
    full.write([finding], stream, Context(__version__, lambda path: source.lines_of(_text_of(path)), tuple, (), True))
    stream.write("\n")
    if suspect.explains:
        stream.write(f"it explains: {suspect.explains.line}\n")
        if suspect.explains.message.meaning:
            stream.write(f"why: {suspect.explains.message.meaning}\n")
    rule = rule_for(finding.code)
    if finding.repair is not None:
        stream.write(f"fix: torchmp fix --select {finding.code} {finding.path}\n")
    if rule is not None:
        stream.write(f"more: torchmp rule {finding.code}\n")


def _write_what_was_ruled_out(answer: Answer, stream: TextIO) -> None:
    for said in answer.printed.said:
        if said.message.meaning and not said.message.is_outside:
            stream.write(f"{said.line}\n  {said.message.meaning}\n")
    codes = sorted({code for said in answer.printed.said for code in said.message.causes})
    files = f"{answer.checked} file{'s' * (answer.checked != 1)}"
    if codes:
        names = ", ".join(f"{code} {rule.name}" for code in codes if (rule := rule_for(code)) is not None)
        stream.write(f"Looked in {files} for what can cause it and found nothing: {names}\n")
    else:
        known = answer.printed.errors[-1] if answer.printed.errors else "nothing that looks like an error"
        stream.write(f"No known message of worker processes (last error: {known}); {files} checked.\n")


def _write_json(answer: Answer, stream: TextIO) -> None:
    import json

    def described(suspect: Suspect) -> dict[str, object]:
        finding = _shown(suspect.finding)
        return {
            "path": finding.path,
            "line": finding.line,
            "column": finding.column + 1,
            "code": finding.code,
            "rule": finding.rule,
            "message": finding.message,
            "way": [step._asdict() for step in finding.way],
            "explains": suspect.explains.line if suspect.explains else None,
            "score": suspect.score,
            "fixable": finding.repair is not None,
        }

    report = {
        "suspects": [described(suspect) for suspect in answer.suspects],
        "messages": [
            {"line": said.line, "meaning": said.message.meaning, "names": list(said.names)}
            for said in answer.printed.said
        ],
        "outside": [
            {"meaning": said.message.meaning, "check": said.message.check, "remedy": said.message.remedy}
            for said in answer.printed.said
            if said.message.is_outside
        ],
        "errors": list(answer.printed.errors),
        "frames": [frame._replace(path=shown(frame.path))._asdict() for frame in answer.frames],
        "checked": answer.checked,
    }
    json.dump(report, stream, indent=2)
    stream.write("\n")
