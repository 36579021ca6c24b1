"""A function that `torch.multiprocessing.spawn` starts takes the rank first: `def train(rank, options)`.

Unsafe: it is given one argument more than before. Refused where the function is used elsewhere, too, where it may have
the rank by that name already, and where other files import its module.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Documents

NAME = "rank"


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    function = document.node(repair, cst.FunctionDef)
    name, parameters = function.name.value, function.params
    if "imported" in dict(repair.notes):
        raise NotFixable(f"other files may use {name} too")
    variables = [node for node in document.nodes() if isinstance(node, cst.Name) and document.is_variable(node)]
    if sum(node.value == name for node in variables) != 2:
        raise NotFixable(f"{name} is used elsewhere too")
    inside = {id(node) for node in document.nodes(function)}
    if any(node.value == NAME and id(node) in inside for node in variables):
        raise NotFixable(f"{name} has a {NAME} already")
    taken = (*parameters.posonly_params, *parameters.params)
    text = f"{NAME}: int" if any(parameter.annotation for parameter in taken) else NAME
    if taken:
        edit = document.inserted(document.span(taken[0]).start, f"{text}, ")
    elif parameters.kwonly_params or parameters.star_kwarg:
        raise NotFixable(f"{name} takes its arguments by their names")
    else:
        edit = document.inserted(document.text.index("(", document.span(function.name).end) + 1, text)
    return Change((edit,), False, f"{name} takes the rank that spawn gives it")
