"""TMP909 mutable-table-in-worker: a dataset's sample methods read a module-level table that could be changed

## What happens
Nothing in the project changes the list, dict, set or array, so every process has the same: it is right today. It is
one `append` in the parent away from TMP401, where each spawned worker goes on with what the import made. A tuple, a
`frozenset` or a `MappingProxyType` cannot be changed at all.

## Fails
```python
import torch
from torch.utils.data import DataLoader

CLASSES = ["cat", "dog"]


class Labels(torch.utils.data.Dataset):
    def __len__(self):
        return len(CLASSES)

    def __getitem__(self, index):
        return CLASSES.index("dog")


if __name__ == "__main__":
    list(DataLoader(Labels(), num_workers=1))
    assert isinstance(CLASSES, tuple), "still a list"
```
```text
AssertionError: still a list
```

## Works
```python
import torch
from torch.utils.data import DataLoader

CLASSES = ("cat", "dog")


class Labels(torch.utils.data.Dataset):
    def __len__(self):
        return len(CLASSES)

    def __getitem__(self, index):
        return CLASSES.index("dog")


if __name__ == "__main__":
    list(DataLoader(Labels(), num_workers=1))
```

## What it does not see
- Tables that the project changes are TMP401's.
- Names marked `Final` are taken at their word.

## How to silence it
It is an opinion and off by default: it speaks where it is named, as in `extend-select = TMP909`. Write `# noqa: TMP909`
on a line that is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.crossing.plain_values import is_mutable
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Repair
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP909", "mutable-table-in-worker", fix="unsafe")
def mutable_table_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    state = model.state
    for worker in model.workers.of(module):
        for node, variable in state.names.read_by(worker.scope) if worker.kind == "dataset" else ():
            if not state.is_variable(variable) or state.is_constant_by_type(variable):
                continue
            if not any(is_mutable(value) for value in state.names.values(variable)) or state.mutations.of(variable):
                continue
            message = (
                f"worker code ({worker.reached_from}) reads the global {variable.name}, which nothing changes today "
                "but could: make it a tuple, a frozenset or a MappingProxyType"
            )
            repair = _repair(model, variable)
            yield model.finding("TMP909", message, node, worker.scope.module, cause=variable.text, repair=repair)


def _repair(model: Model, variable: Global) -> Repair | None:
    made = variable.bindings[0].value if len(variable.bindings) == 1 else None
    if not isinstance(made, ast.List | ast.Dict | ast.Set):
        return None
    naming = model.codebase.mentioning(variable.name, variable.module.path)
    elsewhere = any(path != variable.module.path for path in naming)
    return model.repair("frozen_table", made, variable.module, elsewhere="yes" if elsewhere else "")
