"""TMP307 process-started-in-daemon-worker: a daemonic worker starts processes of its own

## What happens
A DataLoader's workers and a Pool's workers are daemonic processes, and so is a Process with `daemon=True`. Daemonic
processes are killed when their parent ends, and may have no children, which nobody would kill then:
"daemonic processes are not allowed to have children".

So a dataset's `__getitem__` or a `collate_fn` cannot open a Pool, a Manager or an executor, start a Process, or iterate
a DataLoader that has workers; nor can a pool's function. With `num_workers=0` the same code works, and the first run
with workers breaks it.

## Fails
```python
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset


def score(fold):
    loader = DataLoader(TensorDataset(torch.ones(4) * fold), num_workers=1)
    return sum(x.item() for (x,) in loader)


if __name__ == "__main__":
    with mp.Pool(2) as pool:
        print(pool.map(score, range(3)))
```
```text
AssertionError: daemonic processes are not allowed to have children
```

## Works
```python
from concurrent.futures import ProcessPoolExecutor

import torch
from torch.utils.data import DataLoader, TensorDataset


def score(fold):
    loader = DataLoader(TensorDataset(torch.ones(4) * fold), num_workers=1)
    return sum(x.item() for (x,) in loader)


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as executor:
        print(list(executor.map(score, range(3))))
```
An executor's workers are not daemonic. In a dataset, threads do the same work, or the loader gets more workers.

## What it does not see
- Processes that installed packages start in a worker.
- Code behind a test of `get_worker_info()`, `parent_process()` or the current process is trusted to know where it runs.
- A worker count that nobody in the project names counts as workers.
- Starts that are more than two calls away from what is handed over, and those behind a test such as `processes > 1`.

## How to silence it
Write `# noqa: TMP307` on the line that starts the processes, ignore the code in setup.cfg (`extend-ignore = TMP307`),
or for one file with per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.starting.starts import Start
from flake8_torchmp.boundary.working.samples import frames_of_given
from flake8_torchmp.boundary.working.sides import asks_for_side, is_left_to_parent
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.calls import receiver_name
from flake8_torchmp.semantics.flow import caught_around, conditions
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, dotted

from . import rule

FARTHEST = 2
"""So many calls away from what is handed over, options on the way hardly lead a worker to another start."""


@rule("TMP307", "process-started-in-daemon-worker")
def process_started_in_daemon_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if not worker.is_daemon or worker.calls_away > FARTHEST:
            continue
        if model.starts.possible.can_start(worker.scope, True) and not _frees_itself(worker):
            for start in _starts(worker, model):
                message = (
                    f"{start.text} in a worker ({worker.reached_from}) that is daemonic and may have no children: "
                    "do it in the parent, or with threads"
                )
                yield model.finding("TMP307", message, start.node, start.module)


def _starts(worker: WorkerFunction, model: Model) -> Iterator[Start]:
    evaluator, scope = model.evaluator, worker.scope
    whatever_is_given = model.workers.frame_of(worker)
    assert isinstance(scope.node, FUNCTIONS)
    said: set[ast.AST] = set()
    for node in body_nodes(scope.node, nested=False):
        if not model.starts.possible.may_matter(node, scope.module):
            continue
        evaluator.steps = 0
        around = scope.module.scope_of(node)
        if model.starts.of_one(node, evaluator.frame_in(around, whatever_is_given)) is None:
            continue
        inner = [evaluator.frame_in(around, frame) for frame in model.workers.frames_of(worker)]
        start = next((start for frame in inner if (start := model.starts.of_one(node, frame)) is not None), None)
        if start is None or (start.loader is not None and not _is_of_worker(node, start, worker, model)):
            continue
        if (
            is_left_to_parent(node, worker)
            or _is_considered(node, scope.module, model)
            or _counts_its_side(start, model)
        ):
            continue
        if not any(outer in said for outer in ancestors(start.node)):
            said.add(start.node)  # `next(iter(loader))` is one start
            yield start


def _is_of_worker(node: ast.AST, start: Start, worker: WorkerFunction, model: Model) -> bool:
    """A loader that the parent made is what some other caller iterates, if it does not come along with the object."""
    assert start.loader is not None
    if _comes_along(node, start, worker, model):
        return True
    made = start.loader.arguments
    function = made.frame.scope.enclosing_function() if made is not None else None
    return function is not None and model.workers.runs(function)


def _comes_along(node: ast.AST, start: Start, worker: WorkerFunction, model: Model) -> bool:
    """`next(iter(self.loader))`, where a worker is known to get an object that has a loader there."""
    own = receiver_name(worker.scope)
    if not own or not any(isinstance(n, ast.Attribute) and dotted(n.value) == own for n in ast.walk(start.node)):
        return False
    if worker.kind != "dataset":
        return True
    for frame in frames_of_given(model.loaders, worker):
        given = model.starts.of_one(node, model.evaluator.frame_in(worker.scope.module.scope_of(node), frame))
        if given is not None and given.loader is not None:
            return True
    return False


def _is_considered(node: ast.AST, module: Module, model: Model) -> bool:
    if not {"", "AssertionError", "Exception"}.isdisjoint(caught_around(node)):
        return True
    return is_guarded(model.evaluator, node, module) or any(
        _asks_how_many(condition.test) or asks_for_side(condition.test, module, model.evaluator)
        for condition in conditions(node)
    )


def _counts_its_side(start: Start, model: Model) -> bool:
    """`DataLoader(data, num_workers=0 if current_process().daemon else 2)`"""
    made = start.loader.arguments if start.loader is not None else None
    count = made.keywords.get("num_workers") if made is not None else None
    if count is None or not isinstance(count.node, ast.expr):
        return False
    return asks_for_side(count.node, count.frame.module, model.evaluator)


def _asks_how_many(test: ast.expr) -> bool:
    """`if processes > 1`: who needs no processes is told not to start any, and a worker mostly does not."""
    return isinstance(test, ast.Compare) and any(
        isinstance(sign, ast.Gt | ast.GtE | ast.Lt | ast.LtE) for sign in test.ops
    )


def _frees_itself(worker: WorkerFunction) -> bool:
    """Whether the module takes the mark off: `current_process().daemon = False`."""
    return any(
        isinstance(target.value, ast.Constant)
        and target.value.value is False
        and target.name in ("daemon", "_daemonic")
        for changes in worker.scope.module.changes.values()
        for target in changes
    )
