"""Runs steps of an examination, each in a session of its own, and lets none of them get out of hand.

A step may print, hang, fork, kill itself or others: it has a limit of time, what it prints is kept up to a limit, and
when it is over everything that it has started is ended and what it has left in shared memory and temporary folders is
removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from typing import TYPE_CHECKING, NamedTuple

from . import processes, stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .processes import Process

INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside")
_BOOT = "import sys; del sys.path[0]; sys.path.append({!r}); from torchmp_bedside import nurse; nurse.{}"
_MARK = "TORCHMP_DOCTOR"
_OVERTIME = 4
"""A step that does something all the time may take so many times the limit."""
_ENDING = 10.0
"""Seconds that a step has to end after its work is done."""
_STEP = 0.05

Event = dict[str, object]


class Outcome(NamedTuple):
    how: str
    """`ended`, `silent` (nothing happened for so long), `overtime` or `died`."""
    status: int
    """The exit code; negative, the signal that has killed it."""
    events: list[Event]
    output: str
    printed: int
    """Bytes, also those that were not kept."""
    stacks: list[stacks.Stack]
    seconds: float

    def event(self, name: str) -> Event | None:
        return next((event for event in self.events if event["event"] == name), None)

    def last(self, name: str) -> Event | None:
        return next((event for event in reversed(self.events) if event["event"] == name), None)


class Bed:
    """Where steps run. It must be closed."""

    def __init__(self, python: str, forks: bool, limit: float) -> None:
        self._python = python
        self._forks = forks
        """Whether steps are forked from one process that has imported torch."""
        self.limit = limit
        self._mark = f"{_MARK}={uuid.uuid4().hex}"
        self.folder = tempfile.mkdtemp(prefix="torchmp-")
        self._nurse: _Nurse | None = None

    def __enter__(self) -> Bed:  # noqa: PYI034 - Self is not in Python 3.10
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with _undisturbed():
            if self._nurse is not None:
                self._nurse.close()
            processes.end(-1, self._mark, but=-1)
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, step: Mapping[str, object], heard: Callable[[Event], None]) -> Outcome:
        temporary = tempfile.mkdtemp(dir=self.folder)
        request = {"environment": {"TMPDIR": temporary}, "folder": os.getcwd(), **step}
        began = time.monotonic()
        listening = _Listening(heard)
        before = _in_shared_memory()
        try:
            started = self._start(request, listening)
        except OSError:  # the one before it has killed the nurse
            if self._nurse is None:
                raise
            self._nurse.close()
            self._nurse = None
            started = self._start(request, listening)
        used: set[str] = set()
        try:
            how, status = self._watch(started, listening, began)
            left = self._of(started)
            used = processes.shared_blocks(left)
            found = []
            if how in ("silent", "overtime"):
                found = stacks.dump(started.pid, left, listening.until_quiet)
        finally:
            with _undisturbed():
                processes.end(started.pid, self._mark, but=self._nurse.pid if self._nurse else -1)
                started.forget()
                listening.finish()
                _remove(before, used, started.pid)
                shutil.rmtree(temporary, ignore_errors=True)
        seconds = time.monotonic() - began
        return Outcome(how, status, listening.events, listening.text, listening.printed, found, seconds)

    def processes(self) -> list[int]:
        """What runs for the patients now; nothing, between two steps."""
        nurse = self._nurse.pid if self._nurse else -1
        return [process.pid for process in processes.of_patient(-1, self._mark, but=nurse)]

    def files(self) -> list[str]:
        """What lies in the temporary folder."""
        return os.listdir(self.folder)

    def _of(self, started: _Started) -> list[Process]:
        return processes.of_patient(started.pid, self._mark, but=self._nurse.pid if self._nurse else -1)

    def _start(self, request: Mapping[str, object], listening: _Listening) -> _Started:
        name, _, token = self._mark.partition("=")
        env = dict(os.environ, PYTHONFAULTHANDLER="1", PYTHONUNBUFFERED="1", TMPDIR=self.folder)
        env[name] = token
        if not self._forks:
            return _Once(self._python, env, request, listening)
        if self._nurse is None:
            self._nurse = _Nurse(self._python, env)
        return self._nurse.start(request, listening)

    def _watch(self, started: _Started, listening: _Listening, began: float) -> tuple[str, int]:
        while True:
            try:
                status = started.status()
            except OSError:
                return "died", -int(signal.SIGKILL)
            listening.wait(0 if status is not None else _STEP)
            if status is not None:
                said_goodbye = any(
                    event["event"] in ("done", "failed", "cannot", "unmade") for event in listening.events
                )
                return ("ended" if said_goodbye else "died"), status
            now = time.monotonic()
            is_done = any(event["event"] == "done" for event in listening.events[-1:])
            if now - listening.last > (min(_ENDING, self.limit) if is_done else self.limit):
                return "silent", 0
            if now - began > _OVERTIME * self.limit:
                return "overtime", 0


class _Listening:
    """What a step prints and reports."""

    HEAD, TAIL = 1 << 15, 1 << 16

    def __init__(self, heard: Callable[[Event], None]) -> None:
        self._heard = heard
        self._reading, self.output = os.pipe()
        self._reports_reading, self.reports = os.pipe()
        for descriptor in (self._reading, self._reports_reading):
            os.set_blocking(descriptor, False)
        self._open = [self._reading, self._reports_reading]
        self._head = self._tail = self._partial = b""
        self.printed = 0
        self.events: list[Event] = []
        self.last = time.monotonic()
        """When the step has last said something."""

    def started(self) -> None:
        """The writing ends are the step's now."""
        for descriptor in (self.output, self.reports):
            os.close(descriptor)
        self.last = time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Takes what there is; whether there was something."""
        ready = select.select(self._open, [], [], seconds)[0]
        for descriptor in ready:
            try:
                chunk = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                continue
            if not chunk:
                self._open.remove(descriptor)
            elif descriptor == self._reading:
                self._keep(chunk)
            else:
                self._report(chunk)
        return bool(ready)

    def _keep(self, chunk: bytes) -> None:
        self.printed += len(chunk)
        room = self.HEAD - len(self._head)
        self._head += chunk[:room] if room > 0 else b""
        self._tail = (self._tail + (chunk[room:] if room > 0 else chunk))[-self.TAIL :]

    def _report(self, chunk: bytes) -> None:
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                self.last = time.monotonic()
                if event["event"] != "beat":
                    self.events.append(event)
                self._heard(event)

    def until_quiet(self, seconds: float = 2.0, quiet: float = 0.15) -> str:
        """What is printed from now on until nothing more comes."""
        kept, self._head, self._tail, self.printed = (self._head, self._tail, self.printed), b"", b"", 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self.wait(quiet if self.printed else seconds / 4):
                break
        said = self.text
        self._head, self._tail, self.printed = kept
        return said

    def finish(self) -> None:
        """Takes what is left. Who is not ours any more may hold the pipes open, so nobody waits for their end."""
        while self._open and self.wait(0):
            pass
        for descriptor in (self._reading, self._reports_reading):
            os.close(descriptor)

    @property
    def text(self) -> str:
        cut = b"\n[...]\n" if self.printed > self.HEAD + self.TAIL else b""
        return (self._head + cut + self._tail).decode(errors="replace")


class _Started:
    """The main process of a step."""

    pid: int

    def status(self) -> int | None:
        raise NotImplementedError

    def forget(self) -> None:
        """It was killed: nobody will ask for it any more."""
        raise NotImplementedError


class _Once(_Started):
    """An interpreter for one step."""

    def __init__(
        self, python: str, env: Mapping[str, str], request: Mapping[str, object], listening: _Listening
    ) -> None:
        code = _BOOT.format(INSIDE, "once(int(sys.argv[1]), sys.argv[2])")
        self._process = subprocess.Popen(
            [python, "-c", code, str(listening.reports), json.dumps(request)],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=listening.output,
            stderr=listening.output,
            pass_fds=[listening.reports],
            start_new_session=True,
        )
        listening.started()
        self.pid = self._process.pid

    def status(self) -> int | None:
        return self._process.poll()

    def forget(self) -> None:
        self._process.wait()


class _Nurse:
    def __init__(self, python: str, env: Mapping[str, str]) -> None:
        here, there = socket.socketpair()
        self._socket = here
        code = _BOOT.format(INSIDE, f"serve({there.fileno()})")
        with there:
            self._process = subprocess.Popen(
                [python, "-c", code],
                env=env,
                stdin=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._answers = here.makefile("r")

    def start(self, request: Mapping[str, object], listening: _Listening) -> _Started:
        socket.send_fds(self._socket, [json.dumps(request).encode()], [listening.output, listening.reports])
        started = _Forked(self, int(self._answer()))
        listening.started()
        return started

    def status(self, pid: int) -> int | None:
        self._socket.sendall(json.dumps(pid).encode())
        answer: int | None = json.loads(self._answer())
        return answer

    def _answer(self) -> str:
        answer = self._answers.readline()
        if not answer:
            raise ConnectionResetError
        return answer

    def close(self) -> None:
        self._answers.close()
        self._socket.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Forked(_Started):
    def __init__(self, nurse: _Nurse, pid: int) -> None:
        self._nurse, self.pid = nurse, pid
        self._status: int | None = None

    def status(self) -> int | None:
        if self._status is None:
            self._status = self._nurse.status(self.pid)
        return self._status

    def forget(self) -> None:
        end = time.monotonic() + 5
        with contextlib.suppress(OSError):
            while self.status() is None and time.monotonic() < end:
                time.sleep(0.01)


def _in_shared_memory() -> set[str]:
    try:
        return set(os.listdir("/dev/shm"))
    except OSError:
        return set()


def _remove(before: set[str], used: set[str], pid: int) -> None:
    """Blocks of shared memory that came with the step, are known to be its own, and outlive it."""
    for name in _in_shared_memory() - before:
        if name in used or name.startswith(f"torch_{pid}_"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join("/dev/shm", name))


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Holds Ctrl-C back while things are put in order."""
    held: list[int] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    except ValueError:  # not the main thread: nobody interrupts it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt
