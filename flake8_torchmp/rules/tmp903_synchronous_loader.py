"""TMP903 synchronous-loader: a DataLoader has no workers, so the parent loads each batch itself

## What happens
Without `num_workers`, or with 0, reading, decoding and augmenting happen in the training process, between one step and
the next, while the GPU waits. It is right for data that lies in memory, for tests and for debugging.

This is an opinion and off by default.

## Fails
```python
import os

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.tensor([index**2, os.getpid()])


if __name__ == "__main__":
    (batch,) = DataLoader(Squares(), batch_size=4)
    assert os.getpid() not in batch[:, 1], "the training process made the samples"
```
```text
AssertionError: the training process made the samples
```

## Works
```python
import os

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.tensor([index**2, os.getpid()])


if __name__ == "__main__":
    (batch,) = DataLoader(Squares(), batch_size=4, num_workers=2)
    assert os.getpid() not in batch[:, 1], "the training process made the samples"
```

## What it does not see
- Counts that cannot be seen, or that a command line or a caller chooses, whatever their default.
- Whether the samples cost anything.

## How to silence it
It is off unless it is asked for, by `extend-select = TMP903` or `TMP9`. Write `# noqa: TMP903` on the line of the
call, or leave the code out again with `extend-ignore` or per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.tables.ecosystem import has_no_workers
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.choices import is_choice
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP903", "synchronous-loader")
def synchronous_loader(module: Module, model: Model) -> Iterator[Finding]:
    for call in model.crossings.calls(module):
        if call.api.kind != "loader" or call.api.workers != "num_workers":
            continue
        if not has_no_workers(model.evaluator, call.arguments):
            continue
        count = call.arguments.get(apis.LOADER_POSITIONS["num_workers"], "num_workers")
        if count is None or not any(map(is_choice, model.evaluator.of(count))):
            message = f"{call.api.name} has no workers, so the training process waits for each batch: set num_workers"
            yield model.finding("TMP903", message, call.node, module)
