"""TMP503 unsorted-listing: a dataset's index has the order in which the file system lists a folder

## What happens
`os.listdir`, `os.scandir`, `os.walk`, `glob` and `Path.iterdir`, `glob` and `rglob` list files in no particular order:
that of the file system, which is by creation on one machine, by a hash on another, and by the alphabet on the third, so
that it works by chance where it was written. Where such a list is a dataset's index,

- two listings that are used side by side, images and masks, pair the wrong files, silently;
- the ranks of a distributed run, each with its own disk or its own view of a network drive, disagree on what index 7
  is: some samples are seen twice in an epoch and others never;
- a split by position, or a class number by position, is another one on the next machine.

The finding is on the call that lists, wherever it stands: in the dataset, or in a helper, builder or module that feeds
it.

## Fails
```python
import os
import tempfile

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __init__(self, folder):
        self.files = os.listdir(folder)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return int(self.files[index].removesuffix(".txt"))


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    for number in torch.randperm(40).tolist():
        open(os.path.join(folder, f"{number:02d}.txt"), "w").close()
    numbers = torch.cat(list(DataLoader(Numbers(folder), batch_size=8, num_workers=1)))
    assert numbers.tolist() == list(range(40)), numbers[:8]
```
```text
AssertionError: tensor([18,  1, 30,  5, 22, 11, 39,  7])
```

## Works
```python
import os
import tempfile

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __init__(self, folder):
        self.files = sorted(os.listdir(folder))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return int(self.files[index].removesuffix(".txt"))


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    for number in torch.randperm(40).tolist():
        open(os.path.join(folder, f"{number:02d}.txt"), "w").close()
    numbers = torch.cat(list(DataLoader(Numbers(folder), batch_size=8, num_workers=1)))
    assert numbers.tolist() == list(range(40)), numbers[:8]
```

## What it does not see
- Orders that pass through a call of an installed package which is not known to keep them, or through a file.
- A list that is sorted by another name for it, or by a function that gets it. Where one name is sorted anywhere, it
  counts as sorted everywhere.
- Lists of each key in a dict (`groups[name].append(path)`).
- A list that alone makes a dataset whose loader keeps its order, and that names the results of it, too
  (`for i, batch in enumerate(loader): save(files[i], batch)`), is left alone: nothing else has to agree on its order.

## How to silence it
Write `# noqa: TMP503` on the line of the call that lists. For a file or a folder use flake8's per-file-ignores in
setup.cfg, for the project `extend-ignore = TMP503` there, or their counterparts in the tool's own table of
pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP503", "unsorted-listing", fix="safe")
def unsorted_listing(module: Module, model: Model) -> Iterator[Finding]:
    for listing in model.listings.near(module):
        message = (
            f"{listing.text} lists files in no order, and the dataset {listing.dataset} takes its index from it, so "
            "machines and parallel lists disagree on what an index is: sort the listing"
        )
        way = model.steps(listing.way[:-1], listing.way[-1])
        repair = model.repair("sort_listing", listing.node, listing.module)
        yield model.finding("TMP503", message, listing.node, listing.module, way, repair=repair)
