"""What comes after a place until the program ends: whether anything of it can have to do with worker processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.boundary.module_state.state import State
from flake8_torchmp.boundary.starting.possible_starts import THREAD_TASKS, PossibleStarts
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import EXITS, LOOPS, blocks
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, dotted, statement_of, up
from flake8_torchmp.semantics.scopes import Scope

FARTHEST = 6


class Aftermath:
    def __init__(self, evaluator: Evaluator, possible: PossibleStarts, state: State) -> None:
        self.evaluator = evaluator
        self.possible = possible
        self.state = state

    def is_without_workers(self, node: ast.AST, module: Module, depth: int = FARTHEST) -> bool:
        """Whether the program, once a place has run, ends without another word to a worker, as all its ways show."""
        self.possible.look_from_users(module)
        for statement in _following(node):
            if any(self._may_use_workers(part, module) for part in ast.walk(statement)):
                return False
        function = module.scope_of(node).enclosing_function()
        return function is None or (depth > 0 and self._ends_with_callers(function, depth - 1))

    def _ends_with_callers(self, function: Scope, depth: int) -> bool:
        calls = [arguments for arguments, _ in self.evaluator.callers.of(function)]
        return 0 < len(calls) == len(self.state.references(function)) and all(
            self.is_without_workers(arguments.call, arguments.frame.module, depth) for arguments in calls
        )

    def _may_use_workers(self, node: ast.AST, module: Module) -> bool:
        is_task = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in THREAD_TASKS
        return is_task or self.possible.may_matter(node, module)


def _following(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a function or module that may run after a node, loops around it as a whole."""
    child: Any = statement_of(node)
    if any(blocks(child)):
        yield child  # `with prepare() as pool:`
    while not isinstance(child, (*FUNCTIONS, ast.Module)):
        parent: Any = up(child)
        if isinstance(parent, (*LOOPS, ast.Try)):
            yield parent
        for block in blocks(parent):
            place = next((i for i, item in enumerate(block) if item is child), None)
            for later in block[place + 1 :] if place is not None else ():
                yield later
                if _leaves_function(later):
                    return
        child = parent


def _leaves_function(statement: ast.stmt) -> bool:
    called = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(statement, ast.Return | ast.Raise) or (
        isinstance(called, ast.Call) and dotted(called.func) in EXITS
    )
