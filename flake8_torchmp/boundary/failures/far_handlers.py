"""Handlers far from what workers begin with, where a program has gone on to its own business."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics.calls import receiver_name
from flake8_torchmp.semantics.nodes import up
from flake8_torchmp.semantics.scopes import Scope

from .handlers import swallowing
from .stand_ins import leaves_blank


def swallowing_data(scope: Scope) -> Iterator[ast.AST]:
    """The handlers that hide a failure behind a blank tensor or array: what it is put in for is data all the same."""
    receivers = {receiver_name(scope)} - {""}
    for handler in swallowing(scope, is_near=False, prepares=False):
        around = up(handler) if isinstance(handler, ast.ExceptHandler) else None
        if isinstance(handler, ast.ExceptHandler) and isinstance(around, ast.Try):
            yield from (handler,) if leaves_blank(around.body, handler.body, scope, receivers) else ()
