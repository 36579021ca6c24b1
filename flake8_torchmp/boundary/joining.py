"""Whether a dataset only joins what follows to a path that it gets, so that a slash at its end means nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name, root_name, up
from flake8_torchmp.semantics.values import Class

_TAKING = frozenset(
    "join Path PurePath abspath realpath expanduser normpath fspath exists isdir isfile makedirs mkdir listdir scandir "
    "walk str print __init__".split()
)


def only_joins(evaluator: Evaluator, cls: Class, parameter: str, user: Module) -> bool:
    """Also what the module that makes the dataset does with the attribute that keeps the path has to be joining."""
    made_of = classes.project_classes(evaluator, cls)
    kept = {attribute for one in made_of for attribute in _kept(one.node, parameter)}
    modules = {id(module): module for module in (user, *(one.scope.module for one in made_of))}
    uses = [use for one in made_of for use in ast.walk(one.node) if isinstance(use, ast.Name) and use.id == parameter]
    reads = [read for module in modules.values() for name in kept for read in module.loads(name)]
    methods = {part.name: part for one in made_of for part in one.node.body if isinstance(part, ast.FunctionDef)}
    is_joined = all(_is_joined(use) or _is_handed_on(use, methods) for use in uses)
    return is_joined and all(_is_joined(read) for read in reads if isinstance(read, ast.Attribute))


def _is_handed_on(use: ast.Name, methods: dict[str, ast.FunctionDef]) -> bool:
    """Whether it goes to a method of the class, under the same name: what that does with it is looked at as well."""
    above = up(use)
    call = up(above) if isinstance(above, ast.keyword) else above
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    method = methods.get(call.func.attr)
    return root_name(call.func) == "self" and method is not None and use.id in [one.arg for one in method.args.args]


def _kept(node: ast.ClassDef, parameter: str) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Name) and part.value.id == parameter:
            yield from (target.attr for target in part.targets if isinstance(target, ast.Attribute))


def _is_joined(use: ast.Name | ast.Attribute) -> bool:
    above = up(use)
    if isinstance(use.ctx, ast.Store) or (
        isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Attribute)
    ):
        return True
    if isinstance(above, ast.keyword):
        above = up(above)
    if isinstance(above, ast.Call):
        return use is not above.func and last_name(above.func) in _TAKING
    if isinstance(above, ast.BinOp):
        return isinstance(above.op, ast.Div) or (use is above.left and _begins_with_slash(above.right))
    if isinstance(above, ast.FormattedValue):
        values = up(above).values  # type: ignore[union-attr]
        place = values.index(above) + 1
        return place < len(values) and _begins_with_slash(values[place])
    return False


def _begins_with_slash(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/")
