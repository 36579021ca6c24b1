"""Whether a dataset only joins what follows to a path that it gets, so that a slash at its end means nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, last_name, root_name, up
from flake8_torchmp.semantics.values import Class

from .dataset_arguments import DatasetArgument

_TAKING = frozenset(
    "join Path PurePath abspath realpath expanduser normpath fspath exists isdir isfile makedirs mkdir listdir scandir "
    "walk str print isinstance __init__".split()
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


def handing_function(given: DatasetArgument) -> str:
    """The function that does no more with a parameter of its own than to give it to the dataset, if that is so."""
    source, scope = given.source, given.source.frame.scope
    if not isinstance(source.node, ast.Name) or not isinstance(scope.node, ast.FunctionDef):
        return ""
    name = source.node.id
    uses = [use for use in body_nodes(scope.node) if isinstance(use, ast.Name) and use.id == name]
    is_own = name in parameters(scope.node) and all(isinstance(use.ctx, ast.Load) for use in uses)
    return scope.name if is_own and all(_is_joined(use) or _goes_to(use, given.dataset) for use in uses) else ""


def _goes_to(use: ast.Name, dataset: str) -> bool:
    above = up(use)
    call = up(above) if isinstance(above, ast.keyword) else above
    return isinstance(call, ast.Call) and use is not call.func and last_name(call.func) == dataset


def counts_parts(evaluator: Evaluator, cls: Class) -> bool:
    """Whether a dataset takes a part of a path by its place from the beginning: `path.split("/")[1]`."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, int)
        and _splits_path(node.value)
        for one in classes.project_classes(evaluator, cls)
        for node in ast.walk(one.node)
    )


def _splits_path(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or last_name(node.func) != "split" or len(node.args) != 1:
        return isinstance(node, ast.Attribute) and node.attr == "parts"
    by = node.args[0]
    return last_name(by) == "sep" or (isinstance(by, ast.Constant) and by.value in ("/", "\\"))


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
        value = part.value if isinstance(part, ast.Assign) else None
        if isinstance(value, ast.BoolOp):
            value = value.values[0]
        if isinstance(part, ast.Assign) and isinstance(value, ast.Name) and value.id == parameter:
            yield from (target.attr for target in part.targets if isinstance(target, ast.Attribute))


def _is_joined(use: ast.Name | ast.Attribute) -> bool:
    above = up(use)
    if isinstance(above, ast.BoolOp):
        above = up(above)
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
