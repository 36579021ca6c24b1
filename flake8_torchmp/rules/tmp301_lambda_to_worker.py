"""TMP301 lambda-to-worker: a lambda reaches worker processes and cannot be pickled

## What happens
A process that is not forked gets everything it needs in pickled form: the dataset with all that hangs on it, the
`collate_fn`, the `worker_init_fn`, the target of a `Process` and its arguments. pickle writes a function as its module
and its name, and a lambda has no name to be found by. So the program ends when the workers start.

DataLoader and `Process` pickle under spawn and forkserver: on Windows, on macOS since Python 3.8, and everywhere since
Python 3.14, where Linux uses forkserver. On Linux with an older Python the same program runs, because fork pickles
nothing; that is why it works where it was written and breaks elsewhere. The tasks of pools and executors and the
arguments of `torch.multiprocessing.spawn` are pickled always.

A name does not help: `square = lambda x: x * x` at module level is still a function called `<lambda>`. Nor does it help
to hide it: an element of a `Compose`, a value of a dict, the factory of a `defaultdict`, an attribute of an object
whose bound method is handed over are all pickled along. The finding is on the lambda, wherever it is written; the way
that it takes to the workers is shown by `torchmp check --format full`.

Python 3.13 words the error "Can't get local object", Python 3.14 "Can't pickle local object <function ...>".

## Fails
```python
import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    points = TensorDataset(torch.arange(4.0))
    loader = DataLoader(points, 2, num_workers=1, collate_fn=lambda rows: torch.stack([x for (x,) in rows]))
    for batch in loader:
        print(batch)


if __name__ == "__main__":
    main()
```
```text
AttributeError: Can't pickle local object 'main.<locals>.<lambda>'
```

## Works
```python
import torch
from torch.utils.data import DataLoader, TensorDataset


def stack(rows):
    return torch.stack([x for (x,) in rows])


def main():
    points = TensorDataset(torch.arange(4.0))
    loader = DataLoader(points, 2, num_workers=1, collate_fn=stack)
    for batch in loader:
        print(batch)


if __name__ == "__main__":
    main()
```

## What it does not see
- What a test writes and hands to code of other files: whether that makes workers of it is seen by running the test.
- Lambdas that reach a worker by a way that the source does not show: through `setattr` with a computed name, a
  configuration file, a registry that is asked by name, a class of an installed package that keeps its argument. A
  dataset class that is looked for among those of a module, by `issubclass`, is followed.
- A lambda that is replaced on the object before the workers start: the rule knows which values an attribute gets, not
  when, and may report one that has gone by then.
- Whether a serializer that knows lambdas is at work: what multiprocess, pathos, joblib, ray or dask are given is not
  looked at.
- A `__getstate__` whose result is computed in ways that cannot be read is trusted to drop what must not be pickled.
- A worker count that is 0 by a constant, by the default of a function whose calls all leave it out, or by an argument
  parser's default counts as no workers, although the user may choose another one.

## How to silence it
Write `# noqa: TMP301` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP301` there, or their counterparts in the tool's own table of pyproject.toml.
Where every process is known to be forked, by `multiprocessing_context="fork"` or `get_context("fork")`, nothing is
pickled and nothing is reported, but then TMP101 has its say. A project that runs on Linux with Python older than 3.14
alone can set `torchmp-target-platforms = linux` and `torchmp-target-python`: then only what is pickled under fork, too,
is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Function

from . import rule


@rule("TMP301", "lambda-to-worker", fix="safe or unsafe")
def lambda_to_worker(module: Module, model: Model) -> Iterator[Finding]:
    for handed in model.handed_over(module):
        value = handed.value
        if isinstance(value, Function) and value.is_lambda and handed.is_pickled:
            message = (
                f"lambda reaches workers through {handed.place[2]} and cannot be pickled "
                f"({model.pickled_under(handed)}): make it a function at module level"
            )
            way = model.steps(handed.way, handed.place)
            repair = model.repair("lambda_to_function", value.node, value.scope.module, **model.notes(handed, value))
            finding = model.finding("TMP301", message, value.node, value.scope.module, way, repair=repair)
            if not model.is_left_to_test(finding, handed):
                yield finding
