"""Runs a program as `python program.py` would, but without paying for `import torch` each time.

A server process imports torch once; for each program it forks a child, which becomes that program: its own session, its
folder, its `__main__`. The first few interpreters that multiprocessing starts for it have torch already, too.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent / "default_start"
LONG = 120
"""Seconds for a program that has to end by itself, on a busy machine."""


def run(main: str, folder: Path, start: str, patience: float = LONG) -> tuple[str, str]:
    """How a program ends (`well`, `fails` or `hangs`) and what it and its workers print."""
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as output:
        pid = _server().start(main, folder, start, writing)
        os.close(writing)
        said, timely = _read(output.fileno(), patience)
        if not timely:
            _kill(pid)
        status = _server().status(pid)
        _kill(pid)
    how = ("fails" if status else "well") if timely else "hangs"
    return how, said.decode(errors="replace")


def _read(output: int, patience: float) -> tuple[bytes, bool]:
    """All that is written until nobody is left to write, and whether that came in time."""
    said = b""
    end = time.monotonic() + patience
    while (left := end - time.monotonic()) > 0:
        if select.select([output], [], [], left)[0]:
            chunk = os.read(output, 65536)
            if not chunk:
                return said, True
            said += chunk
    return said, False


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class _Server:
    def __init__(self) -> None:
        here, there = socket.socketpair()
        self._socket = here
        env = dict(os.environ, PYTHONPATH=str(FOLDER), PYTHONWARNINGS="ignore")
        command = [sys.executable, str(FOLDER / "server.py"), str(there.fileno())]
        self._process = subprocess.Popen(command, env=env, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL)
        there.close()
        self._answers = here.makefile("r")

    def start(self, main: str, folder: Path, start: str, output: int) -> int:
        request = json.dumps([main, str(folder), start])
        socket.send_fds(self._socket, [request.encode()], [output])
        return int(json.loads(self._answers.readline()))

    def status(self, pid: int) -> int:
        """The status with which a program ended; only called once it does, or is killed."""
        self._socket.sendall(json.dumps(pid).encode())
        return int(json.loads(self._answers.readline()))


@functools.cache
def _server() -> _Server:
    return _Server()
