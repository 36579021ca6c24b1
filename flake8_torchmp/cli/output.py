"""Where a check writes: the report, the counts, and the progress that a person sees."""

from __future__ import annotations

import io
import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from flake8_torchmp.options.configuration import ConfigurationError
from flake8_torchmp.source import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from flake8_torchmp.findings import Finding


class Output:
    """Standard output, or a file that is replaced in one step once the report is whole."""

    def __init__(self, path: str, option: str = "--output-file") -> None:
        self._path, self._option = path, option
        self._text = io.StringIO()

    @property
    def unicode(self) -> bool:
        if self._path:
            return True
        try:
            "→".encode(sys.stdout.encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def __enter__(self) -> TextIO:
        return self._text if self._path else sys.stdout

    def __exit__(self, kind: type[BaseException] | None, _error: object, _traceback: TracebackType | None) -> None:
        if kind is None and self._path:
            try:
                os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
                write_atomically(self._path, self._text.getvalue().encode("utf-8", "backslashreplace"))
            except OSError as error:
                raise ConfigurationError(f"{self._option}: {self._path}: {error.strerror}") from None


def statistics(findings: Sequence[Finding]) -> str:
    """The number of findings of each code, as flake8 counts them."""
    counts: dict[str, int] = {}
    messages: dict[str, str] = {}
    for finding in findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        messages.setdefault(finding.code, finding.message)
    return "".join(f"{counts[code]:<5} {code} {messages[code]}\n" for code in sorted(counts))


def counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


class Progress:
    """One line on standard error that counts, on a terminal only; it is gone when the check is done."""

    _INTERVAL = 0.1

    def __init__(self, total: int) -> None:
        self._total = total
        self._before = 0
        self._shown = 0
        self._next = time.monotonic() + self._INTERVAL
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()

    def count(self, done: int, _of: int) -> None:
        """The engine has done so many of the files that it was given last."""
        if not self._on_terminal or time.monotonic() < self._next:
            return
        text = f"checked {self._before + done} of {self._total} files"
        sys.stderr.write("\r" + text.ljust(self._shown))
        sys.stderr.flush()
        self._shown = len(text)
        self._next = time.monotonic() + self._INTERVAL

    def add(self, done: int) -> None:
        self._before += done

    def __enter__(self) -> Progress:  # noqa: PYI034 - Self is not in Python 3.10
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
