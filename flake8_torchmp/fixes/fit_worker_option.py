"""An option of workers fits the count of them: it goes where there are none, or depends on `num_workers > 0`.

Where the call spells the count by a name, or chooses it by one as in `0 if debug else 4`, the option gets the value
that means nothing if that is 0; where it is the number 0, or is not given, the option goes. Safe where the count is
always 0: the program ended there before. Otherwise unsafe, because the count is evaluated twice and 0 now works.
Refused where the call does not spell the count by a name, or the option is not written in a call.
"""

from __future__ import annotations

import re

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .dropped_argument import without

COUNT_INDEX = 5
WIDTH = 100
"""What a line may have that gets longer."""
_GIVEN = (
    *(cst.Integer, cst.Float, cst.SimpleString, cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.IfExp),
    *(cst.BinaryOperation, cst.BooleanOperation, cst.UnaryOperation, cst.Comparison, cst.NamedExpr),
)


def change(repair: Repair, documents: Documents) -> Change:
    document, notes = documents[repair.path], dict(repair.notes)
    value = document.node(repair, *_GIVEN)
    argument = document.parent(value)
    call = document.parent(argument) if isinstance(argument, cst.Arg) else None
    if not isinstance(argument, cst.Arg) or not isinstance(call, cst.Call) or argument.keyword is None:
        raise NotFixable("the option is not written in a call")
    is_safe = notes["count"] == "always 0"
    if is_safe and not spelled_count(document, call):
        return Change((without(document, call, argument),), True, f"{notes['option']} is dropped")
    neutral = neutral_value(notes["option"])
    chosen = _chosen_alike(document, call, value, neutral)
    count = "" if chosen else worker_count(document, call)
    if chosen:
        edit = document.replaced(value, chosen)
    elif isinstance(value, cst.IfExp) and document.code(value.test) in (count, f"{count} > 0", f"{count} != 0"):
        edit = document.replaced(value.orelse, neutral)
    else:
        edit = document.replaced(value, fitted_value(document, value, f"{count} > 0", neutral))
    edits = (*_line_end_before(document, call, argument, len(edit.text) - (edit.end - edit.start)), edit)
    return Change(edits, is_safe, f"{notes['option']} depends on the number of workers")


def fitted_value(document: Document, value: cst.BaseExpression, asked: str, neutral: str) -> str:
    """An option where a test holds, else what asks for nothing."""
    if isinstance(value, cst.Name) and value.value == "True":
        return asked
    code = f"({document.code(value)})" if isinstance(value, cst.IfExp | cst.Lambda) else document.code(value)
    return f"{code} if {asked} else {neutral}"


def _chosen_alike(document: Document, call: cst.Call, value: cst.BaseExpression, neutral: str) -> str:
    """The option beside `num_workers=0 if debug else 4`: it is there where the workers are; else nothing."""
    count = count_argument(call)
    if count is None or not isinstance(count.value, cst.IfExp) or isinstance(value, cst.IfExp | cst.NamedExpr):
        return ""
    test, numbers = count.value.test, (document.code(count.value.body), document.code(count.value.orelse))
    if not all(number.isdigit() for number in numbers) or sum(int(number) > 0 for number in numbers) != 1:
        return ""
    if not isinstance(test, cst.Name | cst.Attribute | cst.Comparison) or any(
        isinstance(part, cst.Call) for part in document.nodes(test)
    ):
        return ""
    asked, option, are_first = document.code(test), document.code(value), int(numbers[0]) > 0
    if option == "True" and isinstance(test, cst.Comparison):
        return asked if are_first else f"not ({asked})"
    if option == "True":
        return f"bool({asked})" if are_first else f"not {asked}"
    return f"{option} if {asked} else {neutral}" if are_first else f"{neutral} if {asked} else {option}"


def _line_end_before(document: Document, call: cst.Call, argument: cst.Arg, more: int) -> list[Edit]:
    """Sets an argument on a line of its own, below the first one of its line, where the line gets too long with it."""
    text = document.text
    start = document.span(argument).start
    line = document.line_start(start)
    on_line = [document.span(one) for one in call.args if line <= document.span(one).start < start]
    if len(text[line : document.line_after(start)].rstrip()) + more <= WIDTH or not on_line:
        return []
    comma = text.index(",", on_line[-1].end)
    if text[comma + 1 : start].strip(" ") or "(" in text[on_line[-1].end : comma]:
        return []
    below = re.sub(r"[^\t]", " ", text[line : on_line[0].start])
    return [Edit(document.path, comma + 1, start, document.newline + below)]


def neutral_value(option: str) -> str:
    """What asks for nothing."""
    return {"persistent_workers": "False", "timeout": "0"}.get(option, "None")


def worker_count(document: Document, call: cst.Call) -> str:
    """The worker count as the call spells it."""
    count = spelled_count(document, call)
    if not count:
        raise NotFixable("the call does not spell the number of workers by a name")
    return count


def spelled_count(document: Document, call: cst.Call) -> str:
    """The same, or nothing where it is no name: a number that stays, or one that comes from elsewhere."""
    count = count_argument(call)
    return document.code(count.value) if count and isinstance(count.value, cst.Name | cst.Attribute) else ""


def count_argument(call: cst.Call) -> cst.Arg | None:
    for index, argument in enumerate(call.args):
        is_named = argument.keyword is not None and argument.keyword.value == "num_workers"
        if is_named or (argument.keyword is None and not argument.star and index == COUNT_INDEX):
            return argument
    return None
