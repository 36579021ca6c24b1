"""Chains of tests that ask one variable for one constant after another: `if x == 1: … elif x == 2: …`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from flake8_torchmp.semantics.calls import Frame, receiver_name
from flake8_torchmp.semantics.choices import is_choice
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.narrowing import truth_where
from flake8_torchmp.semantics.nodes import dotted
from flake8_torchmp.semantics.values import Collection, Constant, Result, Value

MOST_DRAWN = 100
"""Whole numbers that a draw can give; nobody tests more of them one by one."""
_UP_TO_THE_LAST = frozenset(("random.randint", "random.SystemRandom().randint"))
_BELOW_THE_LAST = frozenset(("random.randrange", "numpy.random.randint", "numpy.random.choice"))
_OF_A_LIST = frozenset(("random.choice", "numpy.random.choice"))

Block = Sequence[ast.stmt]


def leaves_nothing_over(evaluator: Evaluator, block: Block, frame: Frame, leaves: Callable[[Block], bool]) -> bool:
    """Whether a block is left for each value that the project shows for the variable which its tests ask for.

    Where an object was made with a value that cannot be seen, its author is believed, if several values are tested, or
    whether there is one at all: `if self.transform:`.
    """
    last = block[-1]
    if isinstance(last, ast.For) and isinstance(last.target, ast.Name) and not last.orelse:
        block = last.body
    tests = list(_failing_at_the_end(block, leaves))
    receiver = receiver_name(frame.scope)
    for name, use in {dotted(use): use for test in tests for use in _asked_for(test)}.items():
        if not name:
            continue
        asked = [test for test in tests if any(dotted(use) == name for use in _asked_for(test))]
        values = evaluator.values(use, evaluator.frame_in(frame.module.scope_of(use), frame))
        seen = [constant for value in values for constant in _constants(evaluator, value)]
        known = [value for value in seen if isinstance(value, Constant) and not is_choice(value)]
        if any(_is_left_over(value, asked, name) for value in known):
            continue
        is_chosen_by_maker = bool(receiver) and (
            name.startswith(f"{receiver}.") or (use is not None and _is_looped(use, last, receiver))
        )
        is_believed = known or len(asked) > 1 or any(dotted(test) == name for test in asked)
        if (seen and len(known) == len(seen)) or (is_chosen_by_maker and is_believed):
            return True
    return False


def _is_left_over(value: Constant, tests: Sequence[ast.expr], name: str) -> bool:
    return not any(truth_where(test, name, value.value) is True for test in tests)


def _is_looped(use: ast.expr, loop: ast.stmt, receiver: str) -> bool:
    """`for split in self.splits:`."""
    return (
        isinstance(loop, ast.For)
        and dotted(loop.target) == dotted(use)
        and dotted(loop.iter).startswith(f"{receiver}.")
    )


def _failing_at_the_end(block: Block, leaves: Callable[[Block], bool]) -> Iterator[ast.expr]:
    """The tests that do not hold where the end of a block is reached."""
    for statement in block:
        branch: ast.stmt | None = statement
        while isinstance(branch, ast.If) and leaves(branch.body):
            yield branch.test
            branch = branch.orelse[0] if len(branch.orelse) == 1 else None


def _asked_for(test: ast.expr) -> Iterator[ast.expr]:
    """The variables whose value a test compares with constants."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _asked_for(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _asked_for(test.operand)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name | ast.Attribute):
        yield test.left
    elif isinstance(test, ast.Name | ast.Attribute):
        yield test


def _constants(evaluator: Evaluator, value: Value) -> Iterator[Value]:
    """The constants that a draw can give, or the value itself."""
    if not isinstance(value, Result) or value.name not in _UP_TO_THE_LAST | _BELOW_THE_LAST | _OF_A_LIST:
        yield value
        return
    given = [evaluator.of(source) for source in value.arguments.positional]
    if len(given) == 1 and value.name in _OF_A_LIST and all(isinstance(v, Collection) for v in given[0]):
        yield from evaluator.elements(given[0])
        return
    bounds = [v[0].value for v in given if len(v) == 1 and isinstance(v[0], Constant) and isinstance(v[0].value, int)]
    if len(bounds) == len(given) and len(bounds) in (1, 2) and not value.arguments.keywords:
        first, end = (0, bounds[0]) if len(bounds) == 1 else bounds
        end += value.name in _UP_TO_THE_LAST
        if end - first <= MOST_DRAWN:
            call = value.arguments.call
            assert isinstance(call, ast.expr)
            yield from (Constant(number, call, value.arguments.frame.module) for number in range(first, end))
            return
    yield value
