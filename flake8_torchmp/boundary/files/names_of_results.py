"""Listings that name the results as well: `for i, batch in enumerate(loader): save(files[i], batch)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, last_name, statement_of
from flake8_torchmp.semantics.values import Constant, Result

ORDERING = ("shuffle", "sampler", "batch_sampler")


def names_results(evaluator: Evaluator, listing: ast.Call, module: Module) -> bool:
    """Whether a listing is all that goes to a loader which keeps its order, and tells there what each result is of.

    Then it does not matter which file comes first: no other list, process or machine has to agree.
    """
    statement = statement_of(listing)
    names = statement.targets if isinstance(statement, ast.Assign) else []
    if len(names) != 1 or not isinstance(names[0], ast.Name) or not isinstance(statement, ast.Assign):
        return False
    name, function = names[0].id, module.scope_of(listing).enclosing_function()
    nodes = body_nodes(function.node) if function is not None else []
    given = [call for call in nodes if isinstance(call, ast.Call) and _is_given(name, call)]
    made_of_it = [call for call in given if last_name(call.func) not in ("len", "print", "str", "enumerate")]
    return len(made_of_it) == 1 and any(
        _keeps_order(evaluator, iterated, made_of_it[0], module) for iterated in _iterated_beside(name, nodes)
    )


def _is_given(name: str, call: ast.Call) -> bool:
    return any(isinstance(a, ast.Name) and a.id == name for a in (*call.args, *(k.value for k in call.keywords)))


def _iterated_beside(name: str, nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """The loader of `for i, batch in enumerate(loader):`, in which the list is asked for what has that number."""
    for loop in nodes:
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not loop.iter.args:
            continue
        if last_name(loop.iter.func) != "enumerate" or not isinstance(loop.target, ast.Tuple):
            continue
        number = loop.target.elts[0]
        if isinstance(number, ast.Name) and any(
            isinstance(part, ast.Subscript)
            and isinstance(part.value, ast.Name)
            and part.value.id == name
            and isinstance(part.slice, ast.Name)
            and part.slice.id == number.id
            for statement in loop.body
            for part in ast.walk(statement)
        ):
            yield loop.iter.args[0]


def _keeps_order(evaluator: Evaluator, iterated: ast.expr, made: ast.Call, module: Module) -> bool:
    """Whether what is iterated is a loader, of the dataset that a call makes of the list alone, one after another."""
    others = [part for part in (*made.args, *(k.value for k in made.keywords)) if isinstance(part, ast.Name)]
    if len(others) != 1:
        return False
    for value in evaluator.values(iterated, evaluator.frame_at(iterated, module)):
        if not isinstance(value, Result) or value.name not in apis.LOADERS:
            return False
        dataset = value.arguments.get(0, "dataset")
        made_of = evaluator.of(dataset) if dataset is not None else ()
        calls = [getattr(one, "arguments", None) for one in made_of]
        if [call.call for call in calls if call is not None] != [made] or value.arguments.is_open:
            return False
        ordered = [source for keyword in ORDERING if (source := value.arguments.get(None, keyword)) is not None]
        told = [one for source in ordered for one in evaluator.of(source)]
        if len(value.arguments.positional) > 2 or not all(isinstance(v, Constant) and not v.value for v in told):
            return False
    return True
