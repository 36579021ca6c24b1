"""A library's function that seeds each worker of a pool alike gets no seed: `initializer=random.seed`.

Without one it takes fresh entropy; torch has `torch.seed` for that. Unsafe: what is drawn becomes other than it was.
Refused where the initializer and its arguments do not stand in the call.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Documents
from .dropped_argument import without

BY_ENTROPY = {"manual_seed": "seed"}
"""The function that takes no seed, where that is another one."""


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    call = document.node(repair, cst.Call)
    given = {argument.keyword.value: argument for argument in call.args if argument.keyword is not None}
    if "initializer" not in given or "initargs" not in given:
        raise NotFixable("the initializer and its arguments do not stand in the call")
    function = given["initializer"].value
    edits = [without(document, call, given["initargs"])]
    if isinstance(function, cst.Attribute) and function.attr.value in BY_ENTROPY:
        edits.append(document.replaced(function.attr, BY_ENTROPY[function.attr.value]))
    elif dict(repair.notes)["name"].rpartition(".")[2] in BY_ENTROPY:
        raise NotFixable("the function that seeds is not given as an attribute")
    return Change(tuple(edits), False, "each worker is seeded from fresh entropy")
