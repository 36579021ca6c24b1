"""A lambda becomes a named function at module level, right before the statement that uses it.

Safe where it captures nothing local. What it captures is filled in by functools.partial, and what reads the object of a
method becomes a method: both unsafe, because a closure looks its names up when it is called. A lambda that only hands
its arguments on to a function becomes that function, or a partial of it where it adds what it captures, and a lambda
that has a name already becomes a `def` in its place. With it go those that the same name gets in other branches.
Refused where captured names are bound again later, or where the lambda needs the class around it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.findings import Repair
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.scopes import Scope

from .change import Change, NotFixable, clash, combined
from .document import Document, Documents
from .layout import indented, is_about_lambda
from .lifting import Lifting
from .outline import Outline, outline_of


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    outline = outline_of(document)
    node: ast.Lambda = outline.node(repair, ast.Lambda)
    notes = dict(repair.notes)
    handed_on = _handed_on(outline, node)
    if handed_on:
        return Change((outline.replaced(node, handed_on),), True, f"the lambda became {handed_on} itself")
    named = _in_its_place(document, outline, node)
    if named is not None:
        return named
    lifting = Lifting(document, node, notes)
    filled_in = _values_handed_on(outline, node, lifting)
    if filled_in:
        name, values = filled_in
        return lifting.as_partial(name, values, f"the lambda became a partial of {name}")
    changed = lifting.change("the lambda became the function {name}")
    return _with_other_branches(changed, document, outline, node) if changed.is_safe else changed


def _with_other_branches(changed: Change, document: Document, outline: Outline, node: ast.Lambda) -> Change:
    """What the same name is in the other branches of an `if` becomes a function with it, where that is as safe."""
    for other in _in_other_branches(outline, node):
        try:
            beside = Lifting(document, other, {}).change("")
        except NotFixable:
            continue
        if beside.is_safe and not clash(changed, beside):
            changed = changed._replace(edits=tuple(combined([changed, beside])))
    return changed


def _in_other_branches(outline: Outline, node: ast.Lambda) -> Iterator[ast.Lambda]:
    assign = outline.parents[node]
    if not isinstance(assign, ast.Assign) or len(assign.targets) > 1:
        return
    branch: Any = outline.parents[assign]
    while isinstance(outline.parents.get(branch), ast.If) and branch in getattr(outline.parents[branch], "orelse", ()):
        branch = outline.parents[branch]
    wanted = ast.dump(assign.targets[0])
    while isinstance(branch, ast.If):
        following = branch.orelse[0] if len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If) else None
        for other in [*branch.body, *(branch.orelse if following is None else ())]:
            is_alike = isinstance(other, ast.Assign) and other is not assign and ast.dump(other.targets[0]) == wanted
            if is_alike and isinstance(other.value, ast.Lambda):
                yield other.value
        branch = following


def _handed_on(outline: Outline, node: ast.Lambda) -> str:
    """The function to which a lambda gives exactly its own arguments, if it means the same now as when it is called."""
    body, arguments = node.body, node.args
    if not isinstance(body, ast.Call) or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
        return ""
    given: list[str] = []
    for value in body.args:
        inner = value.value if isinstance(value, ast.Starred) else value
        if not isinstance(inner, ast.Name):
            return ""
        given.append("*" * isinstance(value, ast.Starred) + inner.id)
    for keyword in body.keywords:
        if keyword.arg is not None or not isinstance(keyword.value, ast.Name):
            return ""
        given.append("**" + keyword.value.id)
    wanted = [a.arg for a in arguments.args]
    wanted += ["*" + arguments.vararg.arg] if arguments.vararg else []
    wanted += ["**" + arguments.kwarg.arg] if arguments.kwarg else []
    return outline.code(body.func) if given == wanted and wanted and _is_fixed(outline, body.func, node) else ""


def _values_handed_on(outline: Outline, node: ast.Lambda, lifting: Lifting) -> tuple[str, list[tuple[str, str]]] | None:
    """The function to which a lambda gives its own arguments, and what it captures by the names of the parameters."""
    body, own = node.body, [argument.arg for argument in node.args.args]
    if (
        not isinstance(body, ast.Call)
        or not isinstance(body.func, ast.Name)
        or ast.unparse(node.args) != ", ".join(own)
    ):
        return None
    owner = outline.owner(body.func)
    bindings = owner.bindings[body.func.id] if owner is not None and owner.is_module else []
    function: Any = bindings[0].node if len(bindings) == 1 else None
    if function not in outline.tree.body or not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    parameters = [argument.arg for argument in function.args.args]
    given = [value.id if isinstance(value, ast.Name) else "" for value in body.args]
    if not own or function.args.posonlyargs or len(given) > len(parameters) or given[: len(own)] != own:
        return None
    keywords = [(keyword.arg or "", getattr(keyword.value, "id", "")) for keyword in body.keywords]
    values = [*zip(parameters[len(own) :], given[len(own) :], strict=False), *keywords]
    captured = {name for name, owner in lifting.main.captured.items() if not lifting.is_receiver(name, owner)}
    if not values or any(not name or value not in captured or value in own for name, value in values):
        return None
    return body.func.id, values


def _is_fixed(outline: Outline, function: ast.expr, node: ast.Lambda) -> bool:
    """Whether an expression gives the same function now as when the lambda is called, and one that can be pickled."""
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    owner = outline.owner(root)
    if owner is not None and owner.is_function and isinstance(function, ast.Attribute) and function.value is root:
        return _is_own_method(outline, function, owner)
    if owner is None:
        return hasattr(builtins, root.id)
    bindings = owner.bindings[root.id]
    if not owner.is_module or len(bindings) != 1 or outline.start(bindings[0].node) > outline.start(outline.top(node)):
        return False
    if outline.is_guarded(node) and outline.is_guarded(outline.statement(bindings[0].node)):
        return False
    definition: Any = bindings[0].node
    if isinstance(definition, ast.ClassDef) and isinstance(function, ast.Attribute) and function.value is root:
        return not definition.decorator_list and _is_class_function(outline, definition, function.attr)
    if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return function is root and not definition.decorator_list
    if not isinstance(definition, ast.alias):
        return False
    statement: Any = outline.parents[definition]
    origin = statement.module or "" if isinstance(statement, ast.ImportFrom) else definition.name
    # torch offers plain functions; elsewhere a "function" may be a method of a hidden object with state, as in random
    return origin.partition(".")[0] == "torch" and last_name(function).islower()


def _is_own_method(outline: Outline, function: ast.Attribute, owner: Scope) -> bool:
    """Whether `self.name` is a method of the class around it, which nothing else is put in the place of."""
    method: Any = owner.node
    cls = outline.parents.get(method)
    if isinstance(method, ast.Lambda) or not isinstance(cls, ast.ClassDef) or not method.args.args:
        return False
    own = method.args.args[0].arg
    is_plain = not any(last_name(item) in ("staticmethod", "classmethod") for item in method.decorator_list)
    if outline.code(function.value) != own or len(owner.bindings[own]) > 1 or not is_plain:
        return False
    if not isinstance(outline.parents[cls], ast.Module):
        return False
    method = _only_method(outline, cls, function.attr)
    return method is not None and not method.decorator_list


def _is_class_function(outline: Outline, cls: ast.ClassDef, name: str) -> bool:
    """Whether a class has a `@staticmethod` or `@classmethod` of a name, which can be pickled by it."""
    method = _only_method(outline, cls, name)
    decorators = [last_name(item) for item in method.decorator_list] if method is not None else []
    return decorators in (["staticmethod"], ["classmethod"]) and isinstance(outline.parents[cls], ast.Module)


def _only_method(outline: Outline, cls: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """The method of a name, if nothing else is put in its place."""
    methods = [item for item in cls.body if isinstance(item, ast.FunctionDef) and item.name == name]
    is_set = any(
        isinstance(part, ast.Attribute) and part.attr == name and not isinstance(part.ctx, ast.Load)
        for part in ast.walk(outline.tree)
    )
    return methods[0] if len(methods) == 1 and not is_set else None


def _in_its_place(document: Document, outline: Outline, node: ast.Lambda) -> Change | None:
    """`name = lambda ...` at module level or in a class is a `def` in the long form."""
    holder: Any = outline.parents[node]
    decorator = ""
    if isinstance(holder, ast.Call) and last_name(holder.func) in ("staticmethod", "classmethod"):
        decorator, holder = last_name(holder.func), outline.parents[holder]
    if not isinstance(holder, ast.Assign | ast.AnnAssign):
        return None
    target = holder.targets[0] if isinstance(holder, ast.Assign) else holder.target
    scope = outline.scope_of(holder)
    if not isinstance(target, ast.Name) or len(getattr(holder, "targets", "1")) > 1 or scope.is_function:
        return None
    if scope.is_class and isinstance(holder, ast.AnnAssign):
        return None  # it may be a field, as in a dataclass, and has to stay one
    if scope.is_class and not isinstance(outline.parents[scope.node], ast.Module):
        return None
    if not outline.alone_on_its_lines(holder) or (decorator and not scope.is_class):
        return None
    if outline.is_guarded(holder):
        return None
    lifting = Lifting(document, node, {})
    lift = lifting.main
    if lift.captured or lift.defaults or lift.imports or lift.needs:
        raise NotFixable("its defaults are computed where it stands")
    lift.name = target.id
    indent, newline = outline.indent(holder), document.newline
    text = (f"@{decorator}{newline}" if decorator else "") + lifting.code.definition(lift).removesuffix(newline)
    plain = f"def {target.id}({ast.unparse(node.args)}):"
    text = text.replace(plain, _annotated(outline, target.id, node, getattr(holder, "annotation", None)) or plain, 1)
    text = indented(text, indent, first=False)
    start, end = outline.start(holder), outline.end(holder)
    tail = document.text[end : document.line_after(end)].rstrip("\r\n")
    if is_about_lambda(tail.strip()):
        end += len(tail)
    elif tail.strip():
        head, colon, rest = text.partition(f":{newline}")
        text, end = head + colon.removesuffix(newline) + tail + newline + rest, end + len(tail)
    gap = 1 if scope.is_class else 2
    before, after = _blank_lines(outline, holder)
    edits = [outline.edit(start, end, text)]
    if before is not None and before < gap:
        place = outline.line_offset(outline.line_with_comments(holder))
        edits.insert(0, outline.edit(place, place, newline * (gap - before)))
    if after is not None and after < gap:
        place = document.line_after(end)
        edits.append(outline.edit(place, place, newline * (gap - after)))
    return Change(tuple(edits), lifting.captures.is_safe, f"the lambda became the function {target.id}")


def _annotated(outline: Outline, name: str, node: ast.Lambda, annotation: Any) -> str:
    """The head of a function that says what `Callable[[int], str]` did; nothing where that does not fit."""
    signature = getattr(annotation, "slice", None)
    if last_name(getattr(annotation, "value", annotation)) != "Callable" or not isinstance(signature, ast.Tuple):
        return ""
    given, returned = signature.elts
    names = [argument.arg for argument in node.args.args]
    if not isinstance(given, ast.List) or len(given.elts) != len(names) or ast.unparse(node.args) != ", ".join(names):
        return ""
    parameters = [f"{one}: {outline.code(kind)}" for one, kind in zip(names, given.elts, strict=True)]
    return f"def {name}({', '.join(parameters)}) -> {outline.code(returned)}:"


def _blank_lines(outline: Outline, statement: ast.stmt) -> tuple[int | None, int | None]:
    """The blank lines above and below a statement; None where nothing stands there."""
    lines = outline.module.lines
    first, last = outline.line_with_comments(statement), statement.end_lineno or 0
    block = outline.block(statement)
    above = below = 0
    while first - 2 - above >= 0 and not lines[first - 2 - above].strip():
        above += 1
    while last + below < len(lines) and not lines[last + below].strip():
        below += 1
    is_first = block[0] is statement and first - 1 - above <= (0 if outline.scope_of(statement).is_module else 10**9)
    return (None if is_first else above), (None if block[-1] is statement else below)
