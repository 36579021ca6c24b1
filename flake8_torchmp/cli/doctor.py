"""`torchmp doctor`: a loader in, what happens to it in workers out."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from flake8_torchmp.cli import COULD_NOT_RUN
from flake8_torchmp.cli.output import Output
from flake8_torchmp.doctor.bed import Bed
from flake8_torchmp.doctor.examination import Examination, Wishes, examine
from flake8_torchmp.doctor.explaining import Explainer
from flake8_torchmp.doctor.reporting import as_json, text
from flake8_torchmp.options.configuration import ConfigurationError

if TYPE_CHECKING:
    from argparse import Namespace

    from flake8_torchmp.doctor.bed import Event
    from flake8_torchmp.doctor.examination import Rung


def doctor(arguments: Namespace) -> int:
    if os.name != "posix":
        print("torchmp: error: the doctor runs on Linux and macOS; on Windows, in WSL", file=sys.stderr)
        return COULD_NOT_RUN
    if not all(arguments.target.rpartition(":")[::2]):
        raise ConfigurationError(f"{arguments.target}: expected MODULE:OBJECT or path/to/file.py:OBJECT")
    if shutil.which(arguments.python) is None:
        raise ConfigurationError(f"--python: {arguments.python}: no such program")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has said otherwise
            signal.signal(number, _end)
    wishes = Wishes(arguments.target, arguments.workers, arguments.start_methods, arguments.samples, arguments.measure)
    shown = _Shown(wishes.target, for_people=arguments.format == "text")
    try:
        with Bed(arguments.python, forks=sys.platform == "linux", limit=arguments.time_limit) as bed:
            examination = examine(wishes, bed, shown.watch, shown.arrived)
    except ConnectionError:
        print(f"torchmp: error: {arguments.python} ends as soon as it is started", file=sys.stderr)
        return COULD_NOT_RUN
    explainer = Explainer(wishes.target)
    examination.problems = [explainer.explained(problem) for problem in examination.problems]
    if arguments.html:
        from flake8_torchmp.doctor.reporting.page import page

        with Output(arguments.html, "--html") as file:
            file.write(page(examination))
    shown.end(examination)
    return examination.exit_code


def _end(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


class _Shown:
    """What a person sees while it goes on: rows on standard output, one line that changes on a terminal."""

    def __init__(self, target: str, for_people: bool) -> None:
        self._for_people = for_people
        self._width = 0
        self._told = ""
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        if for_people:
            text.begin(target, sys.stdout)

    def watch(self, doing: str, event: Event | None) -> None:
        at = f": sample {event['key']}" if event and event["event"] == "reading" else ""
        at = f": batch {event['number']}" if event and event["event"] == "batch" else at
        self._status(f"{doing}{at} ...")

    def arrived(self, examination: Examination, rung: Rung | None) -> None:
        self._status("")
        if not self._for_people:
            return
        if rung is not None:
            text.write_rung(rung, sys.stdout)
        elif examination.crossing is None:
            text.write_admission(examination, sys.stdout)
        else:
            text.write_crossing(examination, sys.stdout)

    def end(self, examination: Examination) -> None:
        self._status("")
        if self._for_people:
            text.write_end(examination, sys.stdout)
        else:
            as_json.write(examination, sys.stdout)

    def _status(self, line: str) -> None:
        if self._on_terminal and line != self._told:
            self._told = line
            sys.stderr.write("\r" + line.ljust(self._width) + ("" if line else "\r"))
            sys.stderr.flush()
            self._width = len(line)
