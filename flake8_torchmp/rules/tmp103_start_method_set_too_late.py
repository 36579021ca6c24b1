"""TMP103 start-method-set-too-late: set_start_method runs when the default context is fixed already

## What happens
A program has one default context. It takes its start method with the first thing that needs it, and keeps it:
`set_start_method` after that raises "context has already been set", also when it names the method that is in force.

A first `set_start_method` fixes the context, and so do a Queue, Lock, Event, Value, Array, Manager or Pool of the
default context, a ThreadPool, a ProcessPoolExecutor without `mp_context`, a process that was started, a DataLoader with
workers that was iterated, `get_context()` and `get_start_method()`. A process that is spawned by a context of its own
fixes it too (`mp.spawn`, `get_context("spawn").Pool()`): it asks for the default in order to tell its child. In worker
processes it is fixed from the beginning.

A Process that is only made, a Pipe, a RawValue, a DataLoader that is only made, `get_context("spawn")` and its queues,
`get_start_method(allow_none=True)`, `cpu_count()`, SharedMemory and `share_memory_()` fix nothing, and
`set_start_method(None, force=True)` forgets what was fixed.

The rule follows the program in the order in which it runs, from its main module and from functions that nobody in the
project calls, through calls, imports, branches, loops and handlers.

## Fails
```python
import torch.multiprocessing as mp


def work(results):
    results.put(1)


if __name__ == "__main__":
    results = mp.Queue()
    mp.set_start_method("spawn")
    process = mp.Process(target=work, args=(results,))
    process.start()
    print(results.get())
    process.join()
```
```text
RuntimeError: context has already been set
```

## Works
```python
import torch.multiprocessing as mp


def work(results):
    results.put(1)


if __name__ == "__main__":
    mp.set_start_method("spawn")
    results = mp.Queue()
    process = mp.Process(target=work, args=(results,))
    process.start()
    print(results.get())
    process.join()
```
A context of its own, `ctx = mp.get_context("spawn")`, with `ctx.Queue()` and `ctx.Process()`, needs no turn to be kept.

## What it does not see
- What installed packages do when they are imported or called.
- `force=True` and a handler of RuntimeError around the call or around its caller are trusted, though a queue that was
  made before may then belong to another method (TMP106).
- Tests that exclude each other in other words than the same text, `x == 1` and `x == 2`, or `not`.

## How to silence it
Write `# noqa: TMP103` on the line of the call, ignore the code in setup.cfg (`extend-ignore = TMP103`), or for one
file with per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.methods import asks_whether_set, mp_name
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.runs.program_runs import CATCHING, SETTLING, is_forced
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.decorating import caught_on_the_way
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP103", "start-method-set-too-late")
def start_method_set_too_late(module: Module, model: Model) -> Iterator[Finding]:
    calls = [call for call in module.calls_of("set_start_method") if _can_fail(call, module, model)]
    moments = model.timeline.of([module.scope_of(call) for call in calls]) if calls else {}
    for call in calls:
        moment = moments.get(id(call))
        before = [m for m in moment.before if m.kind in SETTLING] if moment is not None else []
        if before:
            first = min(before, key=lambda m: (m.node is call, m.module is not module, getattr(m.node, "lineno", 0)))
            line = getattr(first.node, "lineno", 1)
            place = f"line {line}" if first.module is module else f"{first.module.name}, line {line}"
            reason = "when it ran before" if first.node is call else f"by {first.text} in {place}"
            way: tuple[Step, ...] = (
                Step(first.module.path, line, first.text),
                Step(module.path, call.lineno, "set_start_method()"),
            )
        elif _runs_in_worker(call, module, model):
            reason, way = "in every worker, where this runs", ()
        else:
            continue
        message = (
            f'the context was fixed {reason}, so set_start_method() raises "context has already been set": '
            "set the method once, first of all"
        )
        yield model.finding("TMP103", message, call, module, way)


def _can_fail(call: ast.Call, module: Module, model: Model) -> bool:
    evaluator = model.evaluator
    frame = evaluator.frame_at(call, module)
    if not any(mp_name(value) == "set_start_method" for value in evaluator.values(call.func, frame)):
        return False
    if is_forced(evaluator, evaluator.arguments(call, frame)):
        return False
    if not CATCHING.isdisjoint(caught_on_the_way(evaluator, call, module)):
        return False
    return not asks_whether_set(evaluator, call, frame)


def _runs_in_worker(call: ast.Call, module: Module, model: Model) -> bool:
    function = module.scope_of(call).enclosing_function()
    return function is not None and model.workers.runs(function)
