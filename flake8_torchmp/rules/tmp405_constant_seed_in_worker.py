"""TMP405 constant-seed-in-worker: every worker seeds its generator with the same number

## What happens
DataLoader seeds torch, Python's `random` and NumPy differently in each worker. A `worker_init_fn` or a sample method
that seeds again, with a constant, with the dataset's `seed` or with the rank, undoes that: all workers of the loader
draw the same crops, flips and noise, and a sample method that seeds draws the same for every sample. The initializer of
a pool and the target of several processes do the same to theirs. There is no error, only less variety than one thinks.
An endless `__iter__` that draws what it yields by a generator of its own, seeded alike in every worker, hands out each
sample as often as there are workers.

The seed has to hold something that differs: the worker's id, `torch.initial_seed()` (which DataLoader has set to
another number in each worker), `get_worker_info().seed`, the index of the sample, the rank of the process.

## Fails
```python
import random

import torch
from torch.utils.data import DataLoader


def draw(numbers):
    return torch.tensor([random.random() for _ in numbers])


def seed_worker(worker_id):
    random.seed(7)


if __name__ == "__main__":
    loader = DataLoader(range(4), batch_size=2, num_workers=2, collate_fn=draw, worker_init_fn=seed_worker)
    drawn = torch.cat(list(loader))
    assert len(drawn.unique()) == 4, f"{len(drawn.unique())} different numbers of 4"
```
```text
AssertionError: 2 different numbers of 4
```

## Works
```python
import random

import torch
from torch.utils.data import DataLoader


def draw(numbers):
    return torch.tensor([random.random() for _ in numbers])


def seed_worker(worker_id):
    random.seed(7 + worker_id)


if __name__ == "__main__":
    loader = DataLoader(range(4), batch_size=2, num_workers=2, collate_fn=draw, worker_init_fn=seed_worker)
    drawn = torch.cat(list(loader))
    assert len(drawn.unique()) == 4, f"{len(drawn.unique())} different numbers of 4"
```

## What it does not see
- Seeds that come out of a call which is not known to give the same everywhere: they may differ.
- It stays quiet where a function also seeds by what differs, puts the old state back, seeds under a switch of its own,
  or where the processes train one model together: there equal seeds are wanted.
- A function that one process alone is given, such as a server beside its actors.
- Tasks of a pool that seed alike, and processes of which each is joined before the next is made: each of them is often
  meant to begin at the same point.

## How to silence it
Write `# noqa: TMP405` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP405` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.drawing.same_streams import Made
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.working.workers import RANKS, WorkerFunction
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Instance

from . import rule

WAYS_OUT = {
    "dataset": "take the sample's index into the seed, or leave the seeding to DataLoader",
    "collate": "leave the seeding to DataLoader",
    "initializer": "add the worker's id, or seed with torch.initial_seed()",
    "process": "add what tells the processes apart, such as their rank",
    "spawn": "add the rank",
}


@rule("TMP405", "constant-seed-in-worker", fix="unsafe")
def constant_seed_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    fixed = None
    for worker in model.workers.of(module):
        if worker.kind not in WAYS_OUT:
            continue
        if fixed is None:
            fixed = model.sameness.shared_parameters(module)
        call = model.seeds.constant(worker, fixed.get(worker.scope, frozenset()))
        stream = model.same_streams.seeded_alike(worker) if call is None else None
        if stream is not None:
            yield _same_stream(stream, worker, model)
        if call is None:
            continue
        receiver = worker.receiver
        if worker.kind == "process" and (
            not model.company.several(module, receiver=receiver)
            or model.company.take_turns(module, receiver)
            or model.company.is_alone(worker.scope, module)
        ):
            continue
        if model.company.has_one(worker, module):
            continue
        if worker.kind in RANKS and (
            model.workers.train_together(module)
            or model.seeds.is_seeded_by_caller(worker, model.workers.of(module), fixed)
        ):
            continue
        if isinstance(receiver, Instance) and model.seeds.is_in_order(worker, model.sharding.shards(receiver.cls)):
            continue
        message = (
            f"{worker.scope.name}() seeds every worker alike ({worker.reached_from}), so they all draw the same: "
            f"{WAYS_OUT[worker.kind]}"
        )
        notes = model.seeds.remedy(worker, module)
        repair = model.repair("seed_per_worker", call, worker.scope.module, **notes) if notes is not None else None
        yield model.finding("TMP405", message, call, worker.scope.module, cause=f"{worker.scope.place}", repair=repair)
    for call, seeder in model.seeds.seeding_initializers(module):
        message = (
            f"{seeder}() seeds every worker alike (initializer), so they all draw the same: let the initializer add "
            "what tells them apart, such as os.getpid()"
        )
        repair = model.repair("seed_from_entropy", call, module, name=seeder)
        yield model.finding("TMP405", message, call, module, repair=repair)


def _same_stream(made: Made, worker: WorkerFunction, model: Model) -> Finding:
    message = (
        f"{worker.scope.name}() draws what it yields by a generator that every worker seeds alike "
        f"({worker.reached_from}), so each sample arrives once per worker: add get_worker_info().id to the seed"
    )
    module = worker.scope.module
    seed = f"{made.seed.lineno}:{made.seed.col_offset}:{type(made.seed).__name__}"
    repair = model.repair("seed_per_worker", made.call, module, seeds=seed, given="", where="loader", default="")
    return model.finding("TMP405", message, made.call, module, cause=f"{worker.scope.place}", repair=repair)
