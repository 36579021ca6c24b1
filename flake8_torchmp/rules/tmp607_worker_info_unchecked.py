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
- An info that is handed on, by a function that returns it or as an argument.
- Which test it is: where a function asks anything of the info itself, as in `if worker`, it counts as tested.
- Functions that no dataset of the same module is seen to reach. A dataset whose loaders are all seen to have workers,
  and which nobody else asks for samples, is not reported.

## How to silence it
Write `# noqa: TMP607` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP607` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from flake8_torchmp.boundary import samples
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.flow import caught_around, conditions
from flake8_torchmp.semantics.module import Module, dotted, last_name, up
from flake8_torchmp.semantics.values import External

from . import rule


@rule("TMP607", "worker-info-unchecked")
def worker_info_unchecked(module: Module, model: Model) -> Iterator[Finding]:
    for call in module.calls_of("get_worker_info"):
        values = model.outline.values(call.func, model.outline.frame_at(call, module))
        if not any(isinstance(v, External) and v.name.endswith(".get_worker_info") for v in values):
            continue
        for use in _uses(call, module):
            if {"AttributeError", "", "Exception"} & set(caught_around(use)) or _is_asked_before(use, module):
                continue
            if not _may_run_in_parent(use, module, model):
                continue
            message = (
                f"get_worker_info() is None outside of workers, with num_workers=0 too, so .{use.attr} fails there: "
                "test it for None first"
            )
            yield model.finding("TMP607", message, use, module)
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
    return any(samples.may_be_sampled_in_parent(model.crossings, cls) for cls in own or datasets)


def _is_asked_before(use: ast.AST, module: Module) -> bool:
    """Whether a test on the way asks for the info once more: `if get_worker_info(): seed(get_worker_info().seed)`."""
    names = module.names_of("get_worker_info")
    return any(
        isinstance(part, ast.Call) and last_name(part.func) in names
        for condition in conditions(use)
        for part in ast.walk(condition.test)
    )


def _uses(call: ast.Call, module: Module) -> list[ast.Attribute]:
    """The attributes that are taken of the info, if nothing asks whether it is one."""
    parent: Any = up(call)
    if isinstance(parent, ast.Attribute):
        return [parent]
    if isinstance(parent, ast.Assign):
        targets = parent.targets
    elif isinstance(parent, ast.NamedExpr | ast.AnnAssign):
        targets = [parent.target]
    else:
        return []
    loads = [load for target in targets for load in _loads(target, module)]
    holders = [up(load) for load in loads]
    if isinstance(parent, ast.NamedExpr) or not all(isinstance(h, ast.Attribute | ast.Call) for h in holders):
        return []
    return [holder for holder in holders if isinstance(holder, ast.Attribute)]


def _loads(target: ast.expr, module: Module) -> Iterator[ast.expr]:
    """Where what an assignment binds is read: in the same function, for an attribute in the same class."""
    name = dotted(target)
    scope = module.scope_of(target)
    around = scope.enclosing_class() if "." in name else scope.enclosing_function()
    for load in module.loads(name.rpartition(".")[2]):
        where = module.scope_of(load)
        same = where.enclosing_class() if "." in name else where.enclosing_function()
        if dotted(load) == name and same is around:
            yield load
