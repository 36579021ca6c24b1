"""What a process takes: memory of its own and shared, open files, blocks of shared memory, threads."""

from __future__ import annotations

import os
import sys
import threading


def memory(pid: int) -> tuple[int, int] | None:
    """Bytes that are this process's own, and bytes that it shares; None where nobody can tell."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return _by_psutil(pid)
    sizes = {name: int(value.split()[0]) * 1024 for name, value in lines.items() if value.rstrip().endswith("kB")}
    own = sizes.get("Private_Clean", 0) + sizes.get("Private_Dirty", 0)
    return own, sizes.get("Rss", own) - own


def _by_psutil(pid: int) -> tuple[int, int] | None:
    try:
        import psutil

        full = psutil.Process(pid).memory_full_info()
    except Exception:  # it is not installed, or may not look
        return None
    return full.uss, max(0, full.rss - full.uss)


def files(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def open_paths() -> dict[str, int]:
    """The regular files that this process has open, and how often."""
    paths: dict[str, int] = {}
    try:
        descriptors = os.listdir("/proc/self/fd")
    except OSError:
        return paths
    for descriptor in descriptors:
        try:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        paths[path] = paths.get(path, 0) + 1
    return paths


def shared_memory() -> int | None:
    """Bytes of /dev/shm that are taken, by whomever."""
    try:
        state = os.statvfs("/dev/shm")
    except OSError:
        return None
    return (state.f_blocks - state.f_bfree) * state.f_frsize


def threads() -> list[dict[str, object]]:
    """The threads of Python beside the main one, with the function each of them runs."""
    found = []
    frames = sys._current_frames()
    for thread in threading.enumerate():
        if thread is threading.main_thread() or thread.name == "tqdm_monitor":
            continue
        target = getattr(thread, "_target", None) or type(thread).run
        code = getattr(target, "__code__", None)
        frame = frames.get(thread.ident or 0)
        found.append(
            {
                "name": thread.name,
                "path": code.co_filename if code else (frame.f_code.co_filename if frame else ""),
                "line": code.co_firstlineno if code else 0,
            }
        )
    return found
