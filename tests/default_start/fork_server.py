"""A fork server for the program that has torch already, as if `set_forkserver_preload(["torch"])` had been called.

A process is forked while nothing of the program has run. When multiprocessing wants its fork server, this one is told
what a new interpreter would have been told, and becomes it; nothing else differs.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import types
from collections.abc import Sequence
from multiprocessing import process, util
from typing import Any

import torch

FREE = 200
"""Descriptors from here on are nobody's."""


def prepare() -> None:
    told, tells = socket.socketpair()
    pid = os.fork()  # noqa: TMP802 - nothing has run in torch yet
    if pid == 0:
        tells.close()
        _wait(told)
    told.close()
    start_anew = util.spawnv_passfds

    def start(path: bytes, args: Sequence[Any], fds: Sequence[int]) -> int:
        if "multiprocessing.forkserver" not in str(args[-1]) or tells.fileno() < 0:
            return start_anew(path, args, fds)
        message = json.dumps([args[-1], list(fds), dict(os.environ), os.getcwd()])
        socket.send_fds(tells, [message.encode()], [*fds, 1, 2])
        tells.close()
        return pid

    util.spawnv_passfds = start  # type: ignore[assignment]


def _wait(told: socket.socket) -> None:
    try:
        message, received, _, _ = socket.recv_fds(told, 1_000_000, 16)
        if message:
            command, wanted, environ, folder = json.loads(message)
            told.close()
            _take(received, [*wanted, 1, 2])
            os.environ.clear()
            os.environ.update(environ)
            os.chdir(folder)
            process.ORIGINAL_DIR = folder  # type: ignore[attr-defined]
            random.seed()
            torch.seed()
            sys.modules["__main__"] = types.ModuleType("__main__")
            exec(command, {})
    finally:
        os._exit(0)


def _take(received: Sequence[int], wanted: Sequence[int]) -> None:
    """Gives descriptors the numbers that they have in the program."""
    for index, descriptor in enumerate(received):
        os.dup2(descriptor, FREE + index)
    for index, number in enumerate(wanted):
        os.dup2(FREE + index, number)
    kept = sorted({2, *wanted})
    for low, high in zip(kept, [*kept[1:], FREE + len(received)], strict=True):
        os.closerange(low + 1, high)
