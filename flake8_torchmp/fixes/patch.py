"""A unified diff that `git apply` and `patch` take: of bytes, whatever the encoding and the line ends."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

_QUOTED = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}


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
    diff = difflib.diff_bytes(difflib.unified_diff, old, new, b"", b"")
    for number, line in enumerate(diff):
        if number < 2:  # the names, which are written above
            continue
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _header(side: str, name: str) -> str:
    name = f"{side}/{name}"
    quoted = name.translate(_QUOTED)
    if quoted != name:
        return f'"{quoted}"'
    return f"{name}\t" if " " in name else name
