"""What the files of a project do with names, going by bytes, so that no file has to be parsed for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flake8_torchmp import source

from .binder import MUTATORS
from .files import Extent
from .imports import Imports

MOST_FOR_ONE_NAME = 4_000_000
"""Bytes of source that are parsed to find out about one name: what more source uses says little of any use."""
MOST_RENAMING = 80
"""A name that more files mention is not looked for under other names."""

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^)]*)\)", re.MULTILINE)
_CALLABLE = tuple(
    re.compile(pattern)
    for pattern in (
        rb"def(?<!\wdef)[ \t]+(\w+)",
        rb"class(?<!\wclass)[ \t]+(\w+)",
        rb"as(?<!\was)[ \t]+(\w+)",
        rb"\.(\w+)[ \t]*(?::[^=\n]*)?=(?!=)",
        rb"\n[ \t]+(\w+)[ \t]*[:=](?!=)",
        rb"set_defaults\([ \t]*(\w+)[ \t]*=",
    )
)
"""What names a function or class, or keeps something under a name. Each begins with what is quickly looked for."""
_WORD = re.compile(rb"\w+")
_DOTTED = b"._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CHANGING = re.compile(rb"[.\[]|[-+*/%&|^@<>]{0,2}=(?!=)")
_SETTING = re.compile(
    rb"(?:\.\w+)*[ \t]*[-+*/%%&|^@<>]{0,2}=(?!=)|(?:\.\w+)+(?:\[|\.(?:%b)\()"
    % b"|".join(sorted(map(str.encode, MUTATORS)))
)
"""What follows a name that is bound again, or of whose object attributes are set or changed."""


class Uses(Imports):
    """What can be asked about the names in a project."""

    def __init__(self, extent: Extent) -> None:
        super().__init__(extent)
        self._derived: dict[bytes, dict[str, frozenset[str]]] = {}
        self._names: dict[bytes, frozenset[str]] = {}
        self._matches: dict[tuple[str, bytes], bool] = {}
        self._uses: dict[tuple[str, str], frozenset[str]] = {}
        self._kinds_of_use: dict[frozenset[str], frozenset[str]] = {}
        """Each set of uses once: many files use many names, in few ways."""
        self._binds: dict[tuple[str, str], bool] = {}
        self._mentioning: dict[tuple[str, str], list[str]] = {}
        self._known_as: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._callables: dict[bytes, list[str]] | None = None
        self._holding: dict[bytes, list[str]] | None = None

    def matches(self, path: str, pattern: re.Pattern[bytes] | source.Words) -> bool:
        """Whether a file's bytes hold something."""
        key = (path, pattern.pattern)
        if key not in self._matches:
            self._matches[key] = pattern.search(self.data(path)) is not None
        return self._matches[key]

    def leads_to(self, path: str, pattern: re.Pattern[bytes] | source.Words) -> bool:
        """Whether a file or one that it imports, directly or not, matches."""
        seen = {path}
        pending = [path]
        while pending:
            current = pending.pop()
            if self.matches(current, pattern):
                return True
            fresh = [imported for imported in self.imports(current) if imported not in seen]
            seen.update(fresh)
            pending += fresh
        return False

    def derived_from(self, pattern: re.Pattern[bytes] | source.Words) -> dict[str, frozenset[str]]:
        """By file, its classes that derive, going by names alone, from classes whose names match."""
        known = self._derived.get(pattern.pattern)
        if known is not None:
            return known
        bases: dict[str, list[tuple[str, frozenset[bytes]]]] = {}
        subclasses: dict[bytes, set[bytes]] = {}
        for path in self.files:
            for name, listed in _CLASS.findall(self.data(path)):
                words = frozenset(_WORD.findall(listed))
                bases.setdefault(path, []).append((name.decode(), words))
                for word in words:
                    subclasses.setdefault(word, set()).add(name)
        wanted = {base for base in subclasses if pattern.search(base)}
        pending = list(wanted)
        while pending:
            for name in subclasses.get(pending.pop(), ()):
                if name not in wanted:
                    wanted.add(name)
                    pending.append(name)
        found = {path: frozenset(name for name, words in listed if words & wanted) for path, listed in bases.items()}
        known = self._derived[pattern.pattern] = {path: names for path, names in found.items() if names}
        return known

    def derived_names(self, pattern: re.Pattern[bytes] | source.Words) -> frozenset[str]:
        key = b"names of " + pattern.pattern
        if key not in self._names:
            self._names[key] = frozenset(n for names in self.derived_from(pattern).values() for n in names)
        return self._names[key]

    def may_define(self, name: str) -> bool:
        """Whether an attribute of some object may be a function or class of the project, going by its name."""
        return bool(self.definers(name))

    def definers(self, name: str) -> Sequence[str]:
        """The files that define a function or class of this name, or keep something under it."""
        if self._callables is None:
            self._callables = {}
            for path in self.files:
                for one in {name for pattern in _CALLABLE for name in pattern.findall(self.data(path))}:
                    self._callables.setdefault(one, []).append(path)
        return self._callables.get(name.encode(), ())

    def binds(self, path: str, name: str) -> bool:
        """Whether a file gives something a name by assignment or by renaming an import, going by its bytes."""
        key = (path, name)
        if key not in self._binds:
            data, word = self.data(path), name.encode()
            self._binds[key] = any(_is_bound(data, place, place + len(word)) for place in source.places(word, data))
        return self._binds[key]

    def uses(self, path: str, name: str) -> frozenset[str]:
        """What a file does with a name, by its bytes: it may be called, derived from, renamed, changed, set, given."""
        key = (path, name)
        if key not in self._uses:
            found = frozenset(self._find_uses(path, name.encode()))
            self._uses[key] = self._kinds_of_use.setdefault(found, found)
        return self._uses[key]

    def reads(self, path: str, name: str) -> bool:
        """Whether a file may do more with a name than import or define it."""
        return not self.uses(path, name).isdisjoint(("called", "given"))

    def _find_uses(self, path: str, word: bytes) -> Iterator[str]:
        data = self.data(path)
        is_given = False
        for place in source.places(word, data):
            if data[max(0, place - 6) : place].endswith((b"def ", b"class ")):
                continue
            after = data[place + len(word) : place + len(word) + 80].lstrip()
            before = data[max(0, place - 300) : place]
            if after.startswith(b"(") or before.rstrip(_DOTTED).endswith(b"@"):
                yield "called"
            elif after.startswith(b"as") or before.rstrip(_DOTTED).rstrip(b" \t\r\n\\(").endswith(b"="):
                yield "renamed"
            if not is_given and not after.startswith(b"(") and self._may_be_read(path, place, len(word)):
                is_given = True
                yield "given"
            if _CHANGING.match(after):
                yield "changed"
            if _SETTING.match(after) or before.endswith((b"setattr(", b"delattr(")):
                yield "set"
            holder = before.rfind(b"class ")
            if holder >= 0 and b":" not in before[holder:]:
                yield "derived"

    def _may_be_read(self, path: str, place: int, length: int) -> bool:
        """Whether a word stands neither in an import statement nor alone in quotes."""
        data = self.data(path)
        before = data[place - 1 : place]
        if before in (b'"', b"'") and data[place + length : place + length + 1] == before:
            return False
        return not self.is_in_import(place, path)

    def holding(self, word: bytes) -> Sequence[str]:
        """The files of the project in which a whole word stands."""
        if not word.isascii():
            return [path for path in self.files if next(source.places(word, self.data(path)), None) is not None]
        if self._holding is None:
            self._holding = {}
            for path in self.files:
                for one in source.words(self.data(path)):
                    self._holding.setdefault(one, []).append(path)
        return self._holding.get(word, ())

    def mentioning(self, name: str, path: str) -> list[str]:
        """The files that may use a name defined in a file: it, and those that import it, also by way of others."""
        key = (name, path)
        if key not in self._mentioning:
            self._mentioning[key] = self._find_mentions(name, path)
        return self._mentioning[key]

    def _find_mentions(self, name: str, path: str) -> list[str]:
        holding = frozenset(self.holding(name.encode()))
        if holding <= {path}:
            return [path]
        found: dict[str, None] = {path: None}
        visited = {path}
        pending = [(path, True)]
        while pending:
            current, direct = pending.pop(0)
            for importer in self.importers(current):
                if importer in visited:
                    continue
                visited.add(importer)
                mentions = importer in holding
                if mentions:
                    found[importer] = None
                if mentions or direct or importer.endswith("__init__.py"):
                    pending.append((importer, mentions))
        return [path, *sorted(set(found) - {path})]

    def worth_parsing(self, paths: list[str], home: str, most: int = MOST_FOR_ONE_NAME) -> list[str]:
        """The files that use a name; where they are too much, the one that defines it alone."""
        return paths if sum(len(self.data(path)) for path in paths if path != home) <= most else [home]

    def known_as(self, name: str, path: str) -> tuple[tuple[str, str], ...]:
        """A name defined in a file, and those under which other files import it: each with the file that has it."""
        key = (name, path)
        if key not in self._known_as:
            found = [key]
            for known, home in found:
                paths = self.mentioning(known, home)
                renaming = [file for file in paths if "renamed" in self.uses(file, known)]
                for file in renaming if len(paths) <= MOST_RENAMING else ():
                    found += [(other, file) for other in self._renamed(known, file) if (other, file) not in found]
            self._known_as[key] = tuple(found)
        return self._known_as[key]

    def _renamed(self, name: str, path: str) -> Iterator[str]:
        for local, listed in self.imported_names(path).items():
            if local != name.encode() and any(imported == name.encode() for _, imported in listed):
                yield local.decode("utf-8", "replace")


def _is_bound(data: bytes, start: int, end: int) -> bool:
    """Whether a word begins a line and is assigned to, or stands behind `as`."""
    before = data[data.rfind(b"\n", 0, start) + 1 : start].split()
    return before[-1] == b"as" if before else data[end : end + 80].lstrip(b" \t")[:1] in (b":", b"=")
