"""TMP603 exit-in-worker: worker code ends its process instead of raising an exception

## What happens
An exception in worker code travels to the parent with its traceback. `sys.exit()`, `exit()`, `quit()`,
`raise SystemExit`, an argument parser's `error()`, `os._exit()`, `os.abort()` and `os.kill(os.getpid(), …)` end the
worker process itself, and the parent learns nothing of why: a DataLoader raises "DataLoader worker (pid(s) …) exited
unexpectedly", `Pool.map` waits for ever for the answer of the worker that is gone, an executor raises BrokenProcessPool
or, after `sys.exit()`, hands SystemExit on, so that the whole program ends without a word.

The start method plays no role. A `Process` of one's own may end by an exit code: that is reported only where the code
is not 0, nothing looks at `exitcode`, and no line right before it tells why. What `torch.multiprocessing.spawn` runs is
left alone: it reports exit codes.

## Fails
```python
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Roots(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 3:
            sys.exit("no root for 3")
        return torch.tensor(float(index)).sqrt()


if __name__ == "__main__":
    for batch in DataLoader(Roots(), batch_size=2, num_workers=1):
        print(batch)
```
```text
RuntimeError: DataLoader worker (pid(s) 4242) exited unexpectedly
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Roots(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 4:
            raise ValueError("no root for 4")
        return torch.tensor(float(index)).sqrt()


if __name__ == "__main__":
    for batch in DataLoader(Roots(), batch_size=2, num_workers=1):
        print(batch)
```

## What it does not see
- Exits inside of libraries, an argument parser's `error()` and `exit()` aside: a native crash.
- Exits that a caller catches, in another function, as SystemExit.
- Exits more than one call away from what a `Process` begins with: a program that runs in a process of its own, such as
  a viewer, may end like any other.
- Handlers of signals and of KeyboardInterrupt may exit: they are left alone.

## How to silence it
Raise an exception. Or write `# noqa: TMP603` on the line, or ignore the code in setup.cfg, for single files with
per-file-ignores. A function that runs in worker processes in a way the rule cannot see is named by
`torchmp-worker-functions`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.failures.exits import (
    exits_in,
    is_caught_by_callers,
    is_exit_code_looked_at,
    is_never_come_to,
    is_switched_off,
)
from flake8_torchmp.boundary.failures.handlers import is_told_before
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.working import samples
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position

from . import rule


@rule("TMP603", "exit-in-worker", fix="unsafe")
def exit_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if worker.kind == "spawn" or (worker.kind == "process" and worker.is_far):
            continue
        exits = list(exits_in(worker.scope, model.outline))
        frames = samples.frames_of_given(model.loaders, worker) if exits else []
        for found in exits:
            if frames and all(is_switched_off(found.node, model.evaluator, frame) for frame in frames):
                continue
            if worker.kind == "process" and (
                found.is_success or is_told_before(found.node) or is_exit_code_looked_at(module, model.codebase)
            ):
                continue
            if is_never_come_to(found.node, worker.scope, model.evaluator):
                continue
            if is_caught_by_callers(found, worker.scope, model.evaluator):
                continue
            message = (
                f"{found.text} in worker code ({worker.reached_from}) ends the worker process, and the parent never "
                "learns why or waits for ever: raise an exception"
            )
            way = [Step(worker.scope.module.path, position(found.node)[0], f"{worker.scope.name}() exits")]
            repair = model.repair("raise_instead_of_exit", found.node, worker.scope.module)
            yield model.finding("TMP603", message, found.node, worker.scope.module, way, repair=repair)
