"""A good name for a lambda, from where it is used and from what it does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.semantics.binder import ADDING
from flake8_torchmp.semantics.nodes import DEFINITIONS, last_name

from .outline import Outline

GENERIC = frozenset(
    "a arg args callable callback cls config f fn fun func function g item iterable k kwargs kwds lambd obj options "
    "self target v value values x".split()
)
"""Names that say nothing of what a function does."""

ROLES = {"Lambda": "transform", "defaultdict": "default"}
"""What a function is for, by the call that it is an argument of."""

PLAIN = ("_function", "_task")
"""What a function is called of which nothing is known."""

_MAKES = re.compile(r"^_*(?:get|make|build|create)(?:_|$)")
_BUILTIN = frozenset("dict float int isinstance len list max min print set sorted str sum tuple".split())
_FINISHING = frozenset(
    "astype clone contiguous copy cpu cuda detach double float half int item long numpy reshape squeeze to tolist type "
    "unsqueeze view".split()
)
"""Methods that give a result the form in which it is wanted."""
_PLACES = frozenset("partial Process Thread submit map apply_async run_in_executor".split())
"""Calls that say nothing of a function that is given to them."""


def names_for(outline: Outline, node: ast.Lambda, role: str, *, is_task: bool = False) -> Iterator[str]:
    """What to call a lambda's function, the best name first.

    `role` is the name of the parameter through which it goes, if that is known; a task is what a pool is given to do.
    """
    body = node.body
    done = _done(body)
    if isinstance(body, ast.Name) and [a.arg for a in node.args.args] == [body.id]:
        done = "identity"
    called = _called(outline, node)
    done = "" if done in _BUILTIN or len(done) < 2 else done
    if isinstance(outline.parents.get(node), ast.List | ast.Tuple | ast.Set) or called in ADDING:
        role = _one_of(role)
    candidates = [_by_branch(outline, node), _by_place(outline, node), done, _by_place_around(outline, node), role]
    if done == "identity" and isinstance(outline.parents.get(node), ast.Return):
        candidates.insert(0, done)
    if called in ROLES and (called != "Lambda" or not done):
        candidates = [ROLES[called], *(name for name in candidates if not name.endswith("_step"))]
    for candidate in candidates:
        name = _as_name(candidate)
        if len(name) > 1 and name not in GENERIC:
            yield f"_{name}"
    if is_task or not called or called in _PLACES or called in ADDING or called in ROLES:
        yield "_task" if is_task else "_function"
    else:
        yield f"_{_as_name(called)}_fn"


def _done(body: ast.expr) -> str:
    """What a function's result is made by: `pad` for `pad(x.unsqueeze(0)).squeeze()`."""
    if not isinstance(body, ast.Call):
        return ""
    done = last_name(body.func)
    before = body.func.value if isinstance(body.func, ast.Attribute) and done in _FINISHING else None
    return (before is not None and _done(before)) or done


def _as_name(text: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower().strip("_")
    return name if name.isidentifier() else ""


def _by_place(outline: Outline, node: ast.AST) -> str:
    """The parameter, name, attribute, key or default that takes a value."""
    child, parent = node, outline.parents.get(node)
    while isinstance(parent, ast.IfExp | ast.BoolOp):
        child, parent = parent, outline.parents.get(parent)
    if isinstance(parent, ast.keyword):
        around = _by_place(outline, outline.parents[parent]) if parent.arg == "default" else ""
        return around or parent.arg or ""
    if isinstance(parent, ast.Return):
        maker = next((item for item in outline.ancestors(parent) if isinstance(item, DEFINITIONS)), None)
        return _MAKES.sub("", maker.name) if maker is not None else ""
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
        if isinstance(target, ast.Subscript):
            return str(target.slice.value) if isinstance(target.slice, ast.Constant) else ""
        return last_name(target)
    if isinstance(parent, ast.Dict) and child in parent.values:
        key = parent.keys[parent.values.index(child)]
        return str(key.value) if isinstance(key, ast.Constant) else ""
    if isinstance(parent, ast.arguments):
        return _parameter_of(parent, child)
    if isinstance(parent, ast.Call) and child in parent.args[1:]:
        before = parent.args[parent.args.index(child) - 1]
        if last_name(parent.func) in ("setattr", "setdefault") and isinstance(before, ast.Constant):
            return str(before.value)
    return ""


def _by_branch(outline: Outline, node: ast.Lambda) -> str:
    """`weight_uniform` where `if kind == Kind.UNIFORM` gives a name one of several lambdas."""
    assign: Any = outline.parents.get(node)
    branch: Any = outline.parents.get(assign)
    if not isinstance(assign, ast.Assign) or not isinstance(branch, ast.If) or assign not in branch.body:
        return ""
    test, first = branch.test, branch
    above: Any = outline.parents.get(first)
    while isinstance(above, ast.If) and first in above.orelse:
        first, above = above, outline.parents.get(above)
    target = ast.dump(assign.targets[0])
    alike = [part for part in ast.walk(first) if isinstance(part, ast.Assign) and ast.dump(part.targets[0]) == target]
    if sum(isinstance(part.value, ast.Lambda) for part in alike) < 2 or not isinstance(test, ast.Compare):
        return ""
    kind = test.comparators[0]
    text = kind.value if isinstance(kind, ast.Constant) and isinstance(kind.value, str) else last_name(kind)
    suffix = re.sub(r"\W+", "_", text).strip("_").lower()
    name = last_name(assign.targets[0])
    is_told = isinstance(test.ops[0], ast.Eq | ast.Is) and suffix and name.lower() not in GENERIC
    return f"{name}_{suffix}" if is_told else ""


def _parameter_of(arguments: ast.arguments, default: ast.AST) -> str:
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[Any, ast.AST | None]] = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return next((parameter.arg for parameter, value in pairs if value is default), "")


def _called(outline: Outline, node: ast.AST) -> str:
    parent = outline.parents.get(node)
    return last_name(parent.func) if isinstance(parent, ast.Call) and parent.func is not node else ""


def _by_place_around(outline: Outline, node: ast.AST) -> str:
    """What takes the list, dict or object that a function is part of."""
    child, others = node, []
    for item in outline.ancestors(node):
        if isinstance(item, ast.stmt):
            break
        if isinstance(item, ast.Call):
            called = last_name(item.func)
            if called in ADDING and isinstance(item.func, ast.Attribute):
                named = called.removeprefix("set_")
                return named if named != called else _one_of(last_name(item.func.value))
            if not called[:1].isupper():
                break
        parts = getattr(item, "args" if isinstance(item, ast.Call) else "elts", ())
        others += [part for part in parts if part is not child] if child in parts else []
        child = item
        found = _by_place(outline, item)
        if found and (not others or _one_of(found) != found):
            return _one_of(found)
        if found:  # a pipeline of steps, or something that is made of a function and of data
            return f"{found}_step" if any(isinstance(part, ast.Call | ast.Lambda) for part in others) else ""
    return ""


def _one_of(name: str) -> str:
    """What to call one of several."""
    return name.removesuffix("s") if not name.endswith("ss") else name
