"""An option of workers that a loader gets from a dict is set over it: `**{**OPTIONS, "persistent_workers": False}`.

The dict stays as it is for those who share it; the option goes from it where all who do have no workers, and depends on
its own count in it where that is a name and all who share it leave it as it is. Where the call spells the count by a
name, the option depends on `num_workers > 0`. Safe where the count is always 0: the program ended there before;
otherwise unsafe, because 0 now works. Refused where the call takes no dict or several, and where the count that may
differ, or the dict whose value is needed, is not a name.
"""

from __future__ import annotations

import re
from itertools import combinations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, Edit, NotFixable, overlap
from .document import Document, Documents
from .dropped_argument import without
from .fit_worker_option import COUNT_INDEX, fitted_value, neutral_value, spelled_count, worker_count


def change(repair: Repair, documents: Documents) -> Change:
    document, notes = documents[repair.path], dict(repair.notes)
    call = document.node(repair, cst.Call)
    given = [argument.value for argument in call.args if argument.star == "**"]
    shared = [item for one in given for item in _shared(one)]
    if len(given) != 1 or len(shared) != 1:
        raise NotFixable("the option does not come from one dict that others share")
    is_safe = notes["count"] == "always 0"
    is_own = is_safe and "imported" not in notes
    dropped = _dropped(document, shared[0], notes["options"].split()) if is_own else ()
    if dropped:
        return Change(dropped, True, f"{', '.join(notes['options'].split())} is dropped")
    fitted = _fitted(document, shared[0], notes["options"].split()) if "imported" not in notes else ()
    if fitted:
        what = f"{', '.join(notes['options'].split())} depends on the number of workers"
        return Change(fitted, is_safe, what)
    options = document.code(shared[0])
    has_name = isinstance(shared[0], cst.Name | cst.Attribute)
    is_fixed = is_safe and not spelled_count(document, call)
    entries = ""
    for option in notes["options"].split():
        value = neutral_value(option)
        if not is_fixed and option == "persistent_workers":
            value = f"{worker_count(document, call)} > 0"
        elif not is_fixed and not (is_safe and not has_name):
            if not has_name:
                raise NotFixable("the dict that the option comes from is not a name")
            value = f'{options}["{option}"] if {worker_count(document, call)} > 0 else {value}'
        entries += f', "{option}": {value}'
    if isinstance(given[0], cst.Dict):
        edit = document.inserted(document.span(given[0].elements[-1]).end, entries)
    else:
        edit = document.replaced(given[0], f"{{**{options}{entries}}}")
    return Change((edit,), is_safe, f"{', '.join(notes['options'].split())} set for this loader alone")


def _dropped(document: Document, given: cst.BaseExpression, options: list[str]) -> tuple[Edit, ...]:
    """The dict without the options, where all that it is for are calls without workers."""
    assign = _made_for_calls(document, given, document.module, options)
    if assign is None:
        return ()
    entries = _entries(assign.value)
    count = entries.get("num_workers")
    value = getattr(count, "value", None)
    has_none = count is None or (isinstance(value, cst.Integer) and value.evaluated_value == 0)
    if not has_none or not all(option in entries for option in options):
        return ()
    edits = [without(document, assign.value, entries[option]) for option in options]  # type: ignore[arg-type]
    if not any(overlap(one, other) for one, other in combinations(edits, 2)):
        return tuple(edits)
    kept = [document.span(entry) for name, entry in entries.items() if name not in options]
    gone = [document.span(entries[option]) for option in options]
    start, end = max((span.end for span in kept), default=0), max(span.end for span in gone)
    is_tail = 0 < start < min(span.start for span in gone) and not re.search(r"[\n\r#]", document.text[start:end])
    return (Edit(document.path, start, end, ""),) if is_tail else ()


def _fitted(document: Document, given: cst.BaseExpression, options: list[str]) -> tuple[Edit, ...]:
    """The dict with options that depend on its own count, where that is a name and all that it is for are calls."""
    functions = (item for item in document.ancestors(given) if isinstance(item, cst.FunctionDef))
    assign = _made_for_calls(document, given, next(functions, document.module), options)
    entries = _entries(assign.value) if assign is not None else {}
    count = entries["num_workers"].value if "num_workers" in entries else None
    values = [entries[option].value for option in options if option in entries]
    if not isinstance(count, cst.Name | cst.Attribute) or len(values) < len(options):
        return ()
    asked = f"{document.code(count)} > 0"
    return tuple(
        document.replaced(value, fitted_value(document, value, asked, neutral_value(option)))
        for option, value in zip(options, values, strict=True)
    )


def _made_for_calls(
    document: Document, given: cst.BaseExpression, within: cst.CSTNode, options: list[str]
) -> cst.Assign | None:
    """The one assignment of a name that is only spread in calls which spell no count, or gets other entries."""
    if not isinstance(given, cst.Name):
        return None
    names = [node for node in document.nodes(within) if isinstance(node, cst.Name) and node.value == given.value]
    names = [node for node in names if document.is_variable(node)]
    targets = [node for node in names if isinstance(document.parent(node), cst.AssignTarget)]
    assign = document.parent(document.parent(targets[0]) or targets[0]) if len(targets) == 1 else None
    if not isinstance(assign, cst.Assign) or len(assign.targets) > 1:
        return None
    uses = [document.parent(node) for node in names if node is not targets[0]]
    for use in uses:
        is_spread = isinstance(use, cst.Arg) and use.star == "**" and not _spells_count(document, use)
        if not is_spread and not _sets_other(document, use, {*options, "num_workers"}):
            return None
    return assign


def _sets_other(document: Document, use: cst.CSTNode | None, options: set[str]) -> bool:
    """`options["shuffle"] = True`"""
    if not isinstance(use, cst.Subscript) or not isinstance(document.parent(use), cst.AssignTarget):
        return False
    index = use.slice[0].slice
    return (
        isinstance(index, cst.Index)
        and isinstance(index.value, cst.SimpleString)
        and index.value.evaluated_value not in options
    )


def _entries(value: cst.BaseExpression) -> dict[str, cst.Arg | cst.DictElement]:
    """The entries of `{...}` or `dict(...)` whose keys are plain."""
    if isinstance(value, cst.Dict):
        elements = [element for element in value.elements if isinstance(element, cst.DictElement)]
        if len(elements) == len(value.elements):
            return {str(e.key.evaluated_value): e for e in elements if isinstance(e.key, cst.SimpleString)}
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == "dict":
        found: dict[str, cst.Arg | cst.DictElement] = {}
        found |= {argument.keyword.value: argument for argument in value.args if argument.keyword is not None}
        return found if len(found) == len(value.args) else {}
    return {}


def _spells_count(document: Document, use: cst.Arg) -> bool:
    call = document.parent(use)
    if not isinstance(call, cst.Call) or len([one for one in call.args if one.keyword is None]) > COUNT_INDEX:
        return True
    return any(
        (one.keyword is not None and one.keyword.value == "num_workers") or (one.star and one is not use)
        for one in call.args
    )


def _shared(given: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What others may hold as well of a dict that is handed over."""
    if isinstance(given, cst.Dict):
        return [element.value for element in given.elements if isinstance(element, cst.StarredDictElement)]
    return [given]
