"""Plain objects that keep what they are made with: records, namespaces, options of a command line."""

from __future__ import annotations

from . import command_line
from .values import Result, Value, qualified

RECORD_MAKERS = frozenset(
    ("collections.namedtuple", "typing.NamedTuple", "dataclasses.make_dataclass", "builtins.type")
)
"""Calls that give a class whose objects keep what they are made with."""
RECORDS = frozenset(
    "types.SimpleNamespace argparse.Namespace easydict.EasyDict addict.Dict munch.Munch ml_collections.ConfigDict "
    "omegaconf.OmegaConf.create dotmap.DotMap box.Box".split()
)


def is_record(value: Value) -> bool:
    """An object of a class that a call made: `Job(2)` after `Job = namedtuple("Job", "size")`."""
    return isinstance(value, Result) and is_made_class(value.callee)


def is_made_class(value: Value) -> bool:
    """A class that a call made, itself: `type(name, (Net,), {})`."""
    return isinstance(value, Result) and value.name in RECORD_MAKERS


def is_namespace(value: Result) -> bool:
    """A plain object for attributes: a `SimpleNamespace`, or the options of a command line."""
    return value.name in RECORDS or value.name.rpartition(".")[2] in command_line.PARSED


def keeps_arguments(value: Result) -> bool:
    """Whether an object's attributes are likely what it was made with: classes by their capital, and records."""
    name = qualified(value.callee)
    return is_record(value) or name in RECORDS or name.rpartition(".")[2][:1].isupper()
