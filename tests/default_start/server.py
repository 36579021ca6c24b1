"""Becomes one program after another: see running.py."""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
import types
from multiprocessing import process
from pathlib import Path

import successors

SPAWNED = 4
"""Children that are had at once by a program that spawns any; most start no more."""


def serve() -> tuple[str, str, str]:
    """Answers until it is, in a forked child, the program that was asked for."""
    gc.freeze()  # else each program that ends searches all of torch for garbage: two thirds of what it costs
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        while True:
            message, files, _, _ = socket.recv_fds(asked, 65536, 1)
            if not message:
                sys.exit()
            request = json.loads(message)
            if isinstance(request, int):
                _, status = os.waitpid(request, 0)
                asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                continue
            pid = os.fork()  # noqa: TMP802 - nothing has run in torch yet
            if pid == 0:
                os.setsid()
                os.dup2(files[0], 1)
                os.dup2(files[0], 2)
                os.close(files[0])
                main, folder, start = request
                return main, folder, start
            os.close(files[0])
            asked.sendall(b"%d\n" % pid)


def become(main: str, folder: str, start: str) -> None:
    """What the interpreter does with the program on its command line."""
    os.chdir(folder)
    process.ORIGINAL_DIR = folder  # type: ignore[attr-defined]
    successors.prepare(_starts_anew(folder, start))
    os.environ["DEFAULT_START"] = start
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")
    sys.argv = [main]
    sys.path[0] = folder
    module = types.ModuleType("__main__")
    module.__file__ = os.path.join(folder, main)
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module  # the second as multiprocessing's own import does
    with open(main, "rb") as file:
        code = compile(file.read(), module.__file__, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _starts_anew(folder: str, start: str) -> int:
    """How many interpreters a program may want that have imported nothing, going by its words."""
    texts = [path.read_bytes() for path in Path(folder).rglob("*.py")]
    wants_spawned = start == "spawn" or any(b"spawn" in text for text in texts)
    wants_server = start == "forkserver" or any(b"forkserver" in text for text in texts)
    return SPAWNED * wants_spawned + wants_server


become(*serve())
