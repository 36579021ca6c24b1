"""TMP101 fork-start-method: the start method fork is chosen by name
"""

from __future__ import annotations

from collections.abc import Iterator

from ..boundary.method_names import MethodName
from ..boundary.model import Model
from ..findings import Finding
from ..semantics.module import Module
from . import rule


@rule("TMP101", "fork-start-method", fix="unsafe")
def fork_start_method(module: Module, model: Model) -> Iterator[Finding]:
    for named in model.method_names.of(module):
        if named.method == "fork":
            yield model.finding("TMP101", _message(named, model), named.node, named.module, named.way)


def _message(named: MethodName, model: Model) -> str:
    return (
        f"{named.text} starts processes by fork, which copies held locks and used CUDA and OpenMP runtimes "
        f'and can hang: choose "{model.settings.start_method}"'
    )
