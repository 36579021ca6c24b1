"""What kind of thing a value is for processes: copied to each, shared between them, or a number."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics.values import Class, Collection, Constant, Function, Result, Unknown, Value, qualified

PLAIN = frozenset(
    "builtins.list builtins.dict builtins.set builtins.bytearray collections.defaultdict collections.OrderedDict "
    "collections.Counter collections.deque array.array numpy.zeros numpy.ones numpy.empty numpy.full numpy.array "
    "numpy.zeros_like numpy.ones_like numpy.empty_like numpy.full_like numpy.arange pandas.DataFrame".split()
)
"""What makes an object that each process has a copy of."""
NUMBERS = frozenset(
    f"builtins.{name}" for name in "abs bool divmod float int len max min pow round sorted str sum".split()
)
"""What makes a number, a text or a list of others: nothing that processes share."""
TENSORS = frozenset(f"torch.{name}" for name in "zeros ones empty full tensor zeros_like ones_like rand randn".split())
"""The same under fork alone: a spawned process gets a tensor's memory shared."""
LAYOUT = frozenset("shape dtype device ndim nbytes itemsize dim numel element_size is_shared stride maxlen".split())
"""What an array, tensor or deque tells of itself, whatever it holds."""


def is_mutable(value: Value) -> bool:
    """A list, dict, set, array or tensor."""
    if isinstance(value, Collection):
        return isinstance(value.node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)
    return is_made_plain(value) or made_by(value) in TENSORS


def made_by(value: Value) -> str:
    return value.name.removesuffix("()") if isinstance(value, Result) else ""


def is_made_plain(value: Value) -> bool:
    return made_by(value) in PLAIN


def may_be_shared(value: Value) -> bool:
    """A queue, a manager's proxy, shared memory, or something that a library has made of it."""
    if not isinstance(value, Result):
        return not isinstance(value, Constant | Collection | Function | Class | Unknown)
    name = qualified(value)
    if "share_memory_" in name or "Manager" in name or "SharedMemory" in name:
        return True
    is_plain = is_made_plain(value) or made_by(value) in TENSORS or made_by(value) in NUMBERS
    return mp_name(value.callee) in apis.PRIMITIVES or not is_plain
