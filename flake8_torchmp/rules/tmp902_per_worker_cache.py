"""TMP902 per-worker-cache: a sample method fills a cache on its dataset, once in each worker

## What happens
Each worker has its own copy of the dataset, and so of the cache that `__getitem__` fills: the work is done once per
worker, the memory is taken once per worker, and without `persistent_workers=True` all of it is lost when the epoch
ends.

## Fails
```python
from torch.utils.data import DataLoader, Dataset


class Decoded(Dataset):
    def __init__(self):
        self.cache = {}

    def __len__(self):
        return 2

    def __getitem__(self, index):
        is_known = index in self.cache
        if not is_known:
            self.cache[index] = index * index
        return is_known, self.cache[index]


if __name__ == "__main__":
    loader = DataLoader(Decoded(), num_workers=1)
    for epoch in range(2):
        known = sum(is_known.item() for is_known, _ in loader)
    assert known == 2, f"{known} of 2 known in the second epoch"
```
```text
AssertionError: 0 of 2 known in the second epoch
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Decoded(Dataset):
    def __init__(self):
        self.decoded = torch.tensor([index * index for index in range(2)])

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.decoded[index]


if __name__ == "__main__":
    list(DataLoader(Decoded(), num_workers=1, persistent_workers=True))
```

## What it does not see
- `functools.lru_cache` on functions that are no methods of a dataset, and caches in other objects than the dataset.
- What the parent reads as well is TMP403's.

## How to silence it
It is an opinion and off by default: it speaks where it is named, as in `extend-select = TMP902`. Write `# noqa: TMP902`
on a line that is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.builtin import CACHES
from flake8_torchmp.semantics.calls import has_receiver
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import External

from . import rule


@rule("TMP902", "per-worker-cache")
def per_worker_cache(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if worker.kind != "dataset":
            continue
        name = worker.scope.name
        caches = [(node, f"self.{attribute}") for node, attribute in model.object_state.cached(worker)]
        caches += [(decorator, "of its decorator") for decorator in _keeping_answers(worker.scope, model)]
        for node, cache in caches:
            message = (
                f"{name}() fills the cache {cache} once per worker, and each epoch anew without "
                "persistent_workers: fill it in __init__, or keep it in shared memory or on disk"
            )
            cause = f"{worker.scope.place}.{cache.removeprefix('self.')}"
            yield model.finding("TMP902", message, node, worker.scope.module, cause=cause)


def _keeping_answers(method: Scope, model: Model) -> Iterator[ast.expr]:
    """The decorators by which a method keeps what it has returned: `lru_cache`."""
    if not has_receiver(method):
        return
    for decorator in getattr(method.node, "decorator_list", ()):
        maker = decorator.func if isinstance(decorator, ast.Call) else decorator
        frame = model.outline.frame_at(decorator, method.module)
        if any(isinstance(v, External) and v.name in CACHES for v in model.outline.values(maker, frame)):
            yield decorator
