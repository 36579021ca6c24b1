"""TMP901 implicit-start-method: processes are made and nobody chose how

## What happens
Where a program chooses no start method, the platform and the version of Python do: fork on Linux before Python 3.14,
forkserver there since, spawn on macOS and Windows. The same program copies the parent's memory on one machine and
imports everything anew on another: globals that were set later are there or are not, locks and threads are inherited or
are not, lambdas can be handed over or cannot. An upgrade of Python changes it silently.

The rule reports each DataLoader with workers, Process, Pool and ProcessPoolExecutor of the default context in programs
that never call `set_start_method`. It is an opinion and off by default.

## Fails
```python
import torch
from torch.utils.data import DataLoader, TensorDataset

SCALE = 1


def scaled(batch):
    return torch.stack([x for (x,) in batch]) * SCALE


if __name__ == "__main__":
    SCALE = 2
    print(next(iter(DataLoader(TensorDataset(torch.ones(2)), num_workers=1, collate_fn=scaled))))
```
```text
tensor([2.])    by fork
tensor([1.])    by spawn and forkserver
```

## Works
```python
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    torch.multiprocessing.set_start_method("spawn")
    print(next(iter(DataLoader(TensorDataset(torch.ones(2)), num_workers=1))))
```
`multiprocessing_context=`, `mp_context=` and `get_context("spawn")` choose for one loader, executor or process.

## What it does not see
- A start method that an installed package or a launcher sets.
- Targets that all start by spawn or all by forkserver leave nothing to choose, and nothing is reported.

## How to silence it
It speaks only where it is asked for by name (`extend-select = TMP901`). Write `# noqa: TMP901` on the line of the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.tables.ecosystem import has_no_workers
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule

KINDS = ("loader", "process", "pool", "executor")


@rule("TMP901", "implicit-start-method")
def implicit_start_method(module: Module, model: Model) -> Iterator[Finding]:
    defaults = model.methods.default
    if defaults in ({"spawn"}, {"forkserver"}) or model.methods.may_be_set_by_program(module):
        return
    calls = model.crossings.calls(module)
    chosen_later = {id(call.node) for call in calls if call.api.kind == "loader" and not call.by_default}
    for call in calls:
        if call.api.kind not in KINDS or not call.by_default or id(call.node) in chosen_later:
            continue
        if call.api.kind == "loader" and has_no_workers(model.evaluator, call.arguments, call.api.workers):
            continue
        message = (
            f"{call.api.name} makes processes by the platform's start method ({', '.join(sorted(defaults))}), and they "
            f'differ: choose one, "{model.settings.start_method}"'
        )
        yield model.finding("TMP901", message, call.node, call.module)
