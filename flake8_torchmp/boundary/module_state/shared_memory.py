"""Globals whose memory processes share: arrays and values of multiprocessing, and views of them."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.tables.apis import bare
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import statement_of
from flake8_torchmp.semantics.values import Member, Result, Value

from .state import State

SHARED = frozenset("Value Array RawValue RawArray".split())
_SUBMODULES = ("sharedctypes.", "shared_memory.")
VIEWS = {
    "numpy.frombuffer": (0, "buffer"),
    "numpy.ctypeslib.as_array": (0, "obj"),
    "numpy.asarray": (0, "a"),
    "numpy.ndarray": (2, "buffer"),
    "torch.frombuffer": (0, "buffer"),
    "torch.from_numpy": (0, "ndarray"),
    "torch.as_tensor": (0, "data"),
}
"""What makes a view of memory that it is given, with the place and the name of that argument."""
SAME_MEMORY = frozenset("get_obj reshape view squeeze ravel cast buf share_memory_".split())
DEEPEST = 5


def shares_memory(evaluator: Evaluator, value: Value, named: bool = True, depth: int = 0) -> bool:
    """Whether what a process that was forked writes into a value is seen by its parent.

    What has a name, such as a file, is the same one for a process that makes it anew, and may be left out.
    """
    if depth > DEEPEST:
        return False
    if isinstance(value, Member):
        return value.name in SAME_MEMORY and shares_memory(evaluator, value.owner, named, depth + 1)
    if not isinstance(value, Result):
        return False
    name = value.name.removesuffix("()")
    if name == "numpy.memmap" or _in_submodule(name) == "SharedMemory":
        return named or (name != "numpy.memmap" and value.arguments.get(0, "name") is None)
    if mp_name(value.callee) in SHARED or _in_submodule(name) in SHARED:
        return True
    if isinstance(value.callee, Member):
        return name.endswith(".share_memory_") or shares_memory(evaluator, value.callee, named, depth + 1)
    source = value.arguments.get(*VIEWS[name]) if name in VIEWS else None
    return source is not None and any(
        shares_memory(evaluator, given, named, depth + 1) for given in evaluator.of(source)
    )


def _in_submodule(name: str) -> str:
    """`RawArray` of `multiprocessing.sharedctypes.RawArray`."""
    package, _, last = name.rpartition(".")
    return (
        last if bare(f"{package.rpartition('.')[0]}.{last}") and f"{package.rpartition('.')[2]}." in _SUBMODULES else ""
    )


def is_shared_at_import(variable: Global, evaluator: Evaluator) -> bool:
    """Whether a variable gets such memory when its module is imported: a spawned process makes its own then."""
    module = variable.module
    made = (b.value for b in variable.bindings if module.scope_of(b.node).enclosing_function() is None)
    return any(_gives_shared(value, module, evaluator, named=False) for value in made)


def is_shared(variable: Global, state: State, evaluator: Evaluator) -> bool:
    """Whether a variable has such memory at all, perhaps given to it before the workers start."""
    bindings = [(binding.value, variable.module) for binding in variable.bindings]
    rebound = [(statement_of(m.node), m.module) for m in state.mutations.of(variable) if m.kind == "rebound"]
    bindings += [(getattr(statement, "value", None), module) for statement, module in rebound]
    return any(_gives_shared(value, module, evaluator) for value, module in bindings)


def _gives_shared(value: object, module: Module, evaluator: Evaluator, *, named: bool = True) -> bool:
    if not isinstance(value, ast.expr):
        return False
    return any(shares_memory(evaluator, v, named) for v in evaluator.values(value, evaluator.frame_at(value, module)))
