"""Names of the project's own for what makes loaders and processes, which other files import: going by bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from flake8_torchmp.boundary.tables import apis, ecosystem
from flake8_torchmp.semantics.codebase import Codebase

MAKERS = frozenset(
    {"DataLoader", "Loader", "ProcessPoolExecutor", *apis.MULTIPROCESSING_CALLS, *apis.PROCESS_CLASSES}
    | {name.rpartition(".")[2] for name in (*apis.LOADERS, *ecosystem.CALLS)}
)
"""The names of all that makes loaders or processes."""

_NAMED = re.compile(rb"\b(?:%b)\b(?![ \t]*[(.])(?:[ \t]+as[ \t]+(\w+))?" % "|".join(sorted(MAKERS)).encode())
_ASSIGNED = re.compile(rb"[ \t]*(\w+)[ \t]*(?::[^=]*)?=(?!=)[^#=]*")


class Aliases:
    def __init__(self, codebase: Codebase) -> None:
        self._codebase = codebase

    @cached_property
    def names(self) -> frozenset[str]:
        """`DL` for `from torch.utils.data import DataLoader as DL`, or `DL = partial(DataLoader, ...)`."""
        codebase = self._codebase
        files = (path for path in codebase.files if codebase.matches(path, apis.OWN_WORDS))
        return frozenset(name.decode() for path in files for name in _renamed(codebase.data(path))) - MAKERS

    def imported_by(self, path: str) -> bool:
        """Whether a file imports such a name, or calls it by its module."""
        if not self.names:
            return False
        imported = {name for listed in self._codebase.imported_names(path).values() for _, name in listed}
        return not self._encoded.isdisjoint(imported) or self._called.search(self._codebase.data(path)) is not None

    @cached_property
    def _encoded(self) -> frozenset[bytes]:
        return frozenset(name.encode() for name in self.names)

    @cached_property
    def _called(self) -> re.Pattern[bytes]:
        return re.compile(rb"\.(?:%b)\(" % b"|".join(sorted(self._encoded)))


def _renamed(data: bytes) -> Iterator[bytes]:
    for found in _NAMED.finditer(data):
        if found[1]:
            yield found[1]
            continue
        assigned = _ASSIGNED.fullmatch(data, data.rfind(b"\n", 0, found.start()) + 1, found.start())
        if assigned is not None:
            yield assigned[1]
