"""TMP410 dataset-changed-after-start: the parent changes a dataset of which persistent workers keep a copy

## What happens
With `persistent_workers=True` the workers are started once, with a copy of the dataset as it is then, and live through
all epochs. What the parent changes afterwards, by `dataset.set_epoch(epoch)`, a switch for augmentation or the stage of
a curriculum, never reaches them, nor does what it sets on an object that collates: every epoch is made as the first
one. There is no error. Without persistent workers each epoch starts new ones with a new copy, so the same code works
there.

## Fails
```python
from torch.utils.data import DataLoader, Dataset


class Shifted(Dataset):
    def __init__(self):
        self.epoch = 0

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.epoch


if __name__ == "__main__":
    dataset = Shifted()
    loader = DataLoader(dataset, num_workers=1, persistent_workers=True)
    seen = []
    for epoch in range(2):
        dataset.epoch = epoch
        seen += [batch.item() for batch in loader]
    assert seen == [0, 1], seen
```
```text
AssertionError: [0, 0]
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Shifted(Dataset):
    def __init__(self):
        self.epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.epoch.item()


if __name__ == "__main__":
    dataset = Shifted()
    loader = DataLoader(dataset, num_workers=1, persistent_workers=True)
    seen = []
    for epoch in range(2):
        dataset.epoch.fill_(epoch)
        seen += [batch.item() for batch in loader]
    assert seen == [0, 1], seen
```

## What it does not see
- Changes in a function that nobody in the project is seen to call, other than hooks such as `on_train_epoch_start` and
  changes by way of `loader.dataset`.
- Where loaders or their iterators are made anew by a trainer (`reload_dataloaders_every_n_epochs`) or by hand
  (`loader._iterator = None`) nothing is reported.

## How to silence it
Write `# noqa: TMP410` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP410` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position

from . import rule


@rule("TMP410", "dataset-changed-after-start")
def dataset_changed_after_start(module: Module, model: Model) -> Iterator[Finding]:
    for node, place, attribute, crossing in model.kept_workers.missed(module):
        thing = "dataset" if crossing.parameter.role == "dataset" else "collator"
        message = (
            f"changes {attribute} of a {thing} whose persistent workers keep the copy that they started with: drop "
            "persistent_workers, share the value (share_memory_(), multiprocessing.Value), or make the loader anew"
        )
        way = [Step(crossing.module.path, position(crossing.call)[0], "persistent_workers=True")]
        yield model.finding("TMP410", message, node, place, way, cause=f"{attribute}:{position(crossing.call)}")
