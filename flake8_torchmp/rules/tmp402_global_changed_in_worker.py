"""TMP402 global-changed-in-worker: worker code changes a module-level name, and the parent never sees it

## What happens
Each worker process has its own copy of every module. What worker code appends to a list at module level, counts in a
global or stores in a dict stays in that worker and ends with it; the parent reads what it had itself: an empty list, a
zero. There is no error. It is so under every start method, on every platform.

A `multiprocessing.Value`, `Queue`, `Event` or `Lock` at module level is shared under fork alone. A spawned child, or
one of a fork server, imports the module anew and makes its own: counts are lost, and a `get()` waits for ever.
That is every child on Windows, on macOS since Python 3.8, and everywhere since Python 3.14.

What a worker learns goes back as a result: returned by the pool's function, part of the batch, put on a queue. A shared
object has to come from the parent, as an argument of the process or through the initializer of the pool.

The finding is on the first change of that name in worker code, be it in the function itself or in one that it calls;
if several files change it, on the first of them, tests last, and it says how many more there are.

Only what a program reads counts whose workers change it: a list that another script prints is nobody's loss here. A
process that sets its own copy, by a function that the parent calls for itself as well, from what it was handed, or
where `os.getpid()` has changed, loses nothing either.

## Fails
```python
import torch
from torch.utils.data import DataLoader

dropped = 0


def keep_positive(numbers):
    global dropped
    kept = [number for number in numbers if number > 0]
    dropped += len(numbers) - len(kept)
    return torch.tensor(kept)


def main():
    numbers = [1, -2, 3, -4]
    kept = sum(len(batch) for batch in DataLoader(numbers, batch_size=2, num_workers=1, collate_fn=keep_positive))
    assert kept + dropped == len(numbers), f"{kept} kept and {dropped} dropped of {len(numbers)}"


if __name__ == "__main__":
    main()
```
```text
AssertionError: 2 kept and 0 dropped of 4
```

## Works
```python
import torch
from torch.utils.data import DataLoader


def keep_positive(numbers):
    kept = [number for number in numbers if number > 0]
    return torch.tensor(kept), len(numbers) - len(kept)


def main():
    numbers = [1, -2, 3, -4]
    kept = dropped = 0
    for batch, left_out in DataLoader(numbers, batch_size=2, num_workers=1, collate_fn=keep_positive):
        kept += len(batch)
        dropped += left_out
    assert kept + dropped == len(numbers), f"{kept} kept and {dropped} dropped of {len(numbers)}"


if __name__ == "__main__":
    main()
```

## What it does not see
- Changes made where the source does not show it: by a method of an installed class whose effect is unknown, through
  `exec` or `setattr` with a computed name.
- Attributes of classes that are set (`Meter.last = 1`) rather than counted up or appended to; attributes of the
  dataset itself are TMP403's.
- A cache is not reported where worker code alone reads it: lazy initialisation once per process
  (`if X is None: X = open_it()`), a dict that is asked before it is filled, `functools.cache`. Each worker then does
  the work once for itself.
- Changes more than one call away from what workers begin with: what a program registers, counts or times there is of
  the process that does it, wherever that runs.
- State of libraries that a worker sets up for itself, such as `random.seed`, `os.environ` or a logger's level.

## How to silence it
Write `# noqa: TMP402` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP402` there, or their counterparts in the tool's own table of pyproject.toml.
A function that runs in worker processes in a way the rule cannot see is named by `torchmp-worker-functions`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from itertools import chain

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.module_state.class_state import changed_through_objects, is_read_by_own_methods
from flake8_torchmp.boundary.module_state.shared_memory import is_shared, is_shared_at_import
from flake8_torchmp.boundary.working.sides import is_left_to_parent
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position
from flake8_torchmp.semantics.scopes import Scope

from . import first_of_files, rule


@rule("TMP402", "global-changed-in-worker")
def global_changed_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    lost: dict[str, list[Finding]] = {}
    here = {worker.scope for worker in model.workers.of(module)}
    for worker in model.workers.of(module):
        if worker.is_far:
            continue
        found = chain(model.state.changed_by(worker.scope), changed_through_objects(worker.scope, model.state))
        changed = [item for item in found if _is_state(*item, model) and not is_left_to_parent(item[0], worker)]
        read = [item for item in model.state.names.read_by(worker.scope) if model.state.is_primitive(item[1])]
        if not (changed or read):
            continue
        if model.workers.sets_up(worker.scope):
            changed, read = [item for item in changed if model.state.is_collected(*item, model.workers, module)], []
        if model.workers.is_of_program(worker, module):
            continue
        known = [variable for _, variable in changed]
        for node, variable in (*changed, *(item for item in read if item[1] not in known)):
            attribute = "" if model.state.is_primitive(variable) else model.state.gathered_in_class(node, variable)
            may_meet = partial(_may_meet, model=model, seed=module, worker=worker, here=here)
            is_primitive = model.state.is_primitive(variable)
            if not (
                (is_primitive and _has_company(worker, module, model))
                or model.state.is_read_by_parent(variable, model.workers, attribute, may_meet)
                or is_read_by_own_methods(variable, attribute, model.state, model.workers, may_meet)
            ):
                continue
            cause = f"{variable.text}.{attribute}" if attribute else variable.text
            if not is_primitive and is_shared(variable, model.state, model.evaluator):
                if not is_shared_at_import(variable, model.evaluator):
                    continue  # a spawned worker misses it altogether, which is TMP203's or TMP401's
                is_primitive = True
            if not is_primitive:
                own = model.own_copies
                if not own.is_set(node, variable, worker) and not own.begins_anew(variable, attribute):
                    lost.setdefault(cause, []).append(_lost(node, variable, cause, worker, model))
            elif worker.methods - {"fork"} and not model.state.is_set_in_workers(variable, model.workers, module):
                lost.setdefault(cause, []).append(_unshared(node, variable, worker, model))
    for several in lost.values():
        yield first_of_files(several)


def _may_meet(
    node: ast.AST, module: Module, model: Model, seed: Module, worker: WorkerFunction, here: set[Scope]
) -> bool:
    """Whether code that is none of the workers' own runs in a program that starts them."""
    return module.scope_of(node).enclosing_function() not in here and model.programs.may_meet(
        node, module, seed, worker
    )


def _has_company(worker: WorkerFunction, module: Module, model: Model) -> bool:
    """Whether several workers run a function, which each have a primitive of their own in it."""
    return worker.kind != "process" or model.company.several(module, receiver=worker.receiver)


def _is_state(node: ast.AST, variable: Global, model: Model) -> bool:
    return model.state.is_variable(variable) or bool(model.state.gathered_in_class(node, variable))


def _lost(node: ast.AST, variable: Global, cause: str, worker: WorkerFunction, model: Model) -> Finding:
    message = (
        f"{worker.scope.name}() changes the global {variable.name} in a worker ({worker.reached_from}), where the "
        "parent never sees it: return the result, or share it through a queue or shared memory"
    )
    way = [
        *variable.made("is made"),
        Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() changes it in a worker"),
    ]
    return model.finding("TMP402", message, node, worker.scope.module, way, cause=cause)


def _unshared(node: ast.AST, variable: Global, worker: WorkerFunction, model: Model) -> Finding:
    """A shared value or queue at module level: each spawned child makes its own."""
    message = (
        f"{worker.scope.name}() uses the module-level {variable.name}, which each spawned worker makes anew, "
        f"so nothing is shared ({worker.reached_from}): pass it as an argument or through an initializer"
    )
    way = [
        *variable.made("is made"),
        Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() uses it in a worker"),
    ]
    return model.finding("TMP402", message, node, worker.scope.module, way, cause=variable.text)
