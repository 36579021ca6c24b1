"""TMP702 workers-restarted-in-loop: a loop makes a loader's iterator anew for each batch

## What happens
`iter(loader)` starts the workers and lets them load `prefetch_factor` batches each. `next(iter(loader))` takes one of
these batches and throws the rest away with the workers. In a loop that happens for each step: a step that should take
milliseconds takes as long as starting processes and importing torch in them. Without shuffling the new iterator also
begins with the first batch again, so the model sees nothing but that one, with workers or without. A loader that is
made inside the loop is the same.

Make the iterator once, before the loop, and renew it when it ends.

## Fails
```python
import torch
from torch.utils.data import DataLoader, TensorDataset


def train(steps):
    loader = DataLoader(TensorDataset(torch.arange(8)), batch_size=2, num_workers=1)
    seen = []
    for _ in range(steps):
        (numbers,) = next(iter(loader))
        seen += numbers.tolist()
    return seen


if __name__ == "__main__":
    seen = train(4)
    assert len(set(seen)) == len(seen), seen
```
```text
AssertionError: [0, 1, 0, 1, 0, 1, 0, 1]
```

## Works
```python
import torch
from torch.utils.data import DataLoader, TensorDataset


def train(steps):
    loader = DataLoader(TensorDataset(torch.arange(8)), batch_size=2, num_workers=1)
    batches = iter(loader)
    seen = []
    for _ in range(steps):
        (numbers,) = next(batches)
        seen += numbers.tolist()
    return seen


if __name__ == "__main__":
    seen = train(4)
    assert len(set(seen)) == len(seen), seen
```

## What it does not see
- Batches that are taken under a test such as `step % 100 == 0`, or once in a loop over epochs that goes through a whole
  loader: one start of workers more does not matter there.
- Inner loops over the loader that are left early under a test.
- Loaders that come from where the source does not show it.

## How to silence it
Write `# noqa: TMP702` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP702` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import up

from . import rule


@rule("TMP702", "workers-restarted-in-loop")
def workers_restarted_in_loop(module: Module, model: Model) -> Iterator[Finding]:
    for restart in model.restarts.of(module):
        is_taken = isinstance(restart.node, ast.Call) and not isinstance(up(restart.node), ast.For)
        taking = "next(iter(loader))" if is_taken else "leaving the loader after one batch"
        if restart.is_made_there:
            what = "a DataLoader made in the loop starts its workers for one batch"
        elif restart.has_workers:
            what = f"{taking} in a loop starts all workers anew for each batch"
        else:
            what = f"{taking} in a loop gives the first batch each time"
        message = f"{what}: make one iterator before the loop, and renew it when it ends"
        yield model.finding("TMP702", message, restart.node, restart.module)
