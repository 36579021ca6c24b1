"""TMP406 iterable-dataset-not-sharded: every worker of the loader yields the whole stream

## What happens
A DataLoader with workers gives each of them a copy of an `IterableDataset` and iterates all the copies. Unless the
dataset itself asks which worker it is in, each copy yields everything: with four workers every sample arrives four
times, an epoch takes four times as long, and sums and metrics count each sample four times. There is no error. torch
warns only where the dataset has a `__len__` that turns out to be too small.

The dataset has to take its part by `torch.utils.data.get_worker_info()`, on every path, or a `worker_init_fn` has to
set the part. A rank (`dist.get_rank()`) does not tell the workers of one loader apart, and asking for the worker's info
only to seed or to log shards nothing.

## Fails
```python
import torch
from torch.utils.data import DataLoader, IterableDataset


class Count(IterableDataset):
    def __init__(self, stop):
        self.stop = stop

    def __iter__(self):
        for number in range(self.stop):
            yield number


if __name__ == "__main__":
    seen = torch.cat(list(DataLoader(Count(4), batch_size=2, num_workers=2))).tolist()
    assert len(seen) == 4, f"{len(seen)} samples of 4: {sorted(seen)}"
```
```text
AssertionError: 8 samples of 4: [0, 0, 1, 1, 2, 2, 3, 3]
```

## Works
```python
from itertools import islice

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Count(IterableDataset):
    def __init__(self, stop):
        self.stop = stop

    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for number in islice(range(self.stop), first, None, step):
            yield number


if __name__ == "__main__":
    seen = torch.cat(list(DataLoader(Count(4), batch_size=2, num_workers=2))).tolist()
    assert len(seen) == 4, f"{len(seen)} samples of 4: {sorted(seen)}"
```

## What it does not see
- Datasets that wrap another dataset, a stream of a library or something that the project does not show: what is inside
  may well know of workers. Where no loader with workers is seen to get them, that is whatever they are made with and go
  through.
- Purely random streams and endless ones in random order are not reported: nothing is yielded twice there, as long as
  the workers' seeds differ (TMP404, TMP405).
- What several workers take from one queue or broker, or by a number that they share and raise, is divided by that.
- Whether the parts fit together: a wrong stride or an overlap.
- Loaders that are known to have no or one worker do not count; a count that cannot be seen does.
- Datasets of test modules count where a loader with workers is seen to get them.

## How to silence it
Write `# noqa: TMP406` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP406` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.drawing.given_parts import goes_through_what_it_is_given
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position

from . import rule


@rule("TMP406", "iterable-dataset-not-sharded", fix="unsafe")
def iterable_dataset_not_sharded(module: Module, model: Model) -> Iterator[Finding]:
    for cls in model.datasets.of(module):
        if not model.sharding.is_iterable(cls) or model.datasets.are_used_in_parent_alone(cls):
            continue
        if model.is_test(module) and not any(model.loaders.have_workers(cls.scope)):
            continue  # tests go through datasets themselves, or give them to loaders without workers
        function = model.sharding.unsharded(cls)
        if function is None or model.loaders.have_one_worker(cls):
            continue
        is_seen = any(model.loaders.have_workers(cls.scope))
        if not is_seen and goes_through_what_it_is_given(model.outline, cls):
            continue  # a library's, and who uses it may give it what is divided
        scope = function.scope
        message = (
            f"every worker yields all that {cls.scope.name}.{scope.name} has, so each sample arrives once per worker: "
            "take a part by torch.utils.data.get_worker_info()"
        )
        way = [Step(module.path, position(cls.node)[0], f"{cls.scope.name} is copied to each worker")]
        undivided = model.sharding.undivided(cls)
        repair = None
        if undivided is not None:
            iteration, places = undivided
            repair = model.repair("shard_by_worker", iteration.node, iteration.scope.module, **places)
        yield model.finding("TMP406", message, scope.node, scope.module, way, cause=f"{scope.place}", repair=repair)
