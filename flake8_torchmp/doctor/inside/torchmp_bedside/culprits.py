"""Finds everything that pickle refuses, in one run, with the way to it.

The pickler of C stops at the first refusal. This one goes on: what cannot be written is noted, unless something inside
of it was, and left out.
"""

from __future__ import annotations

import inspect
import io
import pickle
from types import ModuleType
from typing import Any

from .tracebacks import is_foreign

MOST = 20


class Culprit:
    def __init__(self, way: str, thing: Any, error: BaseException, owners: list[Any]) -> None:
        self.way = way
        self.thing = thing
        self.error = error
        self.owners = owners
        """The objects around it, the nearest last."""

    def described(self) -> dict[str, object]:
        path, line, source = _place(self.thing)
        if not path:
            path, line, source = _assignment(self.owners, self.way)
        return {
            "way": self.way,
            "what": _what(self.thing),
            "kind": _kind(self.thing),
            "error": f"{type(self.error).__name__}: {str(self.error)[:300]}",
            "path": path,
            "line": line,
            "source": source,
        }


def culprits(root: Any, name: str) -> list[Culprit]:
    pickler = _Tolerant(name)
    pickler.dump(root)
    return pickler.found


class _Tolerant(pickle._Pickler):
    def __init__(self, name: str) -> None:
        from multiprocessing.reduction import ForkingPickler

        super().__init__(io.BytesIO(), pickle.HIGHEST_PROTOCOL)
        self.dispatch_table = ForkingPickler(io.BytesIO()).dispatch_table
        self.found: list[Culprit] = []
        self._name = name
        self._around: list[Any] = []
        self._refused: set[int] = set()

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        known = len(self.found)
        if id(obj) in self._refused or known >= MOST:
            return None
        self._around.append(obj)
        try:
            return super().save(obj, save_persistent_id)  # type: ignore[misc]
        except Exception as error:
            self._refused.add(id(obj))
            if len(self.found) == known and not isinstance(error, RecursionError):
                way = _way(self._name, self._around)
                owners = [one for one in self._around[:-1] if not isinstance(one, dict | list | tuple | set | str)]
                self.found.append(Culprit(way, obj, error, owners))
            return None
        finally:
            self._around.pop()


def _way(name: str, around: list[Any]) -> str:
    """`dataset.transform.transforms[1]`, from the objects that were being written."""
    way = name
    for position in range(1, len(around)):
        owner, inner = around[position - 1], around[position]
        if isinstance(owner, dict):
            key = next((key for key, value in owner.items() if value is inner), None)
            is_state = position > 1 and not isinstance(around[position - 2], dict | list | tuple | set)
            way += f".{key}" if is_state and isinstance(key, str) else f"[{key!r}]"
        elif isinstance(owner, list | tuple):
            if isinstance(owner, tuple) and position > 1 and not isinstance(around[position - 2], dict | list | tuple):
                continue  # the arguments with which an object is made anew
            where = next((number for number, value in enumerate(owner) if value is inner), None)
            way += f"[{where}]"
        elif inner is getattr(owner, "func", way):
            way += ".func"
        elif inner is getattr(owner, "__self__", way):
            way += ".__self__"
    return way


def _what(thing: Any) -> str:
    if inspect.isfunction(thing):
        return "lambda" if thing.__name__ == "<lambda>" else f"function {thing.__qualname__}"
    if isinstance(thing, type):
        return f"class {thing.__qualname__}"
    if isinstance(thing, ModuleType):
        return f"module {thing.__name__}"
    kind = type(thing)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    path = getattr(thing, "name", None)
    return f"{name} ({path})" if isinstance(path, str) and kind.__module__ in ("_io", "tempfile") else name


def _kind(thing: Any) -> str:
    """In one word: function, lock, file, socket, or something else."""
    module, name = type(thing).__module__, type(thing).__name__.lower()
    if inspect.isroutine(thing) or isinstance(thing, type):
        return "function"
    if any(word in name for word in ("lock", "condition", "event", "semaphore", "barrier", "_local")):
        return "lock"
    if "socket" in module or "socket" in name or "client" in name:
        return "socket"
    if module.split(".")[0] in ("_io", "io", "tempfile", "h5py", "sqlite3", "lmdb", "mmap", "zipfile", "tarfile"):
        return "file"
    return "other"


def _place(thing: Any) -> tuple[str, int, str]:
    """Where a function or a class of the user's is written."""
    try:
        target = inspect.unwrap(thing) if callable(thing) else type(thing)
        if not (inspect.isfunction(target) or isinstance(target, type)):
            target = type(thing)
        path = inspect.getsourcefile(target) or ""
        if not path or is_foreign(path):
            return "", 0, ""
        lines, line = inspect.getsourcelines(target)
    except (TypeError, OSError, ValueError):
        return "", 0, ""
    return path, max(line, 1), lines[0].strip()


def _assignment(owners: list[Any], way: str) -> tuple[str, int, str]:
    """Where the nearest of the user's objects gets the attribute that leads to it."""
    import ast
    import re

    attributes = re.findall(r"\.([A-Za-z_]\w*)", way)
    for owner in reversed(owners):
        for kind in type(owner).__mro__:
            path, first, _ = _place(kind)
            if not path:
                continue
            try:
                lines = inspect.getsourcelines(kind)[0]
                tree = ast.parse(inspect.cleandoc("\n" + "".join(lines)) if lines[0][0] in " \t" else "".join(lines))
            except (OSError, TypeError, SyntaxError):
                continue
            for node in ast.walk(tree):
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                if any(isinstance(one, ast.Attribute) and one.attr in attributes[-2:] for one in targets):
                    line = getattr(node, "lineno", 1)
                    return path, first + line - 1, lines[line - 1].strip()
            return path, first, lines[0].strip()
    return "", 0, ""
