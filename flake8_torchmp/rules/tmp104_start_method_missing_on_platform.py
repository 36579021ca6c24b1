"""TMP104 start-method-missing-on-platform: a start method that a target platform does not have
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..boundary.guards import asks_for_platform, mentions_platform
from ..boundary.method_names import MethodName
from ..boundary.model import Model
from ..boundary.targets import has_windows
from ..findings import Finding
from ..semantics.flow import caught_around
from ..semantics.module import Module
from . import rule


@rule("TMP104", "start-method-missing-on-platform", fix="safe")
def start_method_missing_on_platform(module: Module, model: Model) -> Iterator[Finding]:
    if not has_windows(model.settings):
        return
    for named in model.method_names.of(module):
        if named.method == "forkserver" and not _is_considered(named, model):
            message = (
                f"{named.text} asks for forkserver, which Windows does not have (ValueError: cannot find context): "
                "choose by get_all_start_methods()"
            )
            yield model.finding("TMP104", message, named.node, named.module, named.way)


def _is_considered(named: MethodName, model: Model) -> bool:
    """Whether the platform was asked for, or the ValueError is caught, anywhere on the way to the call."""
    places = [(named.node, named.module), (named.call, named.call_module), *named.passed]
    frame = named.frame
    while frame.arguments is not None:
        places.append((frame.arguments.call, frame.arguments.frame.module))
        frame = frame.arguments.frame
    return any(
        asks_for_platform(model.evaluator, node, place)
        or (isinstance(node, ast.Call | ast.Subscript) and mentions_platform(node))
        or not {"", "ValueError", "Exception", "BaseException"}.isdisjoint(caught_around(node))
        for node, place in places
    )
