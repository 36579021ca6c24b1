"""TMP408 shared-memory-leak: a block of shared memory that nobody unlinks for sure, or that every worker unlinks

## What happens
A block made by `SharedMemory(create=True)` lives until somebody calls `unlink()`; `close()` gives back this process's
view of it alone. So a block that is never unlinked, or only where nothing fails before, stays in memory as long as the
program runs, and longer where it is killed; blocks that are made in a loop fill /dev/shm, and the next one with the
same name raises FileExistsError.

`unlink()` belongs to the one process that made the block. Where every worker does it, the first one takes the name
away, and the others, or the owner, end with FileNotFoundError. On Windows `unlink()` does nothing.

## Fails
```python
import os
from multiprocessing.shared_memory import SharedMemory

import torch


def total(values):
    block = SharedMemory(name=f"total_{os.getpid()}", create=True, size=4 * len(values))
    shared = torch.frombuffer(block.buf, dtype=torch.float32)
    shared.copy_(torch.tensor(values))
    result = shared.sum().item()
    del shared
    block.close()
    return result


def main():
    print(total([1.0, 2.0]))
    print(total([3.0]))


if __name__ == "__main__":
    main()
```
```text
FileExistsError: [Errno 17] File exists: '/total_4242'
```

## Works
```python
import os
from multiprocessing.shared_memory import SharedMemory

import torch


def total(values):
    block = SharedMemory(name=f"total_{os.getpid()}", create=True, size=4 * len(values))
    try:
        shared = torch.frombuffer(block.buf, dtype=torch.float32)
        shared.copy_(torch.tensor(values))
        result = shared.sum().item()
        del shared
        return result
    finally:
        block.close()
        block.unlink()


def main():
    print(total([1.0, 2.0]))
    print(total([3.0]))


if __name__ == "__main__":
    main()
```

## What it does not see
- What becomes of a block that is returned, kept in a container or handed to what may do more than use its buffer: it
  counts as unlinked by its new owner, and so does one in an attribute if anything in the file, or in a file that uses
  it, unlinks.
- Blocks of which the name is handed on, where something else in the file unlinks.
- Blocks of a `SharedMemoryManager`: it unlinks them itself.

## How to silence it
Unlink in a `finally`, by an ExitStack or by `atexit`. Or write `# noqa: TMP408` on the line, or ignore the code in
setup.cfg, for single files with per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.objects.blocks import are_made_once, leaks_of, unlinked_in
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP408", "shared-memory-leak")
def shared_memory_leak(module: Module, model: Model) -> Iterator[Finding]:
    if b"SharedMemory" not in module.data:
        return
    for leak in leaks_of(module, model.outline):
        message = f"this block of shared memory {leak.text}, and stays until the program ends: unlink it in a finally"
        yield model.finding("TMP408", message, leak.node, module)
    if not are_made_once(module, model.outline):
        return
    for worker in model.workers.of(module):
        if worker.kind == "process" and not model.company.several(module, worker.scope):
            continue
        for node in unlinked_in(worker.scope, model.outline):
            message = (
                f"every worker unlinks the block ({worker.reached_from}), and the second one does not find it "
                "(FileNotFoundError): close it here, and unlink it where it was made"
            )
            yield model.finding("TMP408", message, node, worker.scope.module)
