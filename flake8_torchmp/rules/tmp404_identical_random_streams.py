"""TMP404 identical-random-streams: all workers draw from copies of one generator, and get the same numbers

## What happens
A `np.random.Generator`, `RandomState`, `random.Random` or `torch.Generator` that is made in the parent, in a dataset's
`__init__`, in a transform, at module level, is copied to every worker in the state that it has. Each worker then draws
the same numbers: the same crops and flips, sample for sample, and with workers that start anew each epoch, the same
again in every epoch. There is no error; the augmentation is only a fraction of what it seems.

DataLoader seeds the global generators of torch, Python and NumPy in its workers. A forked `Process` or `Pool` worker
inherits torch's and NumPy's global state instead, so all of them draw alike there too. Python's `random` is seeded anew
after a fork.

## Fails
```python
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(5)

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.rng.random()


if __name__ == "__main__":
    drawn = [number for batch in DataLoader(Noisy(), batch_size=2, num_workers=2) for number in batch.tolist()]
    assert len(set(drawn)) == 4, f"{len(set(drawn))} different numbers of 4"
```
```text
AssertionError: 2 different numbers of 4
```

## Works
```python
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self):
        self.seed = 5

    def __len__(self):
        return 4

    def __getitem__(self, index):
        rng = np.random.default_rng([self.seed, index])
        return rng.random()


if __name__ == "__main__":
    drawn = [number for batch in DataLoader(Noisy(), batch_size=2, num_workers=2) for number in batch.tolist()]
    assert len(set(drawn)) == 4, f"{len(set(drawn))} different numbers of 4"
```

## What it does not see
- Generators that an installed library keeps inside its objects.
- It stays quiet where worker code makes the generator anew or seeds it (in a `worker_init_fn` too), where an iterable
  dataset that asks for its worker's number draws an order that all have to agree on, for generators that are made in a
  loop (perhaps one for each worker), and where processes train one model together.
- What is drawn in an `except`, for `time.sleep`, or only for the later rounds of a loop that its first round may end,
  is taken to be for another try, not for data.
- What processes that tests start, in files that are no program, draw from a global generator: there it only has to be
  something.
- What a layer draws as it is made (`nn.Linear`, `nn.init`, `weight.uniform_()`), and distributions of classes of the
  project's own: of torch's functions, of `torch.distributions` and of `multinomial()` alone it knows that they draw.
- A draw that nobody keeps, `torch.rand(rank)`, moves each process on to numbers of its own.
- Numbers drawn from a global generator that nobody gets: of which only the shape is asked, or whose function's result
  worker code throws away.
- NumPy's global generator is made at its first use: a parent that never used it, and imports no library that does
  (pandas, scikit-learn …), hands on nothing.

## How to silence it
Write `# noqa: TMP404` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP404` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position

from . import rule


@rule("TMP404", "identical-random-streams")
def identical_random_streams(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        cls = worker.scope.enclosing_class()
        if cls is not None and model.is_test(module) and not any(model.loaders.have_workers(cls)):
            continue  # tests go through datasets themselves, or give them to loaders without workers
        for draw in model.streams.copied(worker, module):
            assert draw.made is not None and draw.module is not None
            message = (
                f"all workers draw the same from their copies of {draw.text} ({worker.reached_from}): make the "
                "generator in each worker, seeded with get_worker_info().seed, or for each sample by its index"
            )
            drawn = position(draw.node)[0]
            way = [Step(worker.scope.module.path, drawn, f"{worker.scope.name}() draws from it in a worker")]
            cause = f"{draw.module.path}:{position(draw.made)}"
            yield model.finding("TMP404", message, draw.made, draw.module, way, cause=cause)
    if model.is_test(module) and b"__main__" not in module.data:
        return  # what a test draws in processes of its own only has to be there; a program of experiments is none
    for worker, draw in model.inherited_streams.of(module):
        message = (
            f"forked workers inherit one state of the generator of {draw.text}() and draw the same "
            f"({worker.reached_from}): seed it in each, by its rank or a number of its own"
        )
        yield model.finding("TMP404", message, draw.node, worker.scope.module, cause=f"{worker.scope.place}")
