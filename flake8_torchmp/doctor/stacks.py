"""Where every process of a patient that hangs stands: faulthandler, which is on in all of them, says so as they die."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from .processes import Process

_FRAME = re.compile(r'^  File "(?P<path>[^"]*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)$')
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x\w+")
_DOCTORS = re.compile(r"torchmp_bedside|^<string>$|^<frozen ")
_FOREIGN = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d")
MOST = 16


class Frame(NamedTuple):
    path: str
    line: int
    function: str


class Stack(NamedTuple):
    pid: int
    role: str
    threads: tuple[tuple[Frame, ...], ...]
    """The frames of each thread, the innermost first."""

    def shortened(self) -> list[tuple[Frame, ...]]:
        """What tells: threads that run code of the user's, or else the last one, which is the main one; the frames
        from the user's on."""
        own = [thread for thread in self.threads if any(not is_foreign(frame.path) for frame in thread)]
        return [_innermost(thread) for thread in own or self.threads[-1:]]


def is_foreign(path: str) -> bool:
    return path.startswith("<") or bool(_FOREIGN.search(path))


def _innermost(thread: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Some frames around the user's innermost one."""
    own = next((at for at, frame in enumerate(thread) if not is_foreign(frame.path)), 0)
    return thread[max(0, own - 2) : own + 4]


def dump(main: int, processes: list[Process], hear: Callable[[], str]) -> list[Stack]:
    """Ends the processes one by one and reads what each leaves; the others stand still meanwhile.

    `hear` waits until nothing more is printed and returns what was.
    """
    asked = [process for process in processes if not process.cleans_up]
    asked.sort(key=lambda process: (process.pid != main, process.pid))
    for process in asked:
        _send(process.pid, signal.SIGSTOP)
    hear()
    found = []
    for process in asked:
        _send(process.pid, signal.SIGABRT)
        _send(process.pid, signal.SIGCONT)
        threads = read(hear())
        found.append(Stack(process.pid, _role(process, main), threads))
    return found


def _send(pid: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, what)


def _role(process: Process, main: int) -> str:
    if process.pid == main:
        return "parent"
    if "forkserver" in process.command:
        return "fork server or its worker"
    return "worker" if process.parent == main else "process"


def read(text: str) -> tuple[tuple[Frame, ...], ...]:
    threads: list[list[Frame]] = []
    for line in text.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif threads and (match := _FRAME.match(line)) and not _DOCTORS.search(match["path"]):
            number = int(match["line"]) if match["line"].isdecimal() else 0
            threads[-1].append(Frame(match["path"], number, match["function"]))
    return tuple(tuple(thread[:MOST]) for thread in threads if thread)
