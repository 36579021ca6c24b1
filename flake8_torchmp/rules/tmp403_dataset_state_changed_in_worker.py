"""TMP403 dataset-state-changed-in-worker: a sample method changes an attribute that the parent reads

## What happens
Each worker has its own copy of the dataset. What a sample method counts, appends or sets on `self` stays in that copy
and ends with the worker; the parent reads what it had itself: a zero, an empty list. There is no error, under any start
method. (A tensor on the dataset is copied by a fork alone: pickling moves it to shared memory.)

What a worker learns goes back as part of the sample, or through something shared: a `multiprocessing.Value`, a queue, a
tensor in shared memory.

## Fails
```python
from torch.utils.data import DataLoader, Dataset


class Counted(Dataset):
    def __init__(self):
        self.served = 0

    def __len__(self):
        return 4

    def __getitem__(self, index):
        self.served += 1
        return index


if __name__ == "__main__":
    dataset = Counted()
    list(DataLoader(dataset, num_workers=1))
    assert dataset.served == 4, f"served {dataset.served} of 4"
```
```text
AssertionError: served 0 of 4
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Counted(Dataset):
    def __init__(self):
        self.served = torch.zeros(1).share_memory_()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        self.served += 1
        return index


if __name__ == "__main__":
    dataset = Counted()
    list(DataLoader(dataset, num_workers=1))
    assert dataset.served == 4, f"served {dataset.served} of 4"
```

## What it does not see
- Attributes whose values the project does not show, and objects of installed packages that change themselves.
- Caches that worker code alone writes and reads are TMP902's.

## How to silence it
Write `# noqa: TMP403` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP403` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position

from . import rule


@rule("TMP403", "dataset-state-changed-in-worker")
def dataset_state_changed_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    workers = model.workers.of(module)
    inside = {worker.scope.place for worker in workers}
    for worker in workers:
        told: set[tuple[ast.AST, str]] = set()
        for lost in model.object_state.lost_changes(worker):
            reader = lost.read_in.scope_of(lost.read).enclosing_function()
            is_in_worker = reader is not None and reader.place in inside  # as this program alone shows
            if is_in_worker or (lost.node, lost.attribute) in told:
                continue
            told.add((lost.node, lost.attribute))
            message = (
                f"{worker.scope.name}() changes self.{lost.attribute} in a worker's copy of the object, and the "
                "parent, which reads it, never sees that: return it with the sample, or share it (a Value, a queue)"
            )
            way = [
                Step(worker.scope.module.path, position(lost.node)[0], f"{worker.scope.name}() changes it in a worker"),
                Step(lost.read_in.path, position(lost.read)[0], "the parent reads its own copy"),
            ]
            cause = f"{worker.scope.place}.{lost.attribute}"
            yield model.finding("TMP403", message, lost.node, worker.scope.module, way, cause=cause)
