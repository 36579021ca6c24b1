"""A private method that workers are given begins with one underscore: `self.__run` becomes `self._run`.

Safe where the name is used in its class alone; where the file has the new name already it is `self._run_in_worker`.
Refused where another class or a text says the old one.
"""

from __future__ import annotations

import re

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Documents


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    function = document.node(repair, cst.FunctionDef)
    owner = next((item for item in document.ancestors(function) if isinstance(item, cst.ClassDef)), None)
    name = function.name.value
    if owner is None:
        raise NotFixable("it is no method")
    names = {node.value for node in document.nodes() if isinstance(node, cst.Name)}
    inside = [node for node in document.nodes(owner) if isinstance(node, cst.Name) and node.value == name]
    new = next((one for one in (name[1:], f"{name[1:]}_in_worker") if one not in names), "")
    if not new:
        raise NotFixable(f"there is a {name[1:]} already")
    mangled = f"_{owner.name.value.lstrip('_')}{name}"
    said = len(re.findall(rf"(?<!\w){name}\b", document.text))
    if said != len(inside) or mangled in document.text:
        raise NotFixable("its name is used outside of its class, or in a text")
    for item in inside:
        if item is not function.name and not isinstance(document.parent(item), cst.Attribute):
            raise NotFixable("its name is used for something else, too")
    return Change(tuple(document.replaced(item, new) for item in inside), True, f"{name} became {new}")
