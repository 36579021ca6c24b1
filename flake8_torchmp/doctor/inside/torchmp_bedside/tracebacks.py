"""The user's own traceback: the frames that are the user's, and where it ends."""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
import traceback
from types import TracebackType

HERE = os.path.dirname(os.path.abspath(__file__))
_FOREIGN = tuple(
    {
        os.path.realpath(path) + os.sep
        for name, path in sysconfig.get_paths().items()
        if name.endswith(("lib", "stdlib"))
    }
)
MOST = 12
"""Frames of one exception that are shown."""
LONGEST = 4_000
"""Characters of a message."""

_ORIGINAL = re.compile(r'^  File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)', re.MULTILINE)
"""A frame of a worker, in the message with which the parent raises its exception again."""


def is_foreign(path: str) -> bool:
    installed = "site-packages" in path or "dist-packages" in path
    return path.startswith(("<", HERE)) or installed or os.path.realpath(path).startswith(_FOREIGN)


def frames_of(tb: TracebackType | None) -> list[dict[str, object]]:
    """The user's frames; where there are none, the last that is not the doctor's."""
    whole: list[dict[str, object]] = [
        {"path": frame.filename, "line": frame.lineno, "function": frame.name, "source": (frame.line or "").strip()}
        for frame in traceback.extract_tb(tb)
        if not frame.filename.startswith(HERE)
    ]
    own = [frame for frame in whole if not is_foreign(str(frame["path"]))]
    return (own or whole[-1:])[-MOST:]


def described(error: BaseException) -> dict[str, object]:
    """What is to be known of an exception."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain and len(chain) < 4:
        chain.append(cause)
    frames = [frame for one in reversed(chain) for frame in frames_of(one.__traceback__)]
    last = "".join(traceback.format_exception_only(type(error), error)).strip()[:LONGEST]
    inner = [
        {
            "path": match["path"],
            "line": int(match["line"]),
            "function": match["function"],
            "source": linecache.getline(match["path"], int(match["line"])).strip(),
        }
        for match in _ORIGINAL.finditer(last)
        if not is_foreign(match["path"])
    ]
    return {"kind": type(error).__name__, "error": last, "frames": [*frames, *inner], "text": _text(frames, last)}


def _text(frames: list[dict[str, object]], last: str) -> str:
    lines = [
        f'  File "{frame["path"]}", line {frame["line"]}, in {frame["function"]}\n    {frame["source"]}'
        for frame in frames
    ]
    return "\n".join(["Traceback (most recent call last):", *lines, last])
