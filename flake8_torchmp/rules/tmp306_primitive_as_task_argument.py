"""TMP306 primitive-as-task-argument: a lock, queue or shared value goes to a pool's or executor's task

## What happens
A pool's and an executor's tasks are pickled and sent through a queue to workers that run already. Locks, queues,
events, shared values and arrays of multiprocessing refuse that: "Lock objects should only be shared between processes
through inheritance". They can be given to a process when it is made, and not later. It makes no difference what the
start method is, and whether the primitive is an argument itself, a part of `functools.partial`, or an attribute of the
object whose method is the task.

A pool raises it where the result is asked for. `apply_async` whose result nobody asks for says nothing at all.

## Fails
```python
import torch.multiprocessing as mp


def work(lock, number):
    with lock:
        return number


if __name__ == "__main__":
    lock = mp.Lock()
    with mp.Pool(2) as pool:
        print(pool.starmap(work, [(lock, 1), (lock, 2)]))
```
```text
RuntimeError: Lock objects should only be shared between processes through inheritance
```

## Works
```python
import torch.multiprocessing as mp


def keep(lock):
    global LOCK
    LOCK = lock


def work(number):
    with LOCK:
        return number


if __name__ == "__main__":
    with mp.Pool(2, initializer=keep, initargs=(mp.Lock(),)) as pool:
        print(pool.map(work, [1, 2]))
```
A Manager's `Lock()` or `Queue()` is a proxy, which can be pickled, and goes as an argument.

## What it does not see
- Primitives inside objects of installed packages, and in containers that are filled elsewhere.
- Pools of installed packages (joblib, ray, dask, pathos).

## How to silence it
Write `# noqa: TMP306` on the line that is reported, ignore the code in setup.cfg (`extend-ignore = TMP306`), or for one
file with per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.primitives import primitive
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP306", "primitive-as-task-argument")
def primitive_as_task_argument(module: Module, model: Model) -> Iterator[Finding]:
    for crossing in model.crossings.of(module):
        if crossing.api.kind != "task":
            continue
        for hanging in crossing.hanging:
            made = primitive(model.evaluator, hanging.value)
            if made is not None:
                message = (
                    f"{made.name}() is an argument of a task ({crossing.text}), and only a process that is being "
                    "made can be given one: hand it over through the initializer's initargs, or take a Manager's"
                )
                place = (crossing.source.node, crossing.source.frame.module, crossing.text)
                yield model.finding("TMP306", message, crossing.call, module, model.steps(hanging.way, place))
                break
