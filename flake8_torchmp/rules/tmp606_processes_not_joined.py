"""TMP606 processes-not-joined: `mp.spawn(join=False)` whose context is dropped: nobody waits, nobody hears of failures

## What happens
`torch.multiprocessing.spawn` and `start_processes` wait for their processes and raise in the parent what one of them
raised. With `join=False` they return a context at once, and its `join()` does both. Where the context is dropped, the
parent goes on while the work has hardly begun, reads results that are not there yet, and never learns that a process
failed: its traceback stays in the dead process.

The start method plays no role.

## Fails
```python
import torch
import torch.multiprocessing as mp


def fill(rank, out):
    out[rank] = rank + 1


def main():
    out = torch.zeros(2).share_memory_()
    mp.spawn(fill, args=(out,), nprocs=2, join=False)
    assert out.tolist() == [1, 2], out.tolist()


if __name__ == "__main__":
    main()
```
```text
AssertionError: [0.0, 0.0]
```

## Works
```python
import torch
import torch.multiprocessing as mp


def fill(rank, out):
    out[rank] = rank + 1


def main():
    out = torch.zeros(2).share_memory_()
    context = mp.spawn(fill, args=(out,), nprocs=2, join=False)
    while not context.join():
        pass
    assert out.tolist() == [1, 2], out.tolist()


if __name__ == "__main__":
    main()
```

## What it does not see
- What becomes of a context that is handed on or kept on an object: it counts as joined.
- Whether `join()` is called often enough: it returns False until the last process has ended.
- A `join=` that comes from somewhere the source does not show.

## How to silence it
Leave `join=False` out, or keep the context and call its `join()` until it is true. Or write `# noqa: TMP606` on the
line of the call, or ignore the code in setup.cfg, for single files with per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.crossings import Call
from flake8_torchmp.boundary.failures.outcomes import is_dropped
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import up
from flake8_torchmp.semantics.values import Constant

from . import rule

POSITION_OF_JOIN = 3


@rule("TMP606", "processes-not-joined")
def processes_not_joined(module: Module, model: Model) -> Iterator[Finding]:
    for call in model.crossings.calls(module):
        join = call.arguments.get(POSITION_OF_JOIN, "join") if call.api.kind == "spawn" else None
        received = _receiving(call) if join is not None else None
        if join is None or received is None:
            continue
        place, where = received
        if where.calls_of("active_children") or not is_dropped(place, where, model.outline, frozenset()):
            continue
        if all(isinstance(value, Constant) and value.value is False for value in model.evaluator.of(join)):
            message = (
                f"{call.api.name}(join=False) drops its context, so nobody waits for the processes or hears that one "
                "failed: leave join=False out, or keep the context and join() it"
            )
            yield model.finding("TMP606", message, place, where)


def _receiving(call: Call) -> tuple[ast.Call, Module] | None:
    """The call that gets the context and keeps or drops it: the launcher's, or that of a function that returns it."""
    node, frame = call.node, call.frame
    while isinstance(up(node), ast.Return):
        if frame.arguments is None or not isinstance(frame.arguments.call, ast.Call):
            return None
        node, frame = frame.arguments.call, frame.arguments.frame
    return node, frame.module
