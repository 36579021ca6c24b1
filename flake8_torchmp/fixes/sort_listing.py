"""A listing of a folder is sorted where it is made: `sorted(os.listdir(folder))`.

Safe: the program gets the same names, in one of the orders that it had to expect, and a list where it had a list or an
iterator. Entries of `os.scandir` are sorted by their names, also inside `with`; of `os.walk` the folders and files of
each level are. What lists the same folder once more in the function is sorted with it. Refused are an iterator that is
asked by `next`, a walk that no loop takes apart, and files with a `sorted` of their own.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Document, Documents

_UNORDERED = frozenset("any all dict frozenset len max min next set sorted sum".split())


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    node = document.node(repair, cst.Call)
    name = _last(node.func)
    if any(isinstance(one, cst.FunctionDef | cst.AssignTarget) and _bound(one) == "sorted" for one in document.nodes()):
        raise NotFixable("the file has a sorted of its own")
    above = document.parent(node)
    if name in ("walk", "fwalk"):
        return _walked(document, node)
    if isinstance(above, cst.WithItem):
        return _entered(document, above)
    if name != "listdir" and _is_asked_by_next(document, node):
        raise NotFixable("the listing is asked by next")
    key = f", key={_by_name(node)}" if name == "scandir" else ""
    edits = []
    for listing in (node, *_alike(document, node)):
        above = document.parent(listing)
        around = document.parent(above) if isinstance(above, cst.Arg) else None
        is_copied = isinstance(around, cst.Call) and _last(around.func) == "list" and len(around.args) == 1
        edits.append(
            document.replaced(around if is_copied and around else listing, f"sorted({document.code(node)}{key})")
        )
    return Change(tuple(edits), True, "the listing is sorted")


def _alike(document: Document, node: cst.Call) -> list[cst.Call]:
    """Other listings of the same folder in the function, whose order may have to be the same."""
    function = next((item for item in document.ancestors(node) if isinstance(item, cst.FunctionDef)), None)
    found = []
    for call in document.nodes(function) if function is not None else ():
        if isinstance(call, cst.Call) and call is not node and document.code(call) == document.code(node):
            above = document.parent(call)
            around = document.parent(above) if isinstance(above, cst.Arg) else None
            is_ordered = not isinstance(above, cst.Comparison | cst.ComparisonTarget | cst.WithItem) and (
                not isinstance(around, cst.Call) or _last(around.func) not in _UNORDERED
            )
            if is_ordered:
                found.append(call)
    return found


def _walked(document: Document, node: cst.Call) -> Change:
    """The folders and files are sorted at each level: `dirs.sort()` decides where the walk goes next."""
    loop = document.parent(node)
    if isinstance(loop, cst.CompFor) and isinstance(loop.target, cst.Name) and _last(node.func) == "walk":
        return _walked_inside(document, node, loop, f"{loop.target.value}[2]")
    if not isinstance(loop, cst.For | cst.CompFor) or not isinstance(loop.target, cst.Tuple):
        raise NotFixable("os.walk has an order at each level, and no loop takes it apart")
    names = [element.value.value for element in loop.target.elements if isinstance(element.value, cst.Name)]
    if len(names) != 3 or any(argument.keyword is not None for argument in node.args) or len(node.args) > 1:
        raise NotFixable("os.walk has an order at each level: sort the folders and files inside the loop")
    if isinstance(loop, cst.CompFor):
        return _walked_inside(document, node, loop, names[2])
    return _walked_by_loop(document, node, loop, names)


def _walked_inside(document: Document, node: cst.Call, loop: cst.CompFor, files: str) -> Change:
    """A comprehension goes through the folders by their names, and through the files of each."""
    inner = [one for one in document.nodes(loop) if isinstance(one, cst.CompFor) and one is not loop]
    edits = [document.replaced(node, f"sorted({document.code(node)})")]
    edits += [document.replaced(one.iter, f"sorted({files})") for one in inner if document.code(one.iter) == files]
    return Change(tuple(edits), True, "the walk is sorted")


def _walked_by_loop(document: Document, node: cst.Call, loop: cst.For, names: list[str]) -> Change:
    targets = loop.target.elements if isinstance(loop.target, cst.Tuple) else ()
    place = document.line_after(document.span(node).end)
    first = loop.body.body[0]
    if not isinstance(loop.body, cst.IndentedBlock) or document.span(first).start < place:
        raise NotFixable("os.walk has an order at each level: sort the folders and files inside the loop")
    edits = []
    for index in (1, 2):
        is_read = any(isinstance(one, cst.Name) and one.value == names[index] for one in document.nodes(loop.body))
        if names[index].strip("_") or is_read:
            continue
        if index == 1:
            names[1] = document.fresh("dirs")
            edits.append(document.replaced(targets[1].value, names[1]))
        else:
            names[2] = ""
    lines = [f"{document.indent_of(first)}{name}.sort(){document.newline}" for name in names[1:] if name]
    edits.append(document.inserted(place, "".join(lines)))
    return Change(tuple(edits), True, "the walk is sorted")


def _entered(document: Document, item: cst.WithItem) -> Change:
    """`with os.scandir(folder) as entries:` goes through the entries by their names."""
    around = document.parent(item)
    name = item.asname.name if item.asname is not None else None
    if not isinstance(around, cst.With) or not isinstance(name, cst.Name):
        raise NotFixable("the listing is entered by with")
    uses = [one for one in document.nodes(around.body) if isinstance(one, cst.Name) and one.value == name.value]
    loops = [document.parent(one) for one in uses]
    if not uses or any(not isinstance(loop, cst.For | cst.CompFor) for loop in loops):
        raise NotFixable("the listing is entered by with, and used otherwise than by a loop")
    edits = [document.replaced(one, f"sorted({name.value}, key=lambda entry: entry.name)") for one in uses]
    return Change(tuple(edits), True, "the listing is sorted")


def _by_name(listing: cst.Call) -> str:
    """A key by which entries of one folder are sorted as their names are."""
    module = listing.func.value if isinstance(listing.func, cst.Attribute) else None
    return "os.fspath" if isinstance(module, cst.Name) and module.value == "os" else "lambda entry: entry.name"


def _is_asked_by_next(document: Document, node: cst.Call) -> bool:
    names = {document.code(node)}
    assign = document.parent(node)
    if isinstance(assign, cst.Assign):
        names |= {document.code(target.target) for target in assign.targets}
    return any(
        isinstance(call, cst.Call)
        and _last(call.func) == "next"
        and bool(call.args)
        and document.code(call.args[0].value) in names
        for call in document.nodes()
    )


def _last(function: cst.BaseExpression) -> str:
    name = function.attr if isinstance(function, cst.Attribute) else function
    return name.value if isinstance(name, cst.Name) else ""


def _bound(node: cst.FunctionDef | cst.AssignTarget) -> str:
    name = node.name if isinstance(node, cst.FunctionDef) else node.target
    return name.value if isinstance(name, cst.Name) else ""
