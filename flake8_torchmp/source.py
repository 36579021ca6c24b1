"""Bytes and text: reading, decoding, parsing and writing Python source, and where a project begins."""

from __future__ import annotations

import ast
import codecs
import contextlib
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"[ \t\f]*(?:[#\r\n]|$)")


PROJECT_MARKS = frozenset((".git", "pyproject.toml", "setup.cfg"))
"""Where one of these lies, a project begins."""


class Words:
    """A pattern of which one of some literals is always a part: to look for those first is much quicker."""

    def __init__(self, pattern: bytes, literals: list[bytes], pairs: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.pattern = pattern
        self.literals = literals
        self.pairs = pairs
        """Words that count where both stand."""
        self._search = re.compile(pattern).search

    def search(self, data: bytes) -> object:
        """What was found, or None; only around the literals is the pattern tried."""
        for literal in self.literals:
            place = data.find(literal)
            while place >= 0:
                match = self._search(data, max(0, place - _LONGEST_WORD), place + _LONGEST_WORD)
                if match is not None:
                    return match
                place = data.find(literal, place + 1)
        return next((pair for pair in self.pairs if pair[0] in data and pair[1] in data), None)


def any_of(*parts: Words, pairs: Sequence[tuple[bytes, bytes]] = ()) -> Words:
    return Words(
        b"|".join(part.pattern for part in parts),
        [literal for part in parts for literal in part.literals],
        [*pairs, *(pair for part in parts for pair in part.pairs)],
    )


def places(word: bytes, data: bytes) -> Iterator[int]:
    """Where a whole word stands: regular expressions that begin with a word's border are slow."""
    place = data.find(word)
    while place >= 0:
        end = place + len(word)
        if data[place - 1 : place] not in _WORD_BYTES and data[end : end + 1] not in _WORD_BYTES:
            yield place
        place = data.find(word, end)


def words(data: bytes) -> set[bytes]:
    """The whole words of a file."""
    return set(data.translate(_WORDS_ALONE).split())


_LONGEST_WORD = 40
_WORD_BYTES = frozenset(bytes([code]) for code in range(256) if bytes([code]).isalnum() or code == 0x5F)
_WORDS_ALONE = bytes(code if bytes([code]) in _WORD_BYTES else 0x20 for code in range(256))


class Unreadable(Exception):  # noqa: N818 - it is the file that is at fault, not the program
    """A file that cannot be read, decoded or parsed; its text is one line that says why."""


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(error.strerror or type(error).__name__) from None
    except ValueError as error:  # a null character in the path
        raise Unreadable(str(error)) from None


def encoding(data: bytes) -> str:
    """The encoding that the file declares (PEP 263, byte-order mark); UTF-8 where it declares none."""
    marked = data.startswith(codecs.BOM_UTF8)
    declared = _declared(data[3:] if marked else data)
    if not declared:
        return "utf-8-sig" if marked else "utf-8"
    try:
        codec = codecs.lookup(declared)
    except LookupError:
        raise Unreadable(f"unknown encoding: {declared}") from None
    if marked and codec.name not in ("utf-8", "utf-8-sig"):
        raise Unreadable(f"declared as {declared}, but begins with the byte-order mark of UTF-8")
    return "utf-8-sig" if marked else codec.name


def _declared(data: bytes) -> str:
    start = 0
    for _ in range(2):
        end = data.find(b"\n", start)
        line = data[start:] if end < 0 else data[start:end]
        found = _COOKIE.match(line)
        if found:
            return found[1].decode("ascii", "replace")
        if end < 0 or not _BLANK.match(line):
            return ""
        start = end + 1
    return ""


def decode(data: bytes) -> str:
    """The text, without a byte-order mark and with `\\n` as its only line end, as `ast` counts its lines."""
    name = encoding(data)
    try:
        text = data.decode(name)
    except UnicodeError as error:
        raise Unreadable(f"cannot be decoded: {_one_line(error)}") from None
    except (LookupError, AttributeError, TypeError):  # rot13, hex: codecs, but not of text
        raise Unreadable(f"{name} is no text encoding") from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def encode(text: str) -> bytes:
    """The bytes of a text that was decoded elsewhere (an editor's buffer, flake8's lines), as its cookie declares."""
    data = text.encode("utf-8", "replace")
    try:
        name = encoding(data)
        return data if name in ("utf-8", "utf-8-sig") else text.encode(name, "replace")
    except (Unreadable, LookupError, UnicodeError):
        return data


def parse(data: bytes, path: str) -> ast.Module:
    """The tree; what Python itself would refuse to compile is Unreadable. Python's warnings are not ours to show."""
    if b"\0" in data:  # before 3.12 Python says less clearly what is wrong
        raise Unreadable("cannot be parsed: it contains null bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data, path)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.lineno else ""
        raise Unreadable(f"cannot be parsed: {place}{_one_line(error.msg)}") from None
    except (RecursionError, MemoryError):
        raise Unreadable("cannot be parsed: nested too deeply") from None
    except (ValueError, LookupError, OverflowError) as error:
        raise Unreadable(f"cannot be parsed: {_one_line(error)}") from None


def _one_line(problem: object) -> str:
    return " ".join(str(problem).split())


def lines_of(text: str) -> list[str]:
    """The lines as `ast` numbers them: a form feed or U+2028 ends no line, as it would for str.splitlines."""
    return text.split("\n")


def character_column(line: str, byte_column: int) -> int:
    """The column in characters of a column in UTF-8 bytes, which is what `ast` counts."""
    if line.isascii():
        return byte_column
    return len(line.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "replace"))


def project_root(path: str) -> Path:
    """The folder of the project that a file belongs to.

    It holds `.git`; else pyproject.toml or setup.cfg; else it is the current folder, if the file is below it;
    else the folder above the topmost package that the file is in.
    """
    return Path(root_of_folder(os.path.dirname(os.path.abspath(path)), os.getcwd()))


def root_of_folder(folder: str, current: str) -> str:
    marked = _nearest(folder, (".git",)) or _nearest(folder, ("pyproject.toml", "setup.cfg"))
    if marked:
        return marked
    if folder == current or folder.startswith(current.rstrip(os.sep) + os.sep):
        return current
    return next((above for above in _upwards(folder) if not os.path.exists(os.path.join(above, "__init__.py"))), folder)


@cache
def _nearest(folder: str, names: tuple[str, ...]) -> str:
    """The folder, or its nearest ancestor, that holds one of the names; an empty text where none does."""
    if any(os.path.exists(os.path.join(folder, name)) for name in names):
        return folder
    parent = os.path.dirname(folder)
    return "" if parent == folder else _nearest(parent, names)


def _upwards(folder: str) -> list[str]:
    ancestors = [folder]
    while (parent := os.path.dirname(ancestors[-1])) != ancestors[-1]:
        ancestors.append(parent)
    return ancestors


def folders_up_to_root(folder: str) -> list[str]:
    """The folder and its ancestors, up to the root of its project."""
    root = root_of_folder(folder, os.getcwd())
    ancestors = _upwards(folder)
    return ancestors[: ancestors.index(root) + 1] if root in ancestors else [folder]


def write_atomically(path: str, data: bytes) -> None:
    """Replaces a file in one step; it keeps its mode, and a link goes on pointing to it."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or device, such as /dev/null, must stay one
        with open(target, "wb") as file:
            file.write(data)
        return
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(8).hex()}")
    try:  # from before there is a file, so that an interruption at any moment leaves none behind
        with open(temporary, "xb", opener=_private) as file:
            file.write(data)
        os.chmod(temporary, _mode_for(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):  # it has taken its place already, or never was
            os.unlink(temporary)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _mode_for(path: str) -> int:
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)  # it can only be read by setting it
        os.umask(mask)
        return 0o666 & ~mask
