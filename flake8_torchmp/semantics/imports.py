"""Who imports whom in a project, by a scan of the bytes of its files."""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from .files import Extent, Files
from .reach import run_at_import

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_NAMED_MODULE = re.compile(rb"[\"']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?::\w+)?[\"']")
"""What `importlib.import_module` may be given: `"tasks.parity"`, `"tasks.parity:Task"`."""
_IMPORTED_NAME = re.compile(rb"(\w+|\*)(?:[ \t]+as[ \t]+\w+)?[\s,)]*")
_STAR = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*\(?[ \t]*\*", re.MULTILINE)
_ALL = re.compile(rb"^__all__[^=\n]*=[ \t]*[\[(]([^\])+]*)[\])][ \t]*(?:#.*)?$", re.MULTILINE)
_SHALLOW = re.compile(rb"^(?: {0,4}|\t)[^\s#][^\n]*", re.MULTILINE)
_WORD = re.compile(rb"\w+")
_COMMENT = re.compile(rb"#[^\n]*")


class Imports(Files):
    """What can be asked about the import statements of a project."""

    def __init__(self, extent: Extent) -> None:
        super().__init__(extent)
        self.source_roots = tuple(os.path.join(extent.root, folder) for folder in extent.source_roots)
        self.libraries = extent.libraries | sys.stdlib_module_names
        self.popular = extent.popular
        self._found: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._imports: dict[str, tuple[str, ...]] = {}
        self._imports_at_once: dict[str, tuple[str, ...]] = {}
        self._imported_names: dict[str, dict[bytes, list[tuple[bytes, bytes]]]] = {}
        self._import_edges: dict[str, list[int]] = {}
        self._starred: dict[str, tuple[str, ...]] = {}
        self._shallow: dict[str, frozenset[bytes]] = {}
        self._importers: dict[str, list[str]] | None = None
        self._closures: dict[str, dict[str, int]] = {}

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
        if len(homes) != 1 or is_foreign or (top in self.popular and self._is_part_of_package(homes[0], folder)):
            return
        yield homes[0]

    def _is_part_of_package(self, home: str, folder: str) -> bool:
        """Whether a module there is its package's alone: no file beside the importer changes where Python looks."""
        if not self.contains(os.path.join(home, "__init__.py")):
            return False
        return not any(b"sys.path" in self.data(path) for path in self.files if os.path.dirname(path) == folder)

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

    def without_imports(self, path: str) -> bytes:
        """A file's bytes, its import statements left out."""
        return _IMPORT.sub(b"", self.data(path))

    def is_in_import(self, place: int, path: str) -> bool:
        """Whether a place among the bytes of a file is in an import statement."""
        if path not in self._import_edges:
            statements = _IMPORT.finditer(self.data(path))
            self._import_edges[path] = [edge for statement in statements for edge in statement.span()]
        return bisect_right(self._import_edges[path], place) % 2 == 1

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
        if path not in self._shallow:
            data = self.data(path)
            listed = _ALL.findall(data)
            if len(listed) == 1 == data.count(b"__all__"):
                self._shallow[path] = frozenset(_WORD.findall(listed[0]))
                return self._shallow[path]
            lines = [match[0] for match in _IMPORT.finditer(data)]
            lines += _SHALLOW.findall(data)
            self._shallow[path] = frozenset(_WORD.findall(b"\n".join(lines)))
        return self._shallow[path]

    def importers(self, path: str) -> list[str]:
        """The files of the project that import a file."""
        if self._importers is None:
            self._importers = {}
            for file in self.files:
                for imported in self.imports(file):
                    if imported != file:
                        self._importers.setdefault(imported, []).append(file)
        return self._importers.get(path, [])

    def reachable(self, paths: list[str]) -> list[str]:
        """Some files and all that they import, directly or not."""
        return self._closure(paths, "imports", self.imports)

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
