"""TMP906 object-list-dataset: a dataset keeps a list or dict of Python objects that it reads in whole

## What happens
A forked worker shares the parent's memory until one of them writes to it, and reading a Python object writes to it: its
reference count. A list of a million paths, dicts or strings is thus copied page by page into every worker, and memory
grows all through the first epoch; under spawn and forkserver it is pickled for each worker at once. NumPy arrays,
tensors and Arrow tables hold their data in one block without counts.

## Fails
```python
import json

from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, text):
        self.rows = json.loads(text)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


if __name__ == "__main__":
    dataset = Rows("[1, 2]")
    list(DataLoader(dataset, num_workers=1))
    assert not isinstance(dataset.rows, list), "a list of objects"
```
```text
AssertionError: a list of objects
```

## Works
```python
import json

import numpy as np
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, text):
        self.rows = np.array(json.loads(text))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


if __name__ == "__main__":
    list(DataLoader(Rows("[1, 2]"), num_workers=1))
```

## What it does not see
- How large it is.
- Lists that another function puts together, or that are handed over.

## How to silence it
It is an opinion and off by default: it speaks where it is named, as in `extend-select = TMP906`. Write `# noqa: TMP906`
on a line that is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP906", "object-list-dataset")
def object_list_dataset(module: Module, model: Model) -> Iterator[Finding]:
    for cls in model.datasets.of(module):
        if model.datasets.are_used_in_parent_alone(cls):
            continue
        for node, attribute in model.object_lists.of(cls):
            message = (
                f"{cls.scope.name} keeps Python objects in self.{attribute}, whose reference counts make every "
                "worker copy them: keep an array, a tensor or an Arrow table"
            )
            yield model.finding("TMP906", message, node, module, cause=f"{cls.scope.place}.{attribute}")
