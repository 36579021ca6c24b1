"""TMP904 sample-retry: a dataset answers a failure with another sample

## What happens
`return self[index + 1]`, or a random index, in place of a sample that cannot be read looks robust and is not: on data
that is bad throughout it recurses until "maximum recursion depth exceeded", at the end of the dataset it runs out of
the index, and where it works the neighbours of bad samples are seen twice as often, without anybody being told.

This is an opinion and off by default. Leave bad samples out of the index once, before training, or let the loader drop
them in a `collate_fn` that counts.

## Fails
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        try:
            return torch.tensor(float(self.rows[index]))
        except ValueError:
            return self[(index + 1) % len(self)]


if __name__ == "__main__":
    print(list(DataLoader(Rows(["1,5", "2,5"]), batch_size=2, num_workers=1)))
```
```text
RecursionError: maximum recursion depth exceeded
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = [row for row in rows if row.replace(".", "").isdigit()]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor(float(self.rows[index]))


if __name__ == "__main__":
    print(list(DataLoader(Rows(["1,5", "2.5"]), batch_size=2, num_workers=1)))
```

## What it does not see
- Another sample that a helper gets, other than a method to which a handler turns and which returns `self[...]`, or that
  a loop outside of `__getitem__` asks for.

## How to silence it
It is off unless it is asked for, by `extend-select = TMP904` or `TMP9`. Write `# noqa: TMP904` on the line that is
reported, or leave the code out again with `extend-ignore` or per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.failures.handlers import asked_in_need, gives_samples_of_its_own, retries
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP904", "sample-retry")
def sample_retry(module: Module, model: Model) -> Iterator[Finding]:
    for cls in model.datasets.of(module):
        for node in classes.own(cls, "__getitem__"):
            places = [(place, module) for place in retries(module.scopes[node])]
            for name in asked_in_need(module.scopes[node]):
                method = classes.find_method(model.outline, cls, name)
                scope = method.scope if method is not None else None
                places += [(place, scope.module) for place in gives_samples_of_its_own(scope)] if scope else []
            for place, where in places:
                message = (
                    f"{cls.scope.name}.__getitem__ answers a failure with another sample, which recurses on bad data "
                    "and shifts the distribution: leave bad samples out of the index"
                )
                yield model.finding("TMP904", message, place, where)
