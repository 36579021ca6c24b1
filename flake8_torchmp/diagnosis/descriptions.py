"""What people say of a defect that prints nothing, or whose output they do not have.

Asked only of a few words without any traceback or message: in a program's output such words mean something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .messages import Message

FEW = 20
"""So many lines are a description, more are a log."""

_WORKERS = r"(?:workers?|process(?:es)?|child(?:ren)?)"

_DESCRIPTIONS = (
    Message(
        r"without the __name__ check|__name__\s*==|main guard|fork ?bomb|(?:starts|spawns|runs) (?:again|endless)",
        "TMP201:10 TMP102:3 TMP202:2",
    ),
    Message(
        r"(?:hdf5|h5py|lmdb|sqlite|zip|tar|tfrecord|file|handle|database|connection|socket)\b.*"
        rf"\b(?:fails?|breaks?|crash\w*|errors?|corrupt\w*|garbage|wrong|shared)\b.*\b{_WORKERS}",
        "TMP303:10 TMP304:8",
    ),
    Message(
        r"(?:cache|default|global|switch|settings?|parameters?|config\w*|state|flags?|changes?|old|stale)\b.*"
        rf"\b(?:lost|ignored|reset|default|missing|unchanged|see|sees|not seen|never)\b.*\b{_WORKERS}|"
        rf"{_WORKERS}\b.*\b(?:see|sees|have|has|use|uses|gets?|keeps?)\b.*\b(?:default|old|stale|empty|initial|global)",
        "TMP401:10 TMP410:5 TMP203:4 TMP402:4 TMP403:3",
    ),
    Message(
        rf"{_WORKERS}\b.*\b(?:not|never|n't)\b.*\b(?:seen|visible|arrives?|reach\w*|updated?|shared|changes?)\b|"
        r"(?:not|never) (?:seen|visible|updated|shared)\b.*\b(?:parent|main process)|stays? (?:empty|zero|0|unchanged)",
        "TMP402:9 TMP403:9 TMP409:9 TMP410:5 TMP401:3",
    ),
    Message(
        r"(?:identical|same|duplicated?|repeated|correlated)\b.*\b(?:random\w*|rotations?|augment\w+|numbers?|noise|"
        r"crops?|seeds?|streams?|contrasts?|flips?|negatives?|draws?)\b|"
        rf"(?:identical|same)\b.*\bin (?:all|every|each) {_WORKERS}|"
        rf"{_WORKERS}\b.*\b(?:behave|draw|do|produce|give|return|generate)s?\b.*\b(?:identical\w*|the same)\b|"
        r"random\w*\b.*\b(?:identical|the same|repeat\w*)",
        "TMP404:10 TMP405:9",
    ),
    Message(
        r"duplicate[sd]?\b.*|(?:once|twice|times) (?:per|in each|in every|by each) worker|"
        rf"(?:samples?|data|batch\w*|items?)\b.*\b(?:repeated|twice|several times|more than once)|"
        rf"(?:every|each) {_WORKERS}\b.*\b(?:whole|all|entire|full) (?:the )?(?:data|samples?|stream)",
        "TMP406:10 TMP404:7 TMP405:7",
    ),
    Message(
        r"(?:features?|labels?|images?|masks?|pairs?|targets?|files?)\b.*\b(?:mis-?match\w*|wrong|swapped|mixed)\b|"
        r"wrong .*pairs?|not reproducible|(?:different|wrong|changing|arbitrary) order|order (?:differs|changes)",
        "TMP503:10 TMP404:2",
    ),
    Message(
        r"(?:no|without(?: an?y?)?) (?:error|message|exception|traceback)|silent\w*|swallow\w*|"
        r"never (?:raised|reported)|errors? (?:is|are) (?:lost|hidden|ignored)",
        "TMP604:9 TMP602:9 TMP309:5 TMP603:5 TMP310:3",
    ),
    Message(
        r"(?:dead-?lock|hang|hung|freez|stuck)\w*\b.*\b(?:threads?|fork\w*)|threads?\b.*\b(?:dead-?lock|hang|hung)",
        "TMP801:10 TMP101:10 TMP802:9 TMP901:2",
    ),
    Message(
        r"dead-?locks?|hangs?\b|hung\b|freezes?\b|stuck\b|(?:waits?|blocks?) for ?ever|"
        r"never (?:ends|returns|finishes)",
        "TMP605:8 TMP101:8 TMP801:8 TMP604:5 TMP602:5 TMP309:4 TMP802:4 TMP201:3 TMP310:3 TMP901:1",
    ),
    Message(
        r"memory (?:grows|leak|usage|keeps)|until OOM|out of memory|\bOOM\b", "TMP906:8 TMP303:6 TMP902:5 TMP703:4"
    ),
)

# Where nothing more is said.
_HINTS = (
    Message(
        r"pickl|serializ",
        "TMP301:9 TMP302:9 TMP303:9 TMP305:8 TMP304:4",
    ),
    Message(
        r"\b(?:on|under|with|in) (?:windows|mac ?os\w*|osx|spawn|forkserver)\b|(?:spawn|forkserver)ed",
        "TMP301:9 TMP302:9 TMP201:8 TMP305:6 TMP303:6 TMP202:6 TMP401:5 TMP203:5 TMP104:4",
    ),
    Message(
        r"num_workers|more than one worker|multiple workers|with workers|multi-?process",
        "TMP303:7 TMP201:6 TMP301:6 TMP302:6 TMP305:5 TMP401:5 TMP304:4 TMP406:4",
    ),
)

_NAME = re.compile(r"\b(?:[A-Z]+[a-z]\w*[A-Z]\w*|[A-Za-z]\w*_\w+)\b")
"""Words that only a program writes so."""
_EVERYONES = {"DataLoader", "PyTorch", "NumPy", "IterableDataset", "num_workers", "persistent_workers"}


def described(lines: Sequence[str]) -> list[tuple[Message, str, tuple[str, ...]]]:
    """The rows that fit, each with the line that it fits and the names of the program that this one has."""
    found = _fitting(_DESCRIPTIONS, lines) or _fitting(_HINTS, lines)
    return [(message, line, tuple(sorted(set(_NAME.findall(line)) - _EVERYONES))) for message, line in found]


def _fitting(rows: Sequence[Message], lines: Sequence[str]) -> list[tuple[Message, str]]:
    return [(row, line) for row in rows for line in lines if re.search(row.pattern, line, re.IGNORECASE)]
