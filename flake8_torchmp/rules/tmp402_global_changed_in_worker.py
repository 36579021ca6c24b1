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

from flake8_torchmp.boundary.class_state import changed_through_objects
from flake8_torchmp.boundary.global_names import Global
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.workers import WorkerFunction
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.binder import MUTATORS
from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, last_name, position, statement_of, up
from flake8_torchmp.semantics.scopes import Binding, Scope

from . import first_of_files, rule

MOST_CALLERS = 40


@rule("TMP402", "global-changed-in-worker")
def global_changed_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    lost: dict[str, list[Finding]] = {}
    for worker in model.workers.of(module):
        found = chain(model.state.changed_by(worker.scope), changed_through_objects(worker.scope, model.state))
        changed = [item for item in found if _is_state(*item, model)]
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
            may_meet = partial(model.programs.may_meet, seed=module, kind=worker.kind)
            if not model.state.is_read_by_parent(variable, model.workers, attribute, may_meet):
                continue
            cause = f"{variable.text}.{attribute}" if attribute else variable.text
            if not model.state.is_primitive(variable):
                if not _is_own(node, variable, worker, model) and not _begins_anew(variable, attribute, model):
                    lost.setdefault(cause, []).append(_lost(node, variable, cause, worker, model))
            elif worker.methods - {"fork"} and not model.workers.are_set_in_worker(variable, model.state):
                lost.setdefault(cause, []).append(_unshared(node, variable, worker, model))
    for several in lost.values():
        yield first_of_files(several)


def _is_state(node: ast.AST, variable: Global, model: Model) -> bool:
    return model.state.is_variable(variable) or bool(model.state.gathered_in_class(node, variable))


def _is_own(node: ast.AST, variable: Global, worker: WorkerFunction, model: Model) -> bool:
    """Whether each process sets its copy for itself: by a setter that the parent calls as well, or as a whole."""
    if model.state.is_set_by(variable, worker, model.workers) or _is_bound_before(node, variable, worker):
        return True
    if model.state.is_entered_around(node, variable) or model.state.is_told_by_process(variable):
        return True  # what a context manager sets it takes back
    binding = next((item for item in variable.bindings if item.node is node), None)
    if binding is None:
        return _sets(node, worker.scope.module, model) and _is_run_by_parent(worker.scope, model)
    if binding.kind != "assign" or binding.value is None:
        return False
    if any(isinstance(part, ast.Name) and part.id == variable.name for part in ast.walk(binding.value)):
        return False
    if any(other is not binding and _is_bound_by_parent(other, variable, model) for other in variable.bindings):
        return True
    return _is_run_by_parent(worker.scope, model)


def _begins_anew(variable: Global, attribute: str, model: Model) -> bool:
    """Whether worker code binds anew what a class keeps, before it adds to that: `Config.stack = [index]`."""
    return bool(attribute) and any(
        mutation.attribute == attribute
        and _sets(mutation.node, mutation.module, model)
        and (function := mutation.module.scope_of(mutation.node).enclosing_function()) is not None
        and model.may_run_in_workers(function)
        for mutation in model.state.mutations.of(variable)
    )


def _sets(node: ast.AST, module: Module, model: Model) -> bool:
    """Whether a change sets what is there, rather than adding to it: `OPTIONS.size = 1`, `OPTIONS.load(path)`."""
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        mutations = model.state.mutations
        return name == "clear" or not (
            name in MUTATORS or mutations.collects(node, module) or mutations.stores(node, module)
        )
    return isinstance(node, ast.Attribute) and not isinstance(up(node), ast.AugAssign)


def _is_run_by_parent(scope: Scope, model: Model) -> bool:
    """Whether the parent comes to a function of workers for itself too, otherwise than by handing it over."""
    seen = {scope.place}
    pending = [scope]
    while pending and len(seen) < MOST_CALLERS:
        for caller, _ in model.evaluator.callers.of(pending.pop()):
            around = caller.frame.scope.enclosing_function()
            if _is_handed_over(caller, model):
                continue
            if around is None or not model.workers.runs(around):
                if model.state.phase(caller.call, caller.frame.module) == "parent":
                    return True
            elif around.place not in seen:
                seen.add(around.place)
                pending.append(around)
    return False


def _is_bound_by_parent(binding: Binding, variable: Global, model: Model) -> bool:
    """Whether a function of the parent binds it: what the parent reads is its own."""
    function = variable.module.scope_of(binding.node).enclosing_function()
    return function is not None and not model.workers.runs(function) and model.state.phase_of(function) == "parent"


def _is_handed_over(caller: Arguments, model: Model) -> bool:
    """Whether a function is not called there, but given to what has workers call it."""
    places = [caller.call] if isinstance(caller.call, ast.Call) else ancestors(caller.call)
    calls = [crossing.call for crossing in model.crossings.of(caller.frame.module)]
    return any(place is call for place in places for call in calls)


def _is_bound_before(node: ast.AST, variable: Global, worker: WorkerFunction) -> bool:
    """`global options; options = mine; options.rank = rank`: what is changed is the worker's already."""
    body = getattr(worker.scope.node, "body", None)
    return isinstance(body, list) and any(
        binding.kind == "assign"
        and statement_of(binding.node) in body
        and position(binding.node) < position(statement_of(node))
        for binding in variable.bindings
    )


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
