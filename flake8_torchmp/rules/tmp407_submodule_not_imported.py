"""TMP407 submodule-not-imported: a submodule of multiprocessing is used as an attribute, and nothing imported it

## What happens
`import multiprocessing` brings Process, Pool, Queue and the like, and of its submodules `context`, `process` and
`reduction` alone. `multiprocessing.shared_memory`, `.managers`, `.pool`, `.connection`, `.sharedctypes` are attributes
from the moment that somebody imports them. So the line works where another import, or a Pool that was made earlier,
happened to bring the submodule, and ends with an AttributeError elsewhere: in another script, in a test, in a worker
process that imports the module anew.

`import torch` brings `connection`, `util`, `spawn`, `resource_tracker` and `resource_sharer`, and these count as
imported then. `torch.multiprocessing` offers multiprocessing's functions and classes, and none of its submodules:
`torch.multiprocessing.shared_memory` does not exist, whatever was imported.

## Fails
```python
import multiprocessing as mp

import torch


def main():
    block = mp.shared_memory.SharedMemory(create=True, size=8)
    try:
        print(torch.frombuffer(block.buf, dtype=torch.uint8).sum().item())
    finally:
        block.close()
        block.unlink()


if __name__ == "__main__":
    main()
```
```text
AttributeError: module 'multiprocessing' has no attribute 'shared_memory'
```

## Works
```python
from multiprocessing import shared_memory

import torch


def main():
    block = shared_memory.SharedMemory(create=True, size=8)
    try:
        print(torch.frombuffer(bytes(block.buf), dtype=torch.uint8).sum().item())
    finally:
        block.close()
        block.unlink()


if __name__ == "__main__":
    main()
```

## What it does not see
- Which import ran first: an import of the submodule in any file that runs together with this one counts, and so does
  a call that brings it (`Pool()` for `.pool`, `Manager()` for `.managers`) in a function that may have run before.
- What other libraries import: of those that are known to bring a submodule, it is taken as imported.
- `getattr(multiprocessing, name)`.
- A use inside of `try` with `except AttributeError`, or behind a `hasattr` test, is left alone, and so are annotations
  that are never evaluated.

## How to silence it
Import the submodule: `from multiprocessing import shared_memory`. Or write `# noqa: TMP407` on the line, or ignore the
code in setup.cfg, for single files with per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.submodules import missing_submodules
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP407", "submodule-not-imported", fix="safe")
def submodule_not_imported(module: Module, model: Model) -> Iterator[Finding]:
    for missing in missing_submodules(module, model.outline):
        reason = (
            "is a submodule that nothing here imports"
            if missing.owner == "multiprocessing"
            else "does not exist, torch offers none of the submodules"
        )
        message = (
            f"{missing.owner}.{missing.name} {reason} (AttributeError): "
            f"write `from multiprocessing import {missing.name}`"
        )
        repair = model.repair("import_submodule", missing.node, module)
        yield model.finding("TMP407", message, missing.node, module, repair=repair)
