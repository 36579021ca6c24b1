"""TMP908 worker-option-unguarded: an option of workers stands beside a count that somebody else chooses

## What happens
`prefetch_factor`, `persistent_workers=True`, `timeout` and `multiprocessing_context` are refused by a DataLoader that
has no workers. Where the count comes from a command line, a configuration or a caller, 0 is a choice that people make,
to debug, in a notebook, on a machine with one core, and then the program ends with a ValueError (a `timeout`: with an
AssertionError) that has nothing to do with what they did.

TMP701 reports where the project itself shows a count of 0. This rule is an opinion and off by default: it asks for a
test of `num_workers > 0` wherever the count can be chosen.

## Fails
```python
import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args(["--workers", "0"])
    data = TensorDataset(torch.arange(8))
    print(len(DataLoader(data, batch_size=2, num_workers=args.workers, prefetch_factor=4)))
```
```text
ValueError: prefetch_factor option could only be specified in multiprocessing. [...]
```

## Works
```python
import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args(["--workers", "0"])
    data = TensorDataset(torch.arange(8))
    prefetch = 4 if args.workers > 0 else None
    print(len(DataLoader(data, batch_size=2, num_workers=args.workers, prefetch_factor=prefetch)))
```

## What it does not see
- A check of the count that is made elsewhere, such as argparse's `choices`, or a validated configuration.
- Options whose own value is unknown: only one that is certainly set counts.

## How to silence it
It is off unless it is asked for, by `extend-select = TMP908` or `TMP9`. Write `# noqa: TMP908` on the line that is
reported, or leave the code out again with `extend-ignore` or per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP908", "worker-option-unguarded")
def worker_option_unguarded(module: Module, model: Model) -> Iterator[Finding]:
    for option in model.loader_options.of(module):
        if option.workers == "chosen":
            message = (
                f"{option.name} is set whatever num_workers is chosen, and torch refuses it for 0: "
                "make it depend on num_workers > 0"
            )
            way = model.steps(option.way, (option.call.node, option.call.module, option.call.api.name))
            yield model.finding("TMP908", message, option.node, option.module, way)
