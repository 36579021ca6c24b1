"""TMP605 join-before-drain: a process is joined before the queue that it puts on is read

## What happens
A process that has put something on a `multiprocessing.Queue` does not end before all of it has gone into the pipe below
the queue, and a pipe holds little: 64 KiB on Linux. So a parent that joins the process first and reads the queue later
waits for a process that waits for the parent. With small results the same program runs, which is how it gets
written; with real data it hangs, without a word. It is so under every start method. A loop that asks `is_alive()` until
the process has ended waits just as long.

A `SimpleQueue` has no buffer at all: `put` itself waits for room in the pipe. A Manager's queue lives in a process of
its own, and is never waited for.

## Fails
The program gives itself ten seconds, because it would wait for ever:

```python
import faulthandler
import multiprocessing as mp

import torch


def noise(seed, out):
    torch.manual_seed(seed)
    out.put(torch.randn(200_000).tolist())


def main():
    faulthandler.dump_traceback_later(10, exit=True)
    out = mp.Queue()
    worker = mp.Process(target=noise, args=(0, out), daemon=True)
    worker.start()
    worker.join()
    print(len(out.get()))


if __name__ == "__main__":
    main()
```
```text
Timeout (0:00:10)!
```

## Works
```python
import multiprocessing as mp

import torch


def noise(seed, out):
    torch.manual_seed(seed)
    out.put(torch.randn(200_000).tolist())


def main():
    out = mp.Queue()
    workers = [mp.Process(target=noise, args=(seed, out)) for seed in range(2)]
    for worker in workers:
        worker.start()
    results = [out.get() for _ in workers]
    for worker in workers:
        worker.join()
    assert [len(result) for result in results] == [200_000, 200_000]


if __name__ == "__main__":
    main()
```

## What it does not see
- A queue that is read in a file which neither joins its processes nor calls what does.
- How much is put: what is plainly a number, a short text, the text of an error or a few of them passes,
  everything else counts as much.
- What tests join: one that hung would have been seen.
- A `join` with a timeout, but for one in a loop that does nothing else while the process is alive.

## How to silence it
Read first, join then. Or write `# noqa: TMP605` on the line of the `join`, or ignore the code in setup.cfg, for single
files with per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.failures.queues import Queues, may_join_early
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name, position

from . import rule


@rule("TMP605", "join-before-drain")
def join_before_drain(module: Module, model: Model) -> Iterator[Finding]:
    if not may_join_early(module, model.codebase) or model.is_test(module):
        return
    for early in Queues(module, model.evaluator, model.crossings, model.workers).early_joins():
        waits = "waits for the end of" if last_name(early.node.func) == "is_alive" else "joins"
        message = (
            f"{waits} a process before the queue is read on which {early.worker}() puts: both wait for ever once it is "
            "more than a pipe holds: read the queue first, join then"
        )
        way = [Step(early.read.module.path, position(early.read.node)[0], "the queue is read")]
        yield model.finding("TMP605", message, early.node, module, way)
