"""TMP607 worker-info-unchecked: the worker's info is used without asking whether there is a worker

## What happens
`torch.utils.data.get_worker_info()` tells a dataset's copy in a worker which worker it is in. In the parent it gives
None: with `num_workers=0`, as in a debugger or a notebook, and whenever the program looks at a sample itself. So
`.id`, `.seed` or `.num_workers` of it is an AttributeError there.

Ask for None first. Only what is reached through `worker_init_fn` alone always runs in a worker.

## Fails
```python
import itertools

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __init__(self, lines):
        self.lines = lines

    def __iter__(self):
        worker = get_worker_info()
        return itertools.islice(self.lines, worker.id, None, worker.num_workers)


if __name__ == "__main__":
    lines = Lines([torch.tensor(i) for i in range(6)])
    print(len(list(DataLoader(lines, num_workers=2))))
    print(len(list(lines)))
```
```text
AttributeError: 'NoneType' object has no attribute 'id'
```

## Works
```python
import itertools

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __init__(self, lines):
        self.lines = lines

    def __iter__(self):
        worker = get_worker_info()
        if worker is None:
            return iter(self.lines)
        return itertools.islice(self.lines, worker.id, None, worker.num_workers)


if __name__ == "__main__":
    lines = Lines([torch.tensor(i) for i in range(6)])
    print(len(list(DataLoader(lines, num_workers=2))))
    print(len(list(lines)))
```

## What it does not see
- An info that a function gives which does more than return it, and what is handed on by keyword, or twice.
- Which test it is: where a function has asked anything of the info itself, as in `if worker`, it counts as tested.
- Functions that no dataset is seen to reach. A dataset whose loaders are all seen to have workers,
  and which nobody else asks for samples, is not reported.
- Test modules: a test that asks without workers fails at once.

## How to silence it
Write `# noqa: TMP607` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP607` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.working import samples
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP607", "worker-info-unchecked")
def worker_info_unchecked(module: Module, model: Model) -> Iterator[Finding]:
    for uses in model.worker_infos.uses(module):
        for use, place in uses:
            if model.is_test(place) or not _may_run_in_parent(use, place, model):
                continue
            message = (
                f"get_worker_info() is None outside of workers, with num_workers=0 too, so .{use.attr} fails there: "
                "test it for None first"
            )
            yield model.finding("TMP607", message, use, place)
            break


def _may_run_in_parent(use: ast.AST, module: Module, model: Model) -> bool:
    """Whether it is sampling code of a dataset that the parent may ask for samples, by itself or without workers."""
    if not model.workers.may_run_in_parent(use, module):
        return False
    function = module.scope_of(use).enclosing_function()
    if function is not None and samples.may_be_collated_in_parent(model.crossings, function):
        return True
    owner = module.scope_of(use).enclosing_class()
    datasets = list(model.datasets.of(module))
    own = [cls for cls in datasets if owner is not None and cls.scope is owner]
    if not datasets and function is not None:
        own = list(model.workers.sampling_by(function))
    return any(samples.may_be_sampled_in_parent(model.loaders, cls) for cls in own or datasets)
