"""A unified diff that `git apply` and `patch` take: of bytes, whatever the encoding and the line ends."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

_QUOTED = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}

LONG = 4000
"""Lines of a file from which on common ones, as `else:`, are no longer looked for everywhere: that takes too long."""


def patch(name: str, old: bytes, new: bytes) -> bytes:
    """The change of one file; the name is relative to the folder in which the patch is to be applied."""
    if old == new:
        return b""
    head = f"--- {_header('a', name)}\n+++ {_header('b', name)}\n".encode("utf-8", "surrogateescape")
    return head + b"".join(_hunks(_lines(old), _lines(new)))


def _lines(data: bytes) -> list[bytes]:
    """As git and patch count them: only a line feed ends a line."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [last for last in data.split(b"\n")[-1:] if last]


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[bytes]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) > LONG)
    for group in matcher.get_grouped_opcodes():
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n".encode()
        for tag, start, end, new_start, new_end in group:
            yield from _marked(b" " if tag == "equal" else b"-", old[start:end])
            if tag != "equal":
                yield from _marked(b"+", new[new_start:new_end])


def _range(start: int, end: int) -> str:
    """Lines as the head of a hunk counts them; none stand behind the line before."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"


def _marked(mark: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"


def _header(side: str, name: str) -> str:
    name = f"{side}/{name}"
    quoted = name.translate(_QUOTED)
    if quoted != name:
        return f'"{quoted}"'
    return f"{name}\t" if " " in name else name
