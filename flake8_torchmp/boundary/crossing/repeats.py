"""Objects that one call makes again and again: `self.f = Wrapper(self.f)` wraps without end."""

from __future__ import annotations

from collections import Counter

from flake8_torchmp.semantics.values import Instance, Partial, Result, Value

MOST_OF_ONE_CALL = 16


class Repeats:
    def __init__(self) -> None:
        self._made: Counter[int] = Counter()

    def has_seen_enough(self, value: Value) -> bool:
        """Whether the call that made a value made so many others that this one is much the same."""
        if not isinstance(value, Instance | Result | Partial) or value.arguments is None:
            return False
        call = id(value.arguments.call)
        self._made[call] += 1
        return self._made[call] > MOST_OF_ONE_CALL
