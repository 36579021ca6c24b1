"""An option of workers that a loader gets from a dict is set over it: `**{**OPTIONS, "persistent_workers": False}`.

The dict stays as it is for those who share it. Where the call spells the count by a name, the option depends on
`num_workers > 0`. Safe where the count is always 0: the program ended there before; otherwise unsafe, because 0 now
works. Refused where the call takes no dict or several, and where the count that may differ, or the dict whose value is
needed, is not a name.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Documents
from .fit_worker_option import neutral_value, spelled_count, worker_count


def change(repair: Repair, documents: Documents) -> Change:
    document, notes = documents[repair.path], dict(repair.notes)
    call = document.node(repair, cst.Call)
    given = [argument.value for argument in call.args if argument.star == "**"]
    shared = [item for one in given for item in _shared(one)]
    if len(given) != 1 or len(shared) != 1:
        raise NotFixable("the option does not come from one dict that others share")
    is_safe = notes["count"] == "always 0"
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


def _shared(given: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What others may hold as well of a dict that is handed over."""
    if isinstance(given, cst.Dict):
        return [element.value for element in given.elements if isinstance(element, cst.StarredDictElement)]
    return [given]
