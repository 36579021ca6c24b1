"""Processes that have torch already, for what multiprocessing starts anew: spawned children and the fork server.

They are forked while nothing of the program has run. When multiprocessing wants a new interpreter, one of them is told
what that would have been told, and becomes it: a child of the program as that would be. Nothing else differs. When none
is left, a new interpreter is started after all.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import re
import socket
import sys
import types
from collections.abc import Sequence
from multiprocessing import process, util
from typing import Any, NamedTuple

import torch

FREE = 200
"""Descriptors from here on are nobody's."""
MOST_DESCRIPTORS = 253
"""What the kernel sends at once."""
_BEGINNING = re.compile(r"from multiprocessing\.(?:spawn|forkserver) import")


class Successor(NamedTuple):
    pid: int
    line: socket.socket


def prepare(count: int) -> None:
    waiting: list[Successor] = []
    for _ in range(count):
        told, tells = socket.socketpair()
        pid = os.fork()  # noqa: TMP802 - nothing has run in torch yet
        if pid == 0:
            for successor in waiting:
                successor.line.close()
            tells.close()
            _wait(told)
            return
        told.close()
        waiting.append(Successor(pid, tells))
    program = os.getpid()
    start_anew = util.spawnv_passfds

    def start(path: bytes, args: Sequence[Any], fds: Sequence[int]) -> int:
        if waiting and os.getpid() == program and any(map(_BEGINNING.match, map(str, args))):
            successor = waiting.pop(0)
            message = json.dumps([args[args.index("-c") :], list(fds), dict(os.environ), os.getcwd()])
            socket.send_fds(successor.line, [message.encode()], [*fds, 1, 2])
            successor.line.close()
            return successor.pid
        return start_anew(path, args, fds)

    util.spawnv_passfds = start  # type: ignore[assignment]


def _wait(told: socket.socket) -> None:
    message, received, _, _ = socket.recv_fds(told, 1_000_000, MOST_DESCRIPTORS)
    if not message:
        os._exit(0)
    (_, command, *arguments), wanted, environ, folder = json.loads(message)
    told.close()
    _take(received, [*wanted, 1, 2])
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    process.ORIGINAL_DIR = folder  # type: ignore[attr-defined]
    sys.argv = ["-c", *arguments]
    sys.path[0] = ""
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")
    random.seed()
    torch.seed()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    exec(command, main.__dict__)
    sys.exit()


def _take(received: Sequence[int], wanted: Sequence[int]) -> None:
    """Gives descriptors the numbers that they have in the program."""
    for index, descriptor in enumerate(received):
        os.dup2(descriptor, FREE + index)
    for index, number in enumerate(wanted):
        os.dup2(FREE + index, number)
    kept = sorted({2, *wanted})
    for low, high in zip(kept, [*kept[1:], FREE + len(received)], strict=True):
        os.closerange(low + 1, high)
