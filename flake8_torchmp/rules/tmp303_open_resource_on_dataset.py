"""TMP303 open-resource-on-dataset: a dataset keeps a file, connection or archive that the parent opened

## What happens
A handle that is open when the workers start belongs to the parent's process. Under spawn and forkserver (Windows,
macOS, Linux from Python 3.14 on) the dataset is pickled, and an open file, an `h5py.File`, an lmdb environment, a
database connection or a zip archive cannot be: the loader fails before the first batch. Under fork nothing is pickled,
and it is worse: all workers and the parent share one file offset, one stream, one connection, so they read each other's
bytes. Batches are silently wrong, or "Connection reset by peer", "database disk image is malformed", "unable to read"
come up at random.

What is taken out of a handle is a part of it: `self.data = h5["x"]` keeps the file, `self.data = h5["x"][:]` does not.
An attribute that is opened lazily is a handle all the same if the parent calls the opener before the workers start: in
`__len__`, in `__init__`, for a sampler, or to try `dataset[0]`. A `__getstate__` that drops it helps where the dataset
is pickled, and not under fork.

The finding is where the resource is opened.

## Fails
```python
import os
import tempfile

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Features(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")

    def __len__(self):
        return len(self.file["x"])

    def __getitem__(self, index):
        return torch.from_numpy(self.file["x"][index])


def main():
    path = os.path.join(tempfile.mkdtemp(), "features.h5")
    with h5py.File(path, "w") as out:
        out["x"] = np.zeros((8, 4), dtype="float32")
    for batch in DataLoader(Features(path), batch_size=4, num_workers=1):
        print(batch.shape)


if __name__ == "__main__":
    main()
```
```text
TypeError: h5py objects cannot be pickled
```

## Works
```python
import os
import tempfile

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Features(Dataset):
    def __init__(self, path):
        self.path = path
        self.file = None
        with h5py.File(path, "r") as file:
            self.length = len(file["x"])

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return torch.from_numpy(self.file["x"][index])


def main():
    path = os.path.join(tempfile.mkdtemp(), "features.h5")
    with h5py.File(path, "w") as out:
        out["x"] = np.zeros((8, 4), dtype="float32")
    for batch in DataLoader(Features(path), batch_size=4, num_workers=1):
        print(batch.shape)


if __name__ == "__main__":
    main()
```

## What it does not see
- Resources that calls open which neither its table nor the option `resource-openers` names.
- Memory maps (`np.memmap`, `np.load(mmap_mode=)`), `io.BytesIO` and stores that reopen themselves are no hazard, and
  are not reported.
- A class that asks for `os.getpid()` is trusted to open what it needs in each process.
- A handle that is put on the dataset in ways the source does not show, such as `setattr` with a computed name.

## How to silence it
Write `# noqa: TMP303` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP303` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.objects.resources import OpenResource
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP303", "open-resource-on-dataset", fix="unsafe")
def open_resource_on_dataset(module: Module, model: Model) -> Iterator[Finding]:
    kept: dict[ast.AST, list[OpenResource]] = {}
    for item in model.resources.on_datasets(module):
        kept.setdefault(item.node, []).append(item)
    for items in kept.values():
        found = items[0]
        attributes = {item.held.holding.attributes[-1] for item in items if item.held.holding.attributes}
        message = f"{found.what} {found.reason}: open it in the worker, when it is first used"
        way = model.steps(found.held.way, found.held.place)
        notes = {
            "attributes": " ".join(sorted(attributes)),
            **({"inherited": "close"} if found.opener.opens_once else {}),
        }
        repair = model.repair("opened_per_process", found.node, found.module, **notes)
        finding = model.finding("TMP303", message, found.node, found.module, way, repair=repair)
        if not model.is_left_to_test(finding, found.held):
            yield finding
