"""Finds every process that a patient has started, however it was started, and ends them all."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import NamedTuple

GRACE = 2.0
"""Seconds for what cleans up after others: multiprocessing's resource tracker, torch's manager of shared memory."""
_CLEANERS = ("multiprocessing.resource_tracker", "torch_shm_manager")
_GIVING_UP = 5.0


class Process(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    command: str

    @property
    def cleans_up(self) -> bool:
        return any(name in self.command for name in _CLEANERS)


def of_patient(main: int, mark: str, but: int) -> list[Process]:
    """Those in the session of its main process, those below it, and those that carry the mark in their environment."""
    everyone = {process.pid: process for process in _running()}
    found = {}
    for pid, process in everyone.items():
        above, ancestors = process, {pid}
        while above.parent in everyone and above.parent not in ancestors:
            ancestors.add(above.parent)
            above = everyone[above.parent]
        if main in (process.session, process.group, *ancestors) or _carries(pid, mark):
            found[pid] = process
    for pid in (but, os.getpid()):
        found.pop(pid, None)
    return list(found.values())


def _running() -> list[Process]:
    """Every process that there is, less those that have ended and wait to be asked for."""
    if not os.path.isdir("/proc/self"):
        return _running_by_ps()
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    state, parent, group, session = file.read().rpartition(")")[2].split()[:4]
                with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                    command = file.read().replace("\0", " ")
                if state not in "ZX":
                    found.append(Process(int(name), int(parent), int(group), int(session), command))
    return found


def _running_by_ps() -> list[Process]:
    import subprocess

    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid=,stat=,command="], capture_output=True, text=True, check=False
    ).stdout
    rows = [line.split(None, 4) for line in listed.splitlines()]
    return [
        Process(int(row[0]), int(row[1]), int(row[2]), int(row[2]), row[4] if len(row) > 4 else "")
        for row in rows
        if len(row) >= 4 and not row[3].startswith("Z")
    ]


def _carries(pid: int, mark: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark.encode() in file.read()
    except OSError:
        return False


def end(main: int, mark: str, but: int) -> None:
    """Kills them all; those that clean up get the time to do it."""
    began = time.monotonic()
    while (left := of_patient(main, mark, but)) and (elapsed := time.monotonic() - began) < _GIVING_UP:
        for process in left:
            if elapsed > GRACE or not process.cleans_up:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.01)


def shared_blocks(processes: list[Process]) -> set[str]:
    """The files in shared memory that they use."""
    found = set()
    for process in processes:
        with (
            contextlib.suppress(OSError),
            open(f"/proc/{process.pid}/maps", encoding="utf-8", errors="replace") as maps,
        ):
            for line in maps:
                _, _, name = line.rstrip("\n").partition("/dev/shm/")
                if name and not name.endswith(" (deleted)"):
                    found.add(name)
    return found
