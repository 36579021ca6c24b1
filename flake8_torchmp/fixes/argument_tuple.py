"""What a worker is given becomes what it should be: `args=("x")` a tuple, `target=f(x)` the function and its arguments.

Safe for the comma after a literal, which can be meant in no other way; unsafe otherwise. A call with stars inside
`target=` is refused, as is one beside arguments that are there already, and any arguments that do not fit.
"""

from __future__ import annotations

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import Change, NotFixable
from .document import Document, Documents

VALUES = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BinaryOperation)
LITERALS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString, cst.Integer, cst.Float)


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    kind = dict(repair.notes).get("kind")
    if kind == "fit":
        raise NotFixable("only its author knows which arguments are meant")
    if kind == "called":
        return _uncalled(document, document.node(repair, cst.Call))
    node = document.node(repair, *LITERALS, *VALUES)
    end = document.span(node).end
    if getattr(node, "lpar", ()):
        edits = (document.inserted(end, ","),)
    else:
        edits = (document.replaced(node, f"({document.code(node)},)"),)
    return Change(edits, isinstance(node, LITERALS), "the arguments became a tuple")


def _uncalled(document: Document, node: cst.Call) -> Change:
    argument = document.parent(node)
    call = document.parent(argument) if argument is not None else None
    if not isinstance(argument, cst.Arg) or not isinstance(call, cst.Call):
        raise NotFixable("the call is no argument")
    if any(item.star for item in node.args):
        raise NotFixable("it is called with stars")
    given = [_value(document, item) for item in node.args if item.keyword is None]
    options = {item.keyword.value: _value(document, item) for item in node.args if item.keyword is not None}
    entries = ", ".join(f'"{name}": {value}' for name, value in options.items())
    values = f"({', '.join(given)}{',' * (len(given) == 1)})"
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
    function = document.code(node.func)
    others = {item.keyword.value for item in call.args if item.keyword is not None}
    if argument.keyword is not None and argument.keyword.value == "target" and "args" not in others:
        if options and "kwargs" in others:
            raise NotFixable("it is given other arguments too")
        text = f"{function}, args={values}" if given else function
        text += f", kwargs={{{entries}}}" if options else ""
    elif name == "submit" and len(call.args) == 1 and argument.keyword is None:
        text = ", ".join([function, *given, *(f"{name}={value}" for name, value in options.items())])
    elif name in ("apply", "apply_async") and argument.keyword is None and len(call.args) == 1:
        text = f"{function}, {values}, {{{entries}}}" if options else f"{function}, {values}"
    else:
        raise NotFixable("it is given other arguments too")
    return Change((document.replaced(node, text),), False, f"{function} is given, not called")


def _value(document: Document, argument: cst.Arg) -> str:
    code = document.code(argument.value)
    return f"({code})" if argument.value.lpar else code
