"""TMP701 worker-option-without-workers: a DataLoader that has or can have no workers gets an option of workers

## What happens
`prefetch_factor`, `persistent_workers=True`, `timeout` and `multiprocessing_context` are about worker processes.
Without any, `num_workers=0` or left out, torch refuses them: the first, the second and the last raise ValueError when
the loader is made (`prefetch_factor` since torch 2.0), a `timeout` lets an assertion fail when the loader is iterated.

So the program runs with its four workers and stops the day that somebody debugs it with `--workers 0`, evaluates it
on Windows, where a branch sets the count to 0, or calls the helper that makes the loader without the argument.

The rule reports an option where the project shows a count of 0: no count at all, a constant, the default of a parameter
or of an argument parser, one branch of several, an argument of one caller. An option that is made to fit, by a test of
the same count, is not reported, one that a branch sets for the very count of 0 is. The finding is on the option, or on
the loader if the option comes from a dict that others share.

## Fails
```python
import torch
from torch.utils.data import DataLoader, TensorDataset


def make_loader(data, num_workers=0):
    return DataLoader(data, batch_size=2, num_workers=num_workers, persistent_workers=True)


if __name__ == "__main__":
    data = TensorDataset(torch.arange(4))
    print(len(make_loader(data, num_workers=2)))
    print(len(make_loader(data)))
```
```text
ValueError: persistent_workers option needs num_workers > 0
```

## Works
```python
import torch
from torch.utils.data import DataLoader, TensorDataset


def make_loader(data, num_workers=0):
    return DataLoader(data, batch_size=2, num_workers=num_workers, persistent_workers=num_workers > 0)


if __name__ == "__main__":
    data = TensorDataset(torch.arange(4))
    print(len(make_loader(data, num_workers=2)))
    print(len(make_loader(data)))
```

## What it does not see
- Counts that come from outside: a configuration file, the environment, an option without a default. TMP908, off by
  default, asks for a test there.
- Options that are handed on by a class of an installed package, such as the arguments of a trainer.
- A test that is made elsewhere, as in a function that checks the configuration; one that computes with the count is
  only understood if it compares it with a constant.

## How to silence it
Write `# noqa: TMP701` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP701` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.loader_options import LoaderOption
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Repair
from flake8_torchmp.semantics.module import Module

from . import rule

WAY_OUT = {"prefetch_factor": "set it to None", "persistent_workers": "set it to False", "timeout": "set it to 0"}


@rule("TMP701", "worker-option-without-workers", fix="safe or unsafe")
def worker_option_without_workers(module: Module, model: Model) -> Iterator[Finding]:
    found = list(model.loader_options.of(module))
    for option in found:
        if option.workers != "chosen":
            way = model.steps(option.way, (option.call.node, option.call.module, option.call.api.name))
            repair = _repair(option, [other for other in found if other.node is option.node], model)
            yield model.finding("TMP701", _message(option), option.node, option.module, way, repair=repair)


def _repair(option: LoaderOption, here: list[LoaderOption], model: Model) -> Repair:
    if isinstance(option.node, ast.keyword):
        notes = {"option": option.name, "count": option.workers}
        return model.repair("fit_worker_option", option.given, option.module, **notes)
    kinds = {other.workers for other in here}
    names = " ".join(other.name for other in here)
    count = "always 0" if kinds == {"always 0"} else "can be 0"
    notes = {"options": names, "count": count, **model.imported(option.module)}
    return model.repair("overridden_option", option.node, option.module, **notes)


def _message(option: LoaderOption) -> str:
    raised = "an AssertionError at iteration" if option.name == "timeout" else "a ValueError"
    if option.workers == "always 0":
        return f"{option.name} without workers is {raised}, and this DataLoader has none: drop it, or set num_workers"
    neutral = WAY_OUT.get(option.name, "set it to None")
    return f"{option.name} without workers is {raised}, and num_workers can be 0 here: {neutral} unless num_workers > 0"
