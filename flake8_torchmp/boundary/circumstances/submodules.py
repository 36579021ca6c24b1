"""multiprocessing's submodules: which of them are there as attributes, and what else than an import brings them.

Learned by importing each module and making each object alone, under Python 3.11 to 3.14 and torch 2.13, and asking
which attributes `multiprocessing` had then.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import caught_around, conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, last_name, position, up
from flake8_torchmp.semantics.values import External

SUBMODULES = (
    "connection dummy forkserver heap managers pool popen_fork popen_forkserver popen_spawn_posix popen_spawn_win32 "
    "queues resource_sharer resource_tracker shared_memory sharedctypes spawn synchronize util"
).split()
"""`context`, `process` and `reduction` are always there."""

ONLY_IN_MULTIPROCESSING = frozenset((*SUBMODULES, "context", "process", "reduction")) - {"spawn"}
"""torch.multiprocessing offers the functions and classes, none of the modules; its `spawn` is a function."""

BROUGHT_BY_IMPORT = {
    **dict.fromkeys(
        "torch torchvision torchaudio torchdata torch_geometric webdataset accelerate lightning pytorch_lightning "
        "monai timm".split(),
        "connection resource_sharer resource_tracker spawn util",
    ),
    "torchdata.nodes": "synchronize",
    "concurrent.futures.process": "connection queues util",
    "multiprocessing.pool": "connection util",
    "multiprocessing.managers": "connection pool resource_tracker shared_memory spawn util",
    "multiprocessing.shared_memory": "resource_tracker spawn util",
    "multiprocessing.queues": "connection util",
    "multiprocessing.synchronize": "util",
    "multiprocessing.sharedctypes": "heap util",
    "multiprocessing.connection": "util",
    "multiprocessing.heap": "util",
    "multiprocessing.spawn": "util",
    "multiprocessing.resource_sharer": "util",
    "multiprocessing.resource_tracker": "spawn util",
    "multiprocessing.forkserver": "connection resource_tracker spawn util",
    "multiprocessing.popen_fork": "util",
    "multiprocessing.popen_spawn_posix": "popen_fork spawn util",
    **dict.fromkeys(("joblib", "sklearn"), "connection pool queues resource_tracker spawn synchronize util"),
    "tensorflow": "connection pool util",
}
BROUGHT_BY_CALL = {
    "Pool": "connection pool popen_fork popen_spawn_posix queues resource_tracker spawn synchronize util",
    "Manager": "connection managers pool popen_fork popen_spawn_posix resource_tracker shared_memory spawn util",
    "SyncManager": "connection managers pool resource_tracker shared_memory spawn util",
    "ProcessPoolExecutor": "connection queues synchronize resource_tracker spawn util",
    "Queue": "connection queues resource_tracker spawn synchronize util",
    "JoinableQueue": "connection queues resource_tracker spawn synchronize util",
    "SimpleQueue": "connection queues resource_tracker spawn synchronize util",
    "Pipe": "connection util",
    "Process": "popen_fork popen_spawn_posix resource_tracker spawn util",
    "get_logger": "util",
    "log_to_stderr": "util",
    **dict.fromkeys(
        "Lock RLock Semaphore BoundedSemaphore Condition Event Barrier".split(),
        "resource_tracker spawn synchronize util",
    ),
    **dict.fromkeys(
        "Value Array RawValue RawArray".split(), "heap resource_tracker sharedctypes spawn synchronize util"
    ),
}

OTHER_LIBRARIES = frozenset("asyncio builtins ctypes queue threading".split())
"""They have classes of the same names, and bring nothing."""

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


_USED = re.compile(rb"\.[ \t]*(" + "|".join(sorted(ONLY_IN_MULTIPROCESSING | {"spawn"})).encode() + rb")\b")


class MissingSubmodule(NamedTuple):
    node: ast.Attribute
    owner: str
    """multiprocessing or torch.multiprocessing"""
    name: str


def missing_submodules(module: Module, evaluator: Evaluator) -> Iterator[MissingSubmodule]:
    """The submodules that a module uses as attributes although nothing that is seen has imported them."""
    for name in sorted({found.decode() for found in _USED.findall(module.data)}):
        for node, place in _uses(name, module):
            values = evaluator.values(node.value, evaluator.frame_at(place, module))
            owner = values[0].name if len(values) == 1 and isinstance(values[0], External) else ""
            known = SUBMODULES if owner == "multiprocessing" else ONLY_IN_MULTIPROCESSING
            if owner not in ("multiprocessing", "torch.multiprocessing") or name not in known:
                continue
            if "AttributeError" in caught_around(place) or _is_asked_for(place, name):
                continue
            if not _is_there(owner, name, place, module, evaluator):
                yield MissingSubmodule(node, owner, name)


def _uses(name: str, module: Module) -> Iterator[tuple[ast.Attribute, ast.AST]]:
    """Where an attribute is read, and what tells when: itself, or the function whose annotation it is part of."""
    defers = any(binding.kind == "from" for binding in module.scope.bindings.get("annotations", ()))
    for node in module.loads(name):
        if isinstance(node, ast.Attribute) and not _is_for_type_checkers(node):
            holder = _annotated(node)
            if holder is None or not (defers or module.scope_of(holder).is_function):
                yield node, node
    for function in module.functions if not defers else ():
        if isinstance(function, ast.Lambda) or _is_for_type_checkers(function):
            continue
        arguments = function.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for annotation in (*(item.annotation for item in parameters if item is not None), function.returns):
            for part in ast.walk(annotation) if annotation is not None else ():
                if isinstance(part, ast.Attribute) and part.attr == name:
                    yield part, function


def _annotated(node: ast.AST) -> ast.AST | None:
    """The assignment whose annotation an expression is part of."""
    child: ast.AST = node
    for parent in ancestors(node):
        if isinstance(parent, ast.AnnAssign):
            return parent if child is parent.annotation else None
        child = parent
    return None


def _is_there(owner: str, name: str, node: ast.AST, module: Module, evaluator: Evaluator) -> bool:
    """Whether an import or a call may have brought it; one in another file may have run before."""
    codebase = evaluator.codebase
    others = [path for path in codebase.reachable(codebase.users([module.path])) if path != module.path]
    full = f"{owner}.{name}"
    brought = {
        known for known, names in BROUGHT_BY_IMPORT.items() if owner == "multiprocessing" and name in names.split()
    }
    imports = _imported_by(module)
    for path in others:
        imports |= _imported_in(codebase.data(path))
    if not (brought | {full}).isdisjoint(_with_packages(imports)) or f'"{full}"'.encode() in module.data:
        return True
    calls = [call for call, names in BROUGHT_BY_CALL.items() if name in names.split()]
    if owner != "multiprocessing" or not calls:
        return False
    if _runs_at_import(node):
        made = [found for call in calls for found in module.calls_of(call)]
        return any(_runs_at_import(found) and position(found) < position(node) for found in made)
    if any(_may_bring(call, name, module, evaluator) for found in calls for call in module.calls_of(found)):
        return True
    pattern = re.compile(rb"(?<!" + name.encode() + rb"\.)\b(?:" + "|".join(calls).encode() + rb")\s*\(")
    return any(pattern.search(codebase.data(path)) is not None for path in others)


def _may_bring(call: ast.Call, name: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether a call is not by way of the submodule itself, and not known to be another library's."""
    if isinstance(call.func, ast.Attribute) and last_name(call.func.value) == name:
        return False
    values = evaluator.values(call.func, evaluator.frame_at(call, module))
    others = [v for v in values if isinstance(v, External) and v.name.partition(".")[0] in OTHER_LIBRARIES]
    return not others or len(others) < len(values)


def _imported_by(module: Module) -> set[str]:
    """The qualified names that a module's own imports load, those for type checkers alone left out."""
    found: set[str] = set()
    for scope in module.scopes.values():
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.kind not in ("import", "from") or _is_for_type_checkers(binding.node):
                    continue
                origin: Any = up(binding.node)
                prefix = f"{origin.module or ''}." if binding.kind == "from" else ""
                found.add(prefix + getattr(binding.node, "name", ""))
        found |= {f"{star.module}.*" for star in scope.star_imports}
    return found


def _imported_in(data: bytes) -> set[str]:
    """The same of another file, by its text."""
    found: set[str] = set()
    for origin, names, plain in _IMPORT.findall(data):
        for name in (plain or names.strip(b"()")).split(b","):
            first = name.split()[:1]
            if first:
                found.add((origin + b"." if origin else b"").decode() + first[0].decode("utf-8", "replace"))
    return found


def _with_packages(names: set[str]) -> set[str]:
    """Importing `a.b.c` imports `a` and `a.b`, too."""
    found = set(names)
    for name in names:
        while "." in name:
            name = name.rpartition(".")[0]
            found.add(name)
    return found


def _is_for_type_checkers(node: ast.AST) -> bool:
    return any(condition.holds and last_name(condition.test) == "TYPE_CHECKING" for condition in conditions(node))


def _is_asked_for(node: ast.AST, name: str) -> bool:
    """`if hasattr(multiprocessing, "shared_memory"):`"""
    return any(
        isinstance(part, ast.Constant) and part.value == name
        for condition in conditions(node)
        for part in ast.walk(condition.test)
    )


def _runs_at_import(node: ast.AST) -> bool:
    """Whether it is evaluated where it stands, in no function's body."""
    child: ast.AST = node
    for parent in ancestors(node):
        if isinstance(parent, FUNCTIONS) and (isinstance(parent, ast.Lambda) or child in parent.body):
            return False
        child = parent
    return True
