"""Known findings of legacy code: a file of one sorted line each, so that lines move and branches merge in peace.

An entry is the file, the code and the text of the line; a finding that is there twice is an entry that is there twice.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchmp.options.configuration import ConfigurationError
from flake8_torchmp.source import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from flake8_torchmp.findings import Finding

    Lines = Callable[[str], list[str]]


class Entry(NamedTuple):
    path: str
    """Relative to the folder of the baseline, with slashes."""
    code: str
    text: str
    """The line without the space around and between its words."""


class Baseline:
    def __init__(self, path: str, lines: Lines) -> None:
        self._path, self._lines = path, lines
        self._folder = os.path.dirname(os.path.abspath(path))

    def entry(self, finding: Finding) -> Entry:
        lines = self._lines(finding.path)
        text = lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""
        return Entry(self._name(finding.path), finding.code, " ".join(text.split()))

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self._folder).replace(os.sep, "/")

    def read(self) -> Counter[Entry]:
        try:
            with open(self._path, encoding="utf-8") as file:
                return Counter(self._parsed(number, line) for number, line in enumerate(file, 1) if line.strip())
        except OSError as error:
            raise ConfigurationError(f"--baseline: {self._path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigurationError(f"--baseline: {self._path}: it is not UTF-8") from None

    def _parsed(self, number: int, line: str) -> Entry:
        try:
            path, code, text = json.loads(line)
        except (ValueError, TypeError):
            raise ConfigurationError(f"--baseline: {self._path}:{number}: no entry of a baseline") from None
        return Entry(str(path), str(code), str(text))

    def unknown(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are not in the baseline."""
        known = self.read()
        new = []
        for finding in findings:
            entry = self.entry(finding)
            if known[entry] > 0:
                known[entry] -= 1
            else:
                new.append(finding)
        return new

    def gone(self, findings: Iterable[Finding], checked: Sequence[str]) -> int:
        """How many entries of the files that were checked, or that are no more, nobody finds any longer."""
        left = self.read() - Counter(map(self.entry, findings))
        names = set(map(self._name, checked))
        return sum(count for entry, count in left.items() if self._is_due(entry, names))

    def _is_due(self, entry: Entry, checked: set[str]) -> bool:
        return entry.path in checked or not os.path.exists(os.path.join(self._folder, entry.path))

    def write(self, findings: Iterable[Finding], checked: Sequence[str]) -> int:
        """Records the findings of the files that were checked; those of other files stay as they were."""
        names = set(map(self._name, checked))
        before = self.read() if os.path.exists(self._path) else Counter[Entry]()
        entries = Counter(map(self.entry, findings))
        entries += Counter({entry: count for entry, count in before.items() if not self._is_due(entry, names)})
        lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in sorted(entries.elements())]
        try:
            write_atomically(self._path, "".join(lines).encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise ConfigurationError(f"--baseline: {self._path}: {error.strerror}") from None
        return len(lines)
