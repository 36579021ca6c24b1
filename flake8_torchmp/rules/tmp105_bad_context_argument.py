"""TMP105 bad-context-argument: a call is given a context that it does not take, or a start method that does not exist

## What happens
Each call is told in its own way by which start method it makes processes:

- a DataLoader by `multiprocessing_context=`, a name or a context object (not the module `multiprocessing`);
- a ProcessPoolExecutor by `mp_context=`, a context object and no name: with a name it raises
  "'str' object has no attribute 'get_start_method'";
- `start_processes` by `start_method=`, a name;
- a Process, a Pool, a Queue, a Lock not at all: they are methods of a context, `get_context("spawn").Pool(...)`. With
  such an argument they raise TypeError: "got an unexpected keyword argument 'mp_context'";
- `get_context` and `set_start_method` by a name, one of fork, spawn and forkserver. Any other name raises ValueError:
  "cannot find context for 'forkserve'".

## Fails
```python
from concurrent.futures import ProcessPoolExecutor

import torch


def norm(size):
    return torch.ones(size).norm().item()


if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context="spawn") as executor:
        print(list(executor.map(norm, [4, 9])))
```
```text
AttributeError: 'str' object has no attribute 'get_start_method'
```

## Works
```python
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch


def norm(size):
    return torch.ones(size).norm().item()


if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        print(list(executor.map(norm, [4, 9])))
```

## What it does not see
- Names and contexts that come from the command line (an option's default is seen), the environment or a file.
- A name behind a test that mentions it, or under a handler of the error, is trusted.

## How to silence it
Write `# noqa: TMP105` on the line that is reported, ignore the code in setup.cfg (`extend-ignore = TMP105`), or for one
file with per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.methods import is_context
from flake8_torchmp.boundary.crossing.context_arguments import BadContext
from flake8_torchmp.boundary.crossing.method_names import MethodName
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Repair
from flake8_torchmp.semantics.flow import Condition, caught_around, conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name, listed_constants
from flake8_torchmp.semantics.values import Constant, Result, Value
from flake8_torchmp.settings import START_METHODS

from . import rule


@rule("TMP105", "bad-context-argument", fix="safe")
def bad_context_argument(module: Module, model: Model) -> Iterator[Finding]:
    for bad in model.context_arguments.bad(module):
        if {"", "TypeError", "AttributeError", "Exception"}.isdisjoint(caught_around(bad.call)):
            place, repair = (bad.source.node, bad.source.frame.module), _repair(bad, model)
            yield model.finding("TMP105", _MESSAGES[bad.problem](bad), *place, repair=repair)
    for named in model.method_names.of(module):
        if named.method not in START_METHODS and not _is_considered(named):
            message = (
                f'{named.text} is given "{named.method}", and there is no such start method '
                "(ValueError: cannot find context): choose spawn, forkserver or fork"
            )
            repair = model.repair("context_argument", named.node, named.module, problem="name")
            yield model.finding("TMP105", message, named.node, named.module, named.way, repair=repair)


_MESSAGES = {
    "keyword": lambda bad: f"{bad.name} takes no {bad.keyword}= (TypeError): {_instead(bad)}",
    "text": lambda bad: (
        f"{bad.keyword}= of {bad.name} wants a context object, not its name (AttributeError): give it get_context(...)"
    ),
    "module": lambda bad: (
        f"{bad.keyword}= of {bad.name} is given the module multiprocessing (TypeError): give it get_context(...)"
    ),
    "object": lambda bad: f"{bad.name}() is given a context object, not its name (ValueError): give it the name",
}


def _repair(bad: BadContext, model: Model) -> Repair | None:
    """Where what is given is one thing alone, a context or a name."""
    values = model.evaluator.of(bad.source)
    if bad.problem == "module" and isinstance(bad.source.node, ast.Name | ast.Attribute):
        notes = {"problem": "module", "method": model.settings.start_method}
        return model.repair("context_argument", bad.source.node, bad.source.frame.module, **notes)
    if all(_is_name(value) for value in values):
        given = "text"
    elif all(is_context(value) for value in values):
        given = "context"
    else:
        return None
    if bad.problem == "text" and given == "text":
        return model.repair("context_argument", bad.source.node, bad.source.frame.module, problem="text")
    if bad.problem != "keyword" or bad.taken or last_name(bad.call.func) == "__init__":
        return None
    notes = {"problem": "keyword", "keyword": bad.keyword, "name": bad.name, "value": given}
    return model.repair("context_argument", bad.call, bad.frame.module, **notes)


def _is_name(value: Value) -> bool:
    """Whether a value is the name of a start method, as it is written or asked for."""
    if isinstance(value, Constant):
        return isinstance(value.value, str)
    return isinstance(value, Result) and value.name.endswith("multiprocessing.get_start_method")


def _instead(bad: BadContext) -> str:
    if bad.taken:
        return f"the argument is {bad.taken}="
    return f"call it on the context, get_context(...).{bad.name}(...)"


def _is_considered(named: MethodName) -> bool:
    """Whether a test on the way mentions the name, or the error is caught."""
    places = [named.call, *(node for node, _ in named.passed)]
    if any(not {"", "ValueError", "Exception", "BaseException"}.isdisjoint(caught_around(node)) for node in places):
        return True
    return any(
        not named.method
        or any(isinstance(p, ast.Constant) and p.value == named.method for p in ast.walk(condition.test))
        or _chooses(condition, named.method)
        for node in places
        for condition in conditions(node)
    )


def _chooses(condition: Condition, method: str) -> bool:
    """Whether a test asks if something is among others, and may so keep the name away."""
    test, holds = condition
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In | ast.NotIn):
        return False
    known = listed_constants(test.comparators[0])
    if known is not None:
        return ((method in known) is isinstance(test.ops[0], ast.In)) is not holds
    return not isinstance(test.left, ast.Constant)
