"""The modules of a project: found by name, read when asked for, and who imports whom."""

from __future__ import annotations

import ast
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from flake8_torchmp import source

from .mentions import Mentions
from .module import Module
from .reach import run_at_import

SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules", "site-packages", "dist-packages"))
MOST_BYTES = 100_000_000
"""Bytes of files that are held; of a larger project, the other files are read whenever they are asked for."""
MANY_FILES = 100_000
"""A folder with more files than this is no project: the index stops there."""
MOST_RENAMING = 80
"""A name that more files mention is not looked for under other names."""

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_NAMED_MODULE = re.compile(rb"[\"']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?::\w+)?[\"']")
"""What `importlib.import_module` may be given: `"tasks.parity"`, `"tasks.parity:Task"`."""
_IMPORTED_NAME = re.compile(rb"(\w+|\*)(?:[ \t]+as[ \t]+\w+)?[\s,)]*")
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
_STAR = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*\(?[ \t]*\*", re.MULTILINE)
_ALL = re.compile(rb"^__all__[^=\n]*=[ \t]*[\[(]([^\])+]*)[\])][ \t]*(?:#.*)?$", re.MULTILINE)
_SHALLOW = re.compile(rb"^(?: {0,4}|\t)[^\s#][^\n]*", re.MULTILINE)
_CHANGING = re.compile(rb"[.\[]|[-+*/%&|^@<>]{0,2}=(?!=)")
_COMMENT = re.compile(rb"#[^\n]*")


class Codebase:
    """What can be asked about the files below one root folder."""

    def __init__(
        self,
        root: str,
        source_roots: tuple[str, ...] = (),
        libraries: frozenset[str] = frozenset(),
        buffers: Mapping[str, bytes] | None = None,
    ) -> None:
        self.root = root
        self.source_roots = tuple(os.path.join(root, folder) for folder in source_roots)
        self.libraries = libraries | sys.stdlib_module_names
        """Top-level names that are never looked for in odd corners of the project."""
        self.buffers = dict(buffers or {})
        self.mentions = Mentions(self)
        self.loaded_bytes = 0
        self._modules: dict[str, Module | None] = {}
        self._given: dict[str, tuple[bytes, ast.Module]] = {}
        self._bytes: dict[str, bytes] = {}
        self._held_bytes = 0
        self._last_read = ("", b"")
        self._problems: dict[str, str] = {}
        self._sound: set[str] = set()
        """The files that could be parsed."""
        self._found: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._files: dict[str, None] | None = None
        self._folders: set[str] = set()
        self._tops: dict[str, list[str]] = {}
        self._imports: dict[str, tuple[str, ...]] = {}
        self._imports_at_once: dict[str, tuple[str, ...]] = {}
        self._imported_names: dict[str, dict[bytes, list[tuple[bytes, bytes]]]] = {}
        self._derived: dict[bytes, dict[str, frozenset[str]]] = {}
        self._names: dict[bytes, frozenset[str]] = {}
        self._matches: dict[tuple[str, bytes], bool] = {}
        self._uses: dict[tuple[str, str], frozenset[str]] = {}
        self._kinds_of_use: dict[frozenset[str], frozenset[str]] = {}
        """Each set of uses once: many files use many names, in few ways."""
        self._import_edges: dict[str, list[int]] = {}
        self._binds: dict[tuple[str, str], bool] = {}
        self._mentioning: dict[tuple[str, str], list[str]] = {}
        self._known_as: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._closures: dict[str, dict[str, int]] = {}
        self._starred: dict[str, tuple[str, ...]] = {}
        self._words: dict[str, frozenset[bytes]] = {}
        self._importers: dict[str, list[str]] | None = None
        self._callables: dict[bytes, list[str]] | None = None

    # files

    @property
    def files(self) -> list[str]:
        """Every Python file of the project, sorted."""
        if self._files is None:
            self._list_files()
        assert self._files is not None
        return list(self._files)

    def _list_files(self) -> None:
        files: list[str] = [path for path in self.buffers if path.endswith(".py")]
        seen_folders: set[str] = set()
        pending = [self.root]
        is_project = True
        while pending and len(files) < MANY_FILES:
            folder = pending.pop()
            real = os.path.realpath(folder)
            if real in seen_folders:
                continue
            seen_folders.add(real)
            try:
                with os.scandir(folder) as entries:
                    listed = list(entries)
            except OSError:
                continue
            names = {entry.name for entry in listed}
            is_marked = not names.isdisjoint(source.PROJECT_MARKS)
            if folder == self.root:
                is_project = is_marked
            if "pyvenv.cfg" in names or (is_marked and not is_project):
                continue  # a folder of projects is none itself
            self._folders.add(folder)
            for entry in listed:
                name = entry.name
                if name.endswith(".py"):
                    files.append(entry.path)
                elif not name.startswith(".") and name not in SKIPPED_FOLDERS and "." not in name:
                    try:
                        if entry.is_dir():
                            pending.append(entry.path)
                    except OSError:
                        continue
        self._files = dict.fromkeys(sorted(files))
        for path in self._files:
            folder, name = os.path.split(path)
            self._tops.setdefault(name[:-3], []).append(folder)
        for folder in sorted(self._folders):
            parent, name = os.path.split(folder)
            homes = self._tops.setdefault(name, [])
            if os.path.join(folder, "__init__.py") in self._files:
                homes.append(parent)

    def contains(self, path: str) -> bool:
        if self._files is None:
            self._list_files()
        assert self._files is not None
        return path in self._files

    def data(self, path: str) -> bytes:
        """The bytes of a file, or none where it cannot be read."""
        if path in self.buffers:
            return self.buffers[path]
        if path not in self._bytes:
            if self._last_read[0] == path:
                return self._last_read[1]
            try:
                data = source.read(path)
            except source.Unreadable as problem:
                data = b""
                self._problems[path] = str(problem)
            if self._held_bytes > MOST_BYTES:
                self._last_read = (path, data)
                return data
            self._bytes[path] = data
            self._held_bytes += len(data)
        return self._bytes[path]

    def problem(self, path: str, *, parses: bool) -> str:
        """Why a file cannot be read or, if it is to be parsed, parsed; or nothing."""
        if path not in self._problems:
            data = self.data(path)
            if parses and data and path not in self._problems and path not in self._sound:
                self._parse(path, data)  # its tree is not kept: nobody asked for it
        return self._problems.get(path, "")

    def forget(self) -> None:
        """Drops the parsed modules, to bound memory; they are read again when asked for."""
        for module in self._modules.values():
            if module is not None:
                module.take_apart()
        self._modules.clear()
        self.loaded_bytes = 0

    # modules

    def give(self, path: str, data: bytes, tree: ast.Module) -> None:
        """Hands over a tree that somebody parsed already."""
        if path not in self._modules:
            self._given[path] = (data, tree)

    def module(self, path: str) -> Module | None:
        if path not in self._modules:
            self._modules[path] = self._load(path)
        return self._modules[path]

    def _load(self, path: str) -> Module | None:
        if path in self._given:
            data, tree = self._given.pop(path)
        else:
            data = self.data(path)
            parsed = self._parse(path, data) if data else None
            if parsed is None:
                return None
            tree = parsed
        self._sound.add(path)
        self.loaded_bytes += len(data)
        name, is_package = self.name_of(path)
        return Module(path, name, tree, data, is_package)

    def _parse(self, path: str, data: bytes) -> ast.Module | None:
        """A file's tree; why there is none is remembered."""
        try:
            tree = source.parse(data, path)
        except source.Unreadable as problem:
            self._problems[path] = str(problem)
            return None
        self._sound.add(path)
        return tree

    def name_of(self, path: str) -> tuple[str, bool]:
        """The dotted name of a file, counted from above its topmost package."""
        folder, file = os.path.split(path)
        stem = file[:-3]
        is_package = stem == "__init__"
        parts = [] if is_package else [stem]
        while self.contains(os.path.join(folder, "__init__.py")) and folder != self.root:
            folder, name = os.path.split(folder)
            parts.append(name)
        if is_package and not parts:
            parts.append(os.path.basename(folder))
        return ".".join(reversed(parts)), is_package

    def package_root(self, path: str) -> str:
        """The folder above the topmost package that a file lies in."""
        folder = os.path.dirname(path)
        while self.contains(os.path.join(folder, "__init__.py")) and folder != self.root:
            folder = os.path.dirname(folder)
        return folder

    # imports

    def find(self, name: str, importer: str, level: int = 0) -> tuple[str, str] | None:
        """(dotted name, path) of a module of the project; the path of a namespace package is empty."""
        folder = os.path.dirname(importer)
        key = ("." * level + name, folder)
        if key not in self._found:
            self._found[key] = self._find(name, importer, folder, level)
        return self._found[key]

    def _find(self, name: str, importer: str, folder: str, level: int) -> tuple[str, str] | None:
        self.contains(importer)
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            if not name:
                return self._at(os.path.dirname(folder), os.path.basename(folder))
            return self._at(folder, name)
        top = name.partition(".")[0]
        namespace = None
        for candidate in self._search_folders(importer, folder, top):
            found = self._at(candidate, name)
            if found is not None and found[1]:
                return found
            namespace = namespace or found
        return None if top in self.libraries else namespace

    def _search_folders(self, importer: str, folder: str, top: str) -> Iterator[str]:
        yield from self.source_roots
        yield self.package_root(importer)
        if top in self.libraries and top not in self._tops:
            return
        is_foreign = top in self.libraries or top in sys.stdlib_module_names
        inner, above = folder, [folder]
        while True:
            if not (is_foreign and os.path.join(inner, "__init__.py") in (self._files or ())):
                yield inner  # in a package, `import queue` is never the module beside it
            if inner == self.root or not inner.startswith(self.root + os.sep):
                break
            inner = os.path.dirname(inner)
            above.append(inner)
        for inner in reversed(above):  # what programs put on `sys.path` before they import
            for name in ("src", "lib", "python"):
                yield os.path.join(inner, name)
        homes = self._tops.get(top, ())
        if len(homes) == 1 and not is_foreign:
            yield homes[0]

    def _at(self, folder: str, name: str) -> tuple[str, str] | None:
        base = os.path.join(folder, *name.split("."))
        for path in (base + ".py", os.path.join(base, "__init__.py")):
            if self.contains(path):
                return name, path
        if base in self._folders and base != self.root:
            return name, ""
        return None

    def submodule(self, package: str, name: str) -> tuple[str, str] | None:
        """The module `name` of the package whose `__init__` is at a path."""
        return self._at(os.path.dirname(package), name)

    def imports(self, path: str) -> tuple[str, ...]:
        """The files of the project that a file imports, by a scan of its bytes."""
        if path not in self._imports:
            data = self.data(path)
            named = _NAMED_MODULE.findall(data) if b"import_module" in data else ()
            found = [*self._scan_imports(path, data), *(p for name in named for p in self._along(name.decode(), path))]
            self._imports[path] = tuple(dict.fromkeys(found))
        return self._imports[path]

    def imports_at_once(self, path: str) -> tuple[str, ...]:
        """Those of them that importing the file runs."""
        if path not in self._imports_at_once:
            found = self._scan_imports(path, run_at_import(self.data(path)))
            self._imports_at_once[path] = tuple(dict.fromkeys(found))
        return self._imports_at_once[path]

    def _scan_imports(self, path: str, data: bytes) -> Iterator[str]:
        for origin, names, plain in _IMPORT.findall(data):
            if plain:
                for part in plain.split(b","):
                    words = part.split()
                    if words:
                        yield from self._along(words[0].decode("ascii", "replace"), path)
                continue
            text = origin.decode("ascii", "replace")
            module = text.lstrip(".")
            level = len(text) - len(module)
            found = self.find(module, path, level)
            if found is None:
                continue
            if found[1]:
                yield found[1]
            if not level:
                yield from self._along(module, path)
            if not found[1] or found[1].endswith("__init__.py"):
                listed = _COMMENT.sub(b"", names).lstrip(b"(")
                prefix = f"{module}." if module else ""
                for name in _IMPORTED_NAME.findall(listed):
                    inner = self.find(prefix + name.decode("ascii", "replace"), path, level)
                    if inner is not None and inner[1]:
                        yield inner[1]

    def _along(self, name: str, path: str) -> Iterator[str]:
        """A dotted import runs every package on the way."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            found = self.find(".".join(parts[:count]), path)
            if found is not None and found[1]:
                yield found[1]

    def imported_names(self, path: str) -> dict[bytes, list[tuple[bytes, bytes]]]:
        """The names that import statements of a file bring, going by its bytes: each with its origin and name there."""
        if path not in self._imported_names:
            found = self._imported_names[path] = {}
            for origin, names, plain in _IMPORT.findall(self.data(path)):
                for part in _COMMENT.sub(b"", names or plain).strip(b"() \t").split(b","):
                    words = part.split()
                    if not words:
                        continue
                    local = words[-1] if origin or len(words) > 1 else words[0].partition(b".")[0]
                    found.setdefault(local, []).append((origin, words[0]) if origin else (words[0], b""))
        return self._imported_names[path]

    def may_offer(self, path: str, name: str) -> bool:
        """Whether a star import of a file can bring a name, going by its bytes and those of what it stars itself."""
        if path not in self._starred:
            self._starred[path] = tuple(self._all_stars(path))
        if path.endswith("__init__.py") and self.submodule(path, name) is not None:
            return True
        word = name.encode()
        return any(word in self._shallow_words(other) for other in self._starred[path])

    def _all_stars(self, path: str) -> list[str]:
        found = [path]
        for current in found:
            found += [other for other in self._stars(current) if other not in found]
        return found

    def _stars(self, path: str) -> Iterator[str]:
        for origin in _STAR.findall(self.data(path)):
            module = origin.decode("ascii", "replace").lstrip(".")
            found = self.find(module, path, len(origin) - len(module))
            if found is not None and found[1]:
                yield found[1]

    def _shallow_words(self, path: str) -> frozenset[bytes]:
        """The words of `__all__`; without one, of imports and of what stands at module level, perhaps in a block."""
        if path not in self._words:
            data = self.data(path)
            listed = _ALL.findall(data)
            if len(listed) == 1 == data.count(b"__all__"):
                self._words[path] = frozenset(_WORD.findall(listed[0]))
                return self._words[path]
            lines = [match[0] for match in _IMPORT.finditer(data)]
            lines += _SHALLOW.findall(data)
            self._words[path] = frozenset(_WORD.findall(b"\n".join(lines)))
        return self._words[path]

    def importers(self, path: str) -> list[str]:
        """The files of the project that import a file."""
        if self._importers is None:
            self._importers = {}
            for file in self.files:
                for imported in self.imports(file):
                    if imported != file:
                        self._importers.setdefault(imported, []).append(file)
        return self._importers.get(path, [])

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

    def without_imports(self, path: str) -> bytes:
        """A file's bytes, its import statements left out."""
        return _IMPORT.sub(b"", self.data(path))

    def binds(self, path: str, name: str) -> bool:
        """Whether a file gives something a name by assignment or by renaming an import, going by its bytes."""
        key = (path, name)
        if key not in self._binds:
            data, word = self.data(path), name.encode()
            self._binds[key] = any(_is_bound(data, place, place + len(word)) for place in source.places(word, data))
        return self._binds[key]

    def matches(self, path: str, pattern: re.Pattern[bytes] | source.Words) -> bool:
        """Whether a file's bytes hold something."""
        key = (path, pattern.pattern)
        if key not in self._matches:
            self._matches[key] = pattern.search(self.data(path)) is not None
        return self._matches[key]

    def uses(self, path: str, name: str) -> frozenset[str]:
        """What a file does with a name, going by its bytes: it may be called, derived from, renamed, changed, given."""
        key = (path, name)
        if key not in self._uses:
            found = frozenset(self._find_uses(path, name.encode()))
            self._uses[key] = self._kinds_of_use.setdefault(found, found)
        return self._uses[key]

    def reads(self, path: str, name: str) -> bool:
        """Whether a file may do more with a name than import or define it."""
        return not self.uses(path, name).isdisjoint(("called", "given"))

    def loads(self, name: str, paths: Iterable[str]) -> Iterator[ast.expr]:
        """Where some files read a name or attribute."""
        for path in paths:
            module = self.module(path) if self.reads(path, name) else None
            yield from module.loads(name) if module is not None else ()

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
            holder = before.rfind(b"class ")
            if holder >= 0 and b":" not in before[holder:]:
                yield "derived"

    def _may_be_read(self, path: str, place: int, length: int) -> bool:
        """Whether a word stands neither in an import statement nor alone in quotes."""
        data = self.data(path)
        before = data[place - 1 : place]
        if before in (b'"', b"'") and data[place + length : place + length + 1] == before:
            return False
        if path not in self._import_edges:
            self._import_edges[path] = [edge for match in _IMPORT.finditer(data) for edge in match.span()]
        return bisect_right(self._import_edges[path], place) % 2 == 0

    def mentioning(self, name: str, path: str) -> list[str]:
        """The files that may use a name defined in a file: it, and those that import it, also by way of others."""
        key = (name, path)
        if key not in self._mentioning:
            self._mentioning[key] = self._find_mentions(name, path)
        return self._mentioning[key]

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

    def _find_mentions(self, name: str, path: str) -> list[str]:
        plain = name.encode()
        found: dict[str, None] = {path: None}
        visited = {path}
        pending = [(path, True)]
        while pending:
            current, direct = pending.pop(0)
            for importer in self.importers(current):
                if importer in visited:
                    continue
                visited.add(importer)
                data = self.data(importer)
                mentions = next(source.places(plain, data), None) is not None
                if mentions:
                    found[importer] = None
                if mentions or direct or importer.endswith("__init__.py"):
                    pending.append((importer, mentions))
        return [path, *sorted(set(found) - {path})]

    def reachable(self, paths: list[str]) -> list[str]:
        """Some files and all that they import, directly or not."""
        return self._closure(paths, "imports", self.imports)

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

    def users(self, paths: list[str]) -> list[str]:
        """Some files and all that import them, directly or not."""
        return self._closure(paths, "importers", self.importers)

    def _closure(self, paths: list[str], name: str, step: Callable[[str], Sequence[str]]) -> list[str]:
        if name not in self._closures:
            self._closures[name] = _closed({path: step(path) for path in self.files})
        masks = self._closures[name]
        mask = 0
        for path in paths:
            mask |= masks.get(path, 0)
        found = [path for path, bit in zip(masks, bin(mask)[:1:-1], strict=False) if bit == "1"]
        outside = [path for path in paths if path not in masks]
        return sorted({*found, *outside}) if outside else found


def _is_bound(data: bytes, start: int, end: int) -> bool:
    """Whether a word begins a line and is assigned to, or stands behind `as`."""
    before = data[data.rfind(b"\n", 0, start) + 1 : start].split()
    return before[-1] == b"as" if before else data[end : end + 80].lstrip(b" \t")[:1] in (b":", b"=")


def _closed(graph: dict[str, Sequence[str]]) -> dict[str, int]:
    """For each node of a graph the nodes that it leads to, itself included: bits in the order of the graph."""
    bits = {node: 1 << index for index, node in enumerate(graph)}
    masks = dict(bits)
    changed = True
    while changed:
        changed = False
        for node, following in graph.items():
            mask = masks[node]
            for other in following:
                mask |= masks.get(other, 0)
            if mask != masks[node]:
                masks[node] = mask
                changed = True
    return masks
