"""Qualities of functions that spread to those that call them: each is looked at once, whatever circles calls make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .scopes import Place, Scope

Look = Callable[[Scope], tuple[str, Iterable[Scope]]]
"""What a function's own body does, and the functions that it may call."""


class Spreading:
    def __init__(self, look: Look, strengths: Sequence[str]) -> None:
        """A function has the strongest quality of its own and of those that it calls; the strengths begin with none."""
        self._look = look
        self._strengths = strengths
        self._known: dict[Place, str] = {}

    def of(self, scope: Scope) -> str:
        if scope.place not in self._known:
            self._judge_with_callees(scope)
        return self._known[scope.place]

    def _judge_with_callees(self, scope: Scope) -> None:
        callers: dict[Place, list[Place]] = {scope.place: []}
        judged: dict[Place, str] = {}
        pending = [scope]
        while pending:
            caller = pending.pop()
            judged[caller.place], called = self._look(caller)
            for callee in called:
                if callee.place in self._known:
                    judged[caller.place] = self._stronger(judged[caller.place], self._known[callee.place])
                    continue
                if callee.place not in callers:
                    callers[callee.place] = []
                    pending.append(callee)
                callers[callee.place].append(caller.place)
        for strength in reversed(self._strengths[1:]):
            spreading = [place for place, found in judged.items() if found == strength]
            while spreading:
                for place in callers[spreading.pop()]:
                    if self._stronger(judged[place], strength) != judged[place]:
                        judged[place] = strength
                        spreading.append(place)
        self._known.update(judged)

    def _stronger(self, one: str, other: str) -> str:
        return max(one, other, key=self._strengths.index)
