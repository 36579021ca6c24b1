"""`# noqa`, exactly as flake8 understands it (flake8 is not imported: it would cost half of the start-up)."""

from __future__ import annotations

import io
import re

from flake8_torchmp import source

INLINE = re.compile(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_WHOLE_FILE = re.compile(r"\s*# flake8[:=]\s*noqa", re.IGNORECASE)
_SEPARATORS = re.compile(r"[,\s]")
_MENTIONED = re.compile(rb"noqa", re.IGNORECASE)


def mentioned(data: bytes) -> bool:
    """Whether the rest of this module needs to be asked at all."""
    return _MENTIONED.search(data) is not None


class Comments:
    """The noqa comments of one file."""

    def __init__(self, text: str) -> None:
        self._lines = list(io.StringIO(text))
        self._ranges: dict[int, tuple[int, int]] | None = None
        self.whole_file = any(_WHOLE_FILE.match(line) for line in self._lines)

    def silence(self, line: int, code: str) -> bool:
        found = INLINE.search(self._text_around(line))
        if found is None:
            return False
        codes = found["codes"]
        if codes is None:
            return True
        return code.startswith(tuple(filter(None, _SEPARATORS.split(codes))))

    def _text_around(self, line: int) -> str:
        if self._ranges is None:
            self._ranges = ranges(self._lines)
        first, last = self._ranges.get(line, (line, line))
        return "".join(self._lines[first - 1 : last]) if first > 0 else ""


def comments_of(data: bytes) -> Comments | None:
    """None where a file has none, or cannot be decoded."""
    if not mentioned(data):
        return None
    try:
        return Comments(source.decode(data))
    except source.Unreadable:
        return None


def ranges(lines: list[str]) -> dict[int, tuple[int, int]]:
    """For each line, the first and last in which flake8 looks: those of the tokens between two ends of line.

    Inside brackets each line is on its own, but a string that spans lines is one range.
    """
    import tokenize

    found: dict[int, tuple[int, int]] = {}
    start, end = len(lines) + 2, -1
    remaining = iter(lines)
    try:
        for token in list(tokenize.generate_tokens(lambda: next(remaining))):
            if token.type in (tokenize.ENDMARKER, tokenize.DEDENT):
                continue
            start, end = min(start, token.start[0]), max(end, token.end[0])
            if token.type in (tokenize.NL, tokenize.NEWLINE):
                found.update(dict.fromkeys(range(start, end + 1), (start, end)))
                start, end = len(lines) + 2, -1
    except (tokenize.TokenError, SyntaxError):
        return {}
    return found
