"""Reads what a program printed: the frames of its tracebacks and the messages that are known.

Output comes as it comes: of several processes at once, with colours and log prefixes, framed by rich, numbered by
IPython, cut in the middle, between megabytes of other lines. So nothing is taken for a block: each line is read by
itself, with the end of the one before it for what a terminal has wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .descriptions import FEW, described
from .messages import MESSAGES, Message

LONGEST = 2_000
"""Characters of a line that are looked at: its end, which is what progress bars leave standing, and its beginning."""

MOST = 2_000
"""Frames, and messages, that are kept: the last ones."""

DULLEST = 10_000
"""Kinds of lines that are remembered to say nothing: a log has few, in many lines that differ in their numbers."""

_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1f]"
)
_FRAMING = "│┃|╭╰❱─ \t"

_TELLING = (
    *("rror", "xception", "xit", ".py", "ickle", "process", "signal", "leaked", "attempt", "arning", "File ", "ermin"),
    *("an't ", "annot ", "attribute", "NoneType", "not defined", "required", "positional", "argument", "iterable"),
    *("erializ", "primitive", "freeze_support", "__name__", "importing_main", "already", "available", "CUDA", "cuda"),
    *("fork", "thread", "lock", "emory", "illed", "oom", "ancdata", "Too many", "No space", "timed out", "paging"),
    *("onnection", "Broken", "Ran out", "runcated", "underflow", "end of f", "SQLite", "MDB_", "header", "CRC-32"),
    *("magic", "Unable to", "read data", "signature", "decompressing", "invalid ", "h5py", "synchroni", "EOF"),
    *("unexpected", "Packet", "closed", "gone away", "libpq", "out of sync", "Bad file", "bad record", "No such file"),
    *("psm_", "/dev/shm", "exists: '", "option", "recursion", "equal size", "resize storage", "multi-process"),
    *("timeout == 0", "_timeout", "inished", "resource", "child", "SemLock"),
)
"""Every message and frame has one of these: most lines of a long output are passed over at once."""

_FRAMES = (
    re.compile(r'File \\?"(?P<path>[^"]+?)\\?", line (?P<line>\d+)(?:,? in (?P<function>[\w.<>]+))?'),
    re.compile(r"File (?P<path>\S+\.py):(?P<line>\d+)(?:, in (?P<function>[\w.<>]+))?"),  # IPython 8
    re.compile(
        r"(?P<path>(?:[A-Za-z]:)?[^\s:\"'()]+\.py):(?P<line>\d+)(?::\d+)?:? in (?P<function>[\w.<>]+)"
    ),  # rich, pytest
    re.compile(r"(?P<function>[\w.<>]+) \((?P<path>[^\s()]+\.py):(?P<line>\d+)\)"),  # py-spy
    re.compile(r"(?P<path>(?:[A-Za-z]:)?[^\s:\"'()]+\.py):(?P<line>\d+): \w*(?:Error|Exception|Warning)\b"),  # warnings
    re.compile(r"(?P<path>\S+\.py) in (?P<function>[\w.<>]+)\("),  # IPython 7: the line follows
)
_NUMBER = re.compile(r"(?<![-(])(?<!Error )\b\d+")
"""Those that no message has."""
_ARROW = re.compile(r"^-+> (?P<line>\d+) ")
_ERROR = re.compile(
    r"(?:^|[\s\]:])(?P<kind>(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Pool|Warning))(?:: (?P<text>.*))?$"
)


class Frame(NamedTuple):
    path: str
    line: int
    function: str


class Said(NamedTuple):
    """A known message, and what it names."""

    message: Message
    line: str
    names: tuple[str, ...]
    """Qualified names, classes, methods: whatever the message quotes."""


class Printed(NamedTuple):
    frames: tuple[Frame, ...]
    """In the order in which they came."""
    said: tuple[Said, ...]
    """Each message once for what it names, in the order in which they came."""
    errors: tuple[str, ...]
    """The other exceptions."""


def read(lines: Iterable[str]) -> Printed:
    """What is telling in an output. Interrupted while it waits for more, it answers with what there is."""
    frames: dict[Frame, None] = {}
    said: dict[tuple[str, tuple[str, ...]], Said] = {}
    errors: dict[str, None] = {}
    before = ""
    unnumbered = ""
    beginning: list[str] = []
    dull: set[str] = set()
    for line in _plain(lines):
        if line and len(beginning) <= FEW:
            beginning.append(line)
        if unnumbered and (arrow := _ARROW.match(line)):
            path, _, function = unnumbered.partition("\n")
            _keep(frames, Frame(path, int(arrow["line"]), function))
            unnumbered = ""
        if not any(word in line for word in _TELLING):
            before = line
            continue
        shape = _NUMBER.sub("0", f"{before}\n{line}")
        if shape in dull:
            before = line
            continue
        for pattern in _FRAMES if ".py" in line or "File " in line else ():
            if match := pattern.search(line):
                place = match.groupdict()
                if "line" in place:
                    _keep(frames, Frame(place["path"], int(place["line"]), place.get("function") or ""))
                else:
                    unnumbered = f"{place['path']}\n{place['function']}"
                break
        found = _said(line) or (_said(f"{before} {line}") if before else None)
        if found:
            _keep(said, (found.message.pattern, found.names), found)
        elif error := _ERROR.search(line):
            _keep(errors, error[0].strip(" :]"))
        elif ".py" not in line and len(dull) < DULLEST:
            dull.add(shape)
        before = line
    if not frames and not said and len(beginning) <= FEW:
        told = [Said(*row) for row in described(beginning)]
        return Printed((), tuple(told), tuple(errors))
    return Printed(tuple(frames), tuple(said.values()), tuple(errors))


def _keep(kept: dict, key: object, value: object = None) -> None:  # type: ignore[type-arg]
    """The last occurrence counts, and so many of them."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > MOST:
        del kept[next(iter(kept))]


def _said(line: str) -> Said | None:
    """The first message of the table that the line is: the special ones come before the general ones."""
    for message in MESSAGES:
        if match := message.compiled.search(line):
            return Said(message, line, tuple(value for value in match.groupdict().values() if value))
    return None


def _plain(lines: Iterable[str]) -> Iterator[str]:
    try:
        for line in lines:
            line = line.rstrip("\r\n").rpartition("\r")[2]
            if len(line) > LONGEST:
                line = line[: LONGEST // 2] + line[-LONGEST // 2 :]
            yield _CONTROL.sub("", line).strip(_FRAMING)
    except KeyboardInterrupt:
        return
