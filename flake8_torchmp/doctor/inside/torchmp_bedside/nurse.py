"""Imports torch once, and forks a process for each step; its socket closed, it ends what it has started.

Where forking is no good idea, each step has an interpreter of its own: `once`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from typing import Any

from .channel import Channel
from .steps import run

GRACE = 2.0
"""Seconds to remove what ended processes have left in shared memory."""


def serve(descriptor: int) -> None:
    """Answers until it is, in a forked child, the process of a step."""
    with contextlib.suppress(ImportError):  # each step says so by itself
        import torch.utils.data  # noqa: F401
    gc.collect()
    gc.freeze()  # what is here already is neither looked at nor copied by the steps
    doctor = os.getppid()
    started: set[int] = set()
    with socket.socket(fileno=descriptor) as asked:
        step = None
        with contextlib.suppress(ConnectionError):  # as a doctor leaves it who is killed before reading an answer
            step = _next_step(asked, started)
        if step is None:
            _end(started)
            if os.getppid() != doctor:  # it was killed, and cannot tidy up
                shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
            os._exit(0)
    request, output, reports = step
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    begin(request, Channel(reports))
    _leave()


def _next_step(asked: socket.socket, started: set[int]) -> tuple[dict[str, Any], int, int] | None:
    """In a forked child, what it is to do and where it writes; in the nurse nothing, when nobody asks any more."""
    while True:
        message, files, _, _ = socket.recv_fds(asked, 1 << 20, 2)
        if not message:
            return None
        request = json.loads(message)
        if isinstance(request, int):
            try:
                pid, status = os.waitpid(request, os.WNOHANG)
            except ChildProcessError:  # asked again, by a doctor who was interrupted before reading the answer
                pid, status = request, 0
            if pid:
                started.discard(pid)
            asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(status) if pid else b"null\n")
            continue
        pid = os.fork()  # noqa: TMP802 - nothing has run in torch yet
        if pid == 0:
            return request, *files
        started.add(pid)
        for file in files:
            os.close(file)
        asked.sendall(b"%d\n" % pid)


def _end(started: set[int]) -> None:
    """All but those that tidy up after the others at once, and those when they have had their time."""
    with contextlib.suppress(OSError):
        for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
            with contextlib.suppress(OSError):
                if os.getsid(pid) in started and not _tidies_up(pid):
                    os.kill(pid, signal.SIGKILL)
    if started:
        time.sleep(GRACE)
    for pid in started:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _tidies_up(pid: int) -> bool:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        command = file.read()
    return b"multiprocessing.resource_tracker" in command or b"torch_shm_manager" in command


def _leave() -> None:
    """As the interpreter ends, but without taking torch apart, which takes longer than many a step."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.flush()
    os._exit(0)


def once(reports: int, request: str) -> None:
    begin(json.loads(request), Channel(reports))


def begin(step: dict[str, Any], channel: Channel) -> None:
    os.environ.update(step["environment"])
    os.chdir(step["folder"])
    tempfile.tempdir = None
    sys.argv = [""]
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    run(step, channel)
