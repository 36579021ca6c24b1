"""TMP905 cpu-count-workers: a DataLoader gets as many workers as the machine has processors

## What happens
`os.cpu_count()` counts all processors of the machine. A process often may use fewer: in a container, in a job of a
scheduler, after `taskset`. Each rank of a distributed program counts them all again, so that eight ranks on a machine
of 64 processors start 512 workers. They wait for one another, each keeps its own copy of what the dataset touches, and
on large machines the program runs out of shared memory or open files. torch warns:
"This DataLoader will create 64 worker processes in total. Our suggested max number of worker in current system is 8".

The rule is an opinion and off by default.

## Fails
```python
import os

import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    os.sched_setaffinity(0, {0})
    loader = DataLoader(TensorDataset(torch.arange(4)), num_workers=os.cpu_count())
    print(len(os.sched_getaffinity(0)), "processor,", loader.num_workers, "workers")
```
```text
1 processor, 64 workers
```

## Works
```python
import os

import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    os.sched_setaffinity(0, {0})
    loader = DataLoader(TensorDataset(torch.arange(4)), num_workers=len(os.sched_getaffinity(0)))
    print(len(os.sched_getaffinity(0)), "processor,", loader.num_workers, "workers")
```
macOS and Windows have no `os.sched_getaffinity`; Python 3.13 and later have `os.process_cpu_count()` everywhere. With
several ranks, divide by their number; best of all, let the user say how many.

## What it does not see
- Counts that installed packages make.
- Numbers that come through configuration files or objects.

## How to silence it
It speaks only where it is asked for by name (`extend-select = TMP905`). Write `# noqa: TMP905` on the line of the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.cpu_counts import counts_in
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.tables.apis import LOADER_POSITIONS
from flake8_torchmp.boundary.tables.targets import version_tuple
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP905", "cpu-count-workers", fix="unsafe")
def cpu_count_workers(module: Module, model: Model) -> Iterator[Finding]:
    is_new = all(version_tuple(version) >= (3, 13) for version in model.settings.target_python)
    is_linux = set(model.settings.target_platforms) == {"linux"}
    has = "process_cpu_count" if is_new else "sched_getaffinity" if is_linux else ""
    for call in model.crossings.calls(module):
        if call.api.kind != "loader":
            continue
        source = call.arguments.get(LOADER_POSITIONS["num_workers"], "num_workers")
        for count in counts_in(model.evaluator, source) if source is not None else ():
            message = (
                "num_workers counts all processors of the machine, not those that this process may use, and each rank "
                "counts them again: len(os.sched_getaffinity(0)), or let the user say"
            )
            repair = model.repair("usable_processors", count.node, count.frame.module, has=has)
            yield model.finding("TMP905", message, count.node, count.frame.module, repair=repair)
