"""TMP602 swallowed-worker-exception: worker code catches everything and goes on with what looks like data

## What happens
An exception in worker code is the only way in which a worker can say that something is wrong; torch and the pools
carry it to the parent. `except Exception:` with `pass`, `continue` or a blank value instead catches the one broken
file that it was written for, and also the misspelt key, the missing mount, the full disk: training goes on, on zeros.

The rule reports a handler of everything where what takes the place of the failure looks like data: a number, a blank
tensor or array, in the very function that worker code begins with also an empty container; and where something is
missing unseen: an entry that is not appended, put or yielded, a variable that keeps its stand-in or what the last round
left, a step that did not run, or, in `worker_init_fn` and initializers, whatever was to be prepared.

Catch what is expected, by its name, and let the rest pass; or tell somebody: log it with its traceback, count it,
return it with the result.

## Fails
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, records):
        self.records = records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, index):
        try:
            patch = torch.full((2, 2), float(self.records[index]["value"]))
        except Exception:
            patch = torch.zeros(2, 2)
        return patch


if __name__ == "__main__":
    records = [{"value": 1}, {"Value": 2}, {"value": 3}]
    (batch,) = DataLoader(Patches(records), batch_size=3, num_workers=1)
    assert batch[:, 0, 0].tolist() == [1, 2, 3], batch[:, 0, 0]
```
```text
AssertionError: tensor([1., 0., 3.])
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, records):
        self.records = records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, index):
        record = self.records[index]
        try:
            patch = torch.full((2, 2), float(record.get("value", record.get("Value"))))
        except TypeError as error:
            raise KeyError(f"record {index} has no value") from error
        return patch


if __name__ == "__main__":
    records = [{"value": 1}, {"Value": 2}, {"value": 3}]
    (batch,) = DataLoader(Patches(records), batch_size=3, num_workers=1)
    assert batch[:, 0, 0].tolist() == [1, 2, 3], batch[:, 0, 0]
```

## What it does not see
- Handlers that leave any trace are taken to be meant: one that raises, logs, prints, appends, counts, uses the
  exception, returns None or a bool to who can tell by it, sets a flag, waits (unless a blank comes after the last try),
  or tries another way with the same input.
- Handlers that put anything else in the place: a text, the value itself, an attribute that is not always blank, another
  index (TMP904).
- Lookups by a variable, `items = bought[user]`: what has no entry gets the default. In helpers likewise a number for a
  single call that reads no file, such as a metric that is not defined for all input.
- Notes, locks, addresses, ranks and the environment, whose failure is no sample's.
- Exceptions that are too broad but not everything, such as OSError.
- What the ranks of a distributed program catch: a rank is the program itself. So is most of what a process or a task
  comes to: the function that it begins with and those that this one calls are looked at, and what puts a blank tensor
  or array into the place of data; for datasets all of it.

## How to silence it
Write `# noqa: TMP602` on the line of the `except` or `suppress`. For a file or a folder use flake8's per-file-ignores
in setup.cfg, for the project `extend-ignore = TMP602` there, or their counterparts in the tool's own table of
pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.failures.far_handlers import swallowing_data
from flake8_torchmp.boundary.failures.handlers import swallowing
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.working.workers import RANKS, TARGETS
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP602", "swallowed-worker-exception")
def swallowed_worker_exception(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if worker.kind in TARGETS and worker.is_far:
            handlers = swallowing_data(worker.scope)
        else:
            handlers = swallowing(worker.scope, not worker.calls_away, worker.kind == "initializer")
        for node in handlers:
            if worker.kind in RANKS and model.workers.train_together(module):
                break  # a rank is the program itself, and its author's choice is no worker's
            what = "suppress()" if isinstance(node, ast.Call) else "this handler"
            if isinstance(node, ast.Return):
                what = "this __exit__" if worker.scope.name == "__exit__" else "a return in a finally"
            message = (
                f"{what} hides every error of worker code ({worker.reached_from}), so what goes on is silently wrong: "
                "catch what is expected, or raise, log or return it"
            )
            yield model.finding("TMP602", message, node, worker.scope.module)
