"""TMP305 unpicklable-state: a lock, thread, generator, module or the like goes to workers, or hangs on what does

## What happens
What a worker is given is pickled: by DataLoader and `Process` under spawn and forkserver (Windows, macOS, Linux from
Python 3.14 on), by pools, executors and `mp.spawn` always. Some objects stand for something of this one process and
cannot be: a thread's lock, a thread, an executor, a `queue.Queue`, a generator or generator expression, the view of a
dict, a `csv.reader`, the iterator of `os.scandir` or `Path.iterdir`, `threading.local`, a `ContextVar`, a
`MappingProxyType`, a module, a `Manager()`, a `Pool`, a `struct.Struct`, an `os.DirEntry`, a future, a `memoryview`, a
running digest, a scripted module. An object that holds one cannot either, and a bound method takes its whole object
along. Under fork nothing is pickled and the program runs.

A `torch.Generator` is pickled, but its state is gone when a spawned process reads it ("unable to resize file"). Tasks
may carry one.

multiprocessing's own locks, queues and values are made to cross; so are a Manager's proxies, loggers, compiled
patterns, iterators of lists, `zip`, `map` and `enumerate` of what can be pickled.

For a dataset or a subclass of `Process` the finding is where the object is made,
otherwise at the argument that takes it along.

## Fails
```python
import threading

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, n):
        self.n = n
        self.lock = threading.Lock()

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        with self.lock:
            return torch.tensor(index**2)


if __name__ == "__main__":
    print(list(DataLoader(Squares(4), num_workers=1, multiprocessing_context="spawn")))
```
```text
TypeError: cannot pickle '_thread.lock' object
```

## Works
```python
import threading

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, n):
        self.n = n
        self.lock = threading.Lock()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state):
        vars(self).update(state)
        self.lock = threading.Lock()

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        with self.lock:
            return torch.tensor(index**2)


if __name__ == "__main__":
    print(list(DataLoader(Squares(4), num_workers=1, multiprocessing_context="spawn")))
```

## What it does not see
- Objects of libraries that neither its table nor the option `unpicklable-types` names.
- Views of dicts that the program does not spell out, and generators that functions of libraries return.
- `itertools` objects, which can be pickled until Python 3.14.

## How to silence it
Write `# noqa: TMP305` on the line that is reported. For a file or a folder use flake8's per-file-ignores in
setup.cfg, for the project `extend-ignore = TMP305` there, or their counterparts in the tool's own table of
pyproject.toml."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.objects.resources import HeldOver
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.flow import LOOPS, contradict, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.narrowing import facts_of_attributes
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, ancestors, up
from flake8_torchmp.semantics.values import Collection, Result

from . import rule


@rule("TMP305", "unpicklable-state")
def unpicklable_state(module: Module, model: Model) -> Iterator[Finding]:
    for held in model.resources.held(module):
        if not held.pickled_under:
            continue
        holding = held.holding
        what = model.unpicklables.text_of(held.value, holding.node, holding.module)
        fails = "cannot be pickled"
        if not what and held.api.kind != "task":  # a task's is read while the parent waits
            what, fails = model.unpicklables.lost_at_start(held.value), "does not arrive there"
        if not what or (what == "a process" and not _may_run(held)) or any(model.openers.handles(held.value)):
            continue
        node, place = _place(held)
        function = place.scope_of(node).enclosing_function()
        if held.is_of_dataset and function is not None and model.workers.runs(function):
            continue  # for a dataset that the worker makes for itself
        if _is_made_elsewise(held) or (held.role == "function" and what == "a module" and not holding.owners):
            continue  # what is to be called is no module: something is taken out of it on the way
        kept = f"{what} that {holding.text} holds" if holding.text else what
        message = (
            f"{kept} reaches workers through {held.place[2]} and {fails} ({held.pickled_under}): "
            f"make it in the worker, or leave it out in __getstate__"
        )
        finding = model.finding("TMP305", message, node, place, model.steps(held.way, held.place))
        if not model.is_left_to_test(finding, held):
            yield finding


def _may_run(held: HeldOver) -> bool:
    """Whether a process that goes along was started before: it can be pickled until then, by another one's start."""
    if held.api.kind != "process":
        return held.api.kind == "task"
    node = held.holding.node
    if node is None or held.role == "object":
        return False
    return isinstance(node, COMPREHENSIONS) or (
        isinstance(up(node), ast.Call) and any(isinstance(outer, LOOPS) for outer in ancestors(node))
    )


def _is_made_elsewise(held: HeldOver) -> bool:
    """Whether it is made where a test holds that does not hold where it would go over."""
    made = held.value.arguments if isinstance(held.value, Result) else None
    if made is None or made.frame.module is not held.place[1]:
        return False
    facts = facts_at(made.call)
    return contradict([*facts, *facts_of_attributes(facts, made.frame.scope)], facts_at(held.place[0]))


def _place(held: HeldOver) -> tuple[ast.AST, Module]:
    """Where the object of a dataset or process is made, otherwise the argument."""
    value, holding = held.value, held.holding
    if not held.is_of_dataset and held.role != "object":
        return held.place[0], held.place[1]
    if isinstance(value, Result):
        return value.arguments.call, value.arguments.frame.module
    if isinstance(value, Collection):
        return value.node, value.module
    if holding.node is not None and holding.module is not None:
        return holding.node, holding.module
    return held.place[0], held.place[1]
