"""Several changes, made one after the other, as one: the edits that lead from the first text to the last."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from .change import Edit

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def edits_between(path: str, before: str, after: str) -> Iterator[Edit]:
    """Whole lines are replaced, so that what stays is what stood there."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Edit(path, starts[first], starts[last], "".join(new[new_first:new_last]))
