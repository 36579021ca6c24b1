"""Answers to questions that need one another: what is kept never depends on what was asked before.

An answer that needs itself is cut off there. What is found meanwhile is provisional: it holds while the evaluation
that it was cut off by runs, and is found anew afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Key = tuple[Any, ...]
T = TypeVar("T")

DEEPEST = 30
"""Evaluations inside one another before an answer is cut off."""
SMALL = 200
"""Evaluations, the same one counted wherever it is needed, for an answer that is kept from question to question."""
MOST_LARGE = 150
"""Larger answers for one question; a program that needs more is not understood."""
_LIMIT = -1
"""Where an answer was cut off by a limit, and not by an evaluation that it is part of."""

_OF_A_QUESTION = tuple("_cost _large _height _is_whole _cut_at _depth _memo _provisional _cut_by _running".split())


class Answers:
    def __init__(self, most_lasting: int) -> None:
        self._most_lasting = most_lasting
        """The cost up to which an answer is kept from question to question."""

    def forget(self) -> None:
        """Drops everything, as the modules that it is about go."""
        self._lasting: dict[Key, tuple[Any, int, int]] = {}
        """Answers that nothing cut off, with their cost and how deep they go: the same whatever was asked before."""
        self.start_afresh()

    def start_afresh(self) -> None:
        """Forgets the answers that were cut off somewhere, so that none depends on what was asked before."""
        self._large = 0
        """Answers for the question so far that are large, or were cut off: each is found anew for each question."""
        self._cost = 0
        self._height = 0
        self._is_whole = True
        self._cut_at = DEEPEST + 1
        """The depth of the outermost evaluation that an answer was cut off for; answers below it are not kept."""
        self._depth = 0
        self._memo: dict[Key, Any] = {}
        self._provisional: dict[Key, tuple[Any, int, int]] = {}
        """Answers that were cut off, by what, and how far inside: further out a limit may leave more of them."""
        self._cut_by: dict[int, list[Key]] = {}
        """The provisional answers, by the depth of the evaluation that cut them off."""
        self._running: dict[Key, int] = {}

    @property
    def steps(self) -> int:
        """What the question that is asked has taken so far; 0 is set where the next one begins."""
        return self._large

    @steps.setter
    def steps(self, count: int) -> None:
        if self._is_tired():
            for key in self._cut_by.pop(_LIMIT, ()):
                self._provisional.pop(key, None)
        self._large = count

    def _is_tired(self) -> bool:
        """Whether the question has used up its steps."""
        return self._large >= MOST_LARGE

    def _cut_off(self, cut: T) -> T:
        self._is_whole = False
        self._cut_at = _LIMIT
        return cut

    def alone(self, question: Callable[[], T]) -> T:
        """Asks a question as the first of all, so that its answer can be kept for whoever asks it later."""
        held = {name: self.__dict__[name] for name in _OF_A_QUESTION}
        self.start_afresh()
        try:
            return question()
        finally:
            self.__dict__.update(held)

    def once(self, key: Key, evaluate: Callable[[], T], cut: T) -> T:
        """Evaluates once. What was cut off by an evaluation that it is part of is kept as long as that one runs."""
        known: T | None = self._known_for_good(key)
        return self._anew(key, evaluate, cut) if known is None else known

    def deeper(self, key: Key, evaluate: Callable[[], T], cut: T) -> T:
        """Evaluates once, one evaluation further inside: for what is asked of values that are found already."""
        if self._depth >= DEEPEST:
            return self._cut_off(cut)
        height, self._height = self._height, 0
        self._depth += 1
        try:
            return self.once(key, evaluate, cut)
        finally:
            self._depth -= 1
            self._height = max(height, self._height + 1)

    def kept(self, key: Key, combine: Callable[[], T]) -> T:
        """Puts an answer together from others: it is kept if they are, and costs what they cost."""
        known: T | None = self._known_for_good(key)
        if known is not None:
            return known
        outer = self._cost, self._height, self._is_whole, self._cut_at
        self._cost, self._height, self._is_whole, self._cut_at = 0, 0, True, DEEPEST + 1
        try:
            found = combine()
        finally:
            cost, height, is_whole = self._cost, self._height, self._is_whole
            self._cost = outer[0] + cost
            self._height = max(height, outer[1])
            self._is_whole = is_whole and outer[2]
            self._cut_at = min(self._cut_at, outer[3])
        if is_whole and cost <= self._most_lasting:
            self._lasting[key] = (found, cost, height)
        return found

    def _known_for_good(self, key: Key) -> Any:
        """An answer that does not depend on what was asked before, if there is one that fits in here; else None.

        None also where the question has used up its steps: found anew, the answer would be cut off.
        """
        lasting = self._lasting.get(key)
        if lasting is None or self._depth + lasting[2] > DEEPEST or self._is_tired():
            return None
        self._cost += lasting[1]
        if lasting[2] > self._height:
            self._height = lasting[2]
        return lasting[0]

    def _anew(self, key: Key, evaluate: Callable[[], T], cut: T, step: int = 0) -> T:
        """Evaluates what is not known for good, `step` further inside than it was looked for."""
        known: T | None = self._memo.get(key)
        if known is not None:
            self._is_whole = False  # or too large to last
            return known
        if key in self._running:
            self._is_whole = False
            self._cut_at = min(self._cut_at, self._running[key])
            return cut
        if key in self._provisional:
            answer, cut_by, depth = self._provisional[key]
            if cut_by != _LIMIT or self._depth >= depth:
                self._is_whole = False
                self._cut_at = min(self._cut_at, cut_by)
                provisional: T = answer
                return provisional
        outer = self._cost, self._height, self._is_whole, self._cut_at
        self._cost, self._height, self._is_whole, self._cut_at = 1, 0, True, DEEPEST + 1
        place = self._running[key] = len(self._running)
        try:
            found = evaluate()
        finally:
            del self._running[key]
            cost, height, is_whole, cut_at = self._cost, self._height + step, self._is_whole, self._cut_at
            self._cost = outer[0] + cost
            self._height = max(height, outer[1])
            self._is_whole = is_whole and outer[2]
            self._cut_at = outer[3]
        if is_whole and cost <= self._most_lasting:
            self._lasting[key] = (found, cost, height)
            return found
        self._large += 1
        if cut_at >= place:
            self._memo[key] = found
            if cut_at == place:
                for inner in [depth for depth in self._cut_by if depth >= place]:
                    for part in self._cut_by.pop(inner):
                        self._provisional.pop(part, None)
        else:
            self._provisional[key] = (found, cut_at, self._depth)
            self._cut_by.setdefault(cut_at, []).append(key)
            self._cut_at = min(cut_at, outer[3])
        return found


def keep_empty(known: dict[Any, Any]) -> None:
    """Drops the answers that hold on to modules; that there is nothing of a kind is known from then on."""
    for key in [key for key, found in known.items() if found]:
        del known[key]
