"""TMP203 guarded-global-read-in-worker: worker code reads a global that only the main program has

## What happens
A spawned or forkserved child imports the main module as `__mp_main__`: the code under `if __name__ == "__main__":` does
not run there, so a name that is bound in it (the arguments, a model, a vocabulary, also a module that is imported
there) does not exist. Worker code that reads it raises NameError, in the child alone. Under fork the child has a copy
of everything, and the program works: on Linux until Python 3.13, not on macOS, not on Windows, and on Linux from 3.14
on only where fork is chosen by name. `mp.spawn` fails everywhere.

The same goes for a name that a function binds by `global`, if only the guard calls that function, or if it is the
function that starts the workers itself.

## Fails
```python
import argparse

import torch
from torch.utils.data import DataLoader


def scale(samples):
    return torch.tensor(samples) * args.factor


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--factor", type=float, default=0.5)
    args = parser.parse_args()
    for batch in DataLoader(range(4), batch_size=2, num_workers=1, collate_fn=scale):
        print(batch)
```
```text
NameError: name 'args' is not defined
```

## Works
```python
import argparse
import functools

import torch
from torch.utils.data import DataLoader


def scale(samples, factor):
    return torch.tensor(samples) * factor


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--factor", type=float, default=0.5)
    args = parser.parse_args()
    collate = functools.partial(scale, factor=args.factor)
    for batch in DataLoader(range(4), batch_size=2, num_workers=1, collate_fn=collate):
        print(batch)
```

## What it does not see
- A name that module level binds as well, if only to None: the worker reads that value, which is TMP401's matter.
- Reads of a function that a worker is not even given, because it is defined under the guard (TMP202) or inside another
  function (TMP302): they come to light once that is mended.
- Reads by `globals()`, `eval` or `getattr` of the module.
- A read that can be reached only where `__name__` is `__main__` is known to be harmless; other conditions are not
  looked at.

## How to silence it
Write `# noqa: TMP203` on the line of the first read, or ignore the code in setup.cfg, for single files with
per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.module_state.bound_by_starters import starter_that_binds
from flake8_torchmp.boundary.working.sides import is_left_to_parent
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.flow import caught_around
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position, up

from . import rule


@rule("TMP203", "guarded-global-read-in-worker")
def guarded_global_read_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if not worker.methods - {"fork"}:
            continue
        if _does_not_come(worker, model):
            continue
        for node, variable in model.state.names.names_in(worker.scope):
            by = _bound_by(variable, module, model)
            if (
                by
                and not _is_set_by_workers(variable, model)
                and not _is_tested(variable, worker)
                and "NameError" not in caught_around(node)
                and not is_guarded(model.evaluator, node, worker.scope.module)
                and not is_left_to_parent(node, worker)
            ):
                message = (
                    f"{variable.name} is bound only {by}, so {worker.scope.name}() finds no such name "
                    f"in a spawned worker ({worker.reached_from}): pass it as an argument"
                )
                way = [
                    *variable.made("is bound"),
                    Step(worker.scope.module.path, position(node)[0], f"read in {worker.scope.name}()"),
                ]
                yield model.finding("TMP203", message, node, worker.scope.module, way, cause=variable.text)


def _bound_by(variable: Global, module: Module, model: Model) -> str:
    """In words, what binds a name in the parent alone, if nothing else does."""
    if model.state.is_bound_by_guard_alone(variable):
        return "under the main guard"
    starter = starter_that_binds(variable, module, model.state, model.workers)
    return f"by {starter.name}() in the parent" if starter is not None else ""


def _does_not_come(worker: WorkerFunction, model: Model) -> bool:
    """Whether a spawned worker is not even given the function, which TMP202, TMP301 and TMP302 say."""
    scope = worker.scope
    is_local = isinstance(scope.node, ast.Lambda) or (scope.parent is not None and scope.parent.is_function)
    return (is_local and not worker.calls_away) or is_guarded(model.evaluator, scope.node, scope.module)


def _is_set_by_workers(variable: Global, model: Model) -> bool:
    bindings = [binding for binding in variable.bindings if binding.kind != "augmented"]
    functions = [variable.module.scope_of(binding.node).enclosing_function() for binding in bindings]
    return any(function is not None and model.workers.runs(function) for function in functions)


def _is_tested(variable: Global, worker: WorkerFunction) -> bool:
    """`"args" in globals()`: the author knows that it may be missing."""
    for call in worker.scope.module.calls.get("globals", ()):
        test = up(call)
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Constant) and test.left.value == variable.name:
            return True
    return False
