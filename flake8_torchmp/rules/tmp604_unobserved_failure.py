"""TMP604 unobserved-failure: a task's result is never asked for, so nobody learns that it failed

## What happens
`apply_async`, `map_async`, `starmap_async`, `imap`, `imap_unordered` and an executor's `submit` and `map` give
something that can be asked how the task went. An exception in the worker is kept there, and raised where the result is
asked for: by `get()`, `result()` or the loop over it. Where nobody asks, the task fails without a sound: the file is
not written, the row not filled, and the program ends well. Waiting does not help: `wait()`, `ready()`, `done()`,
`concurrent.futures.wait` and a bare loop over `as_completed` raise nothing. A `callback=` is called after
success alone.

The start method plays no role.

## Fails
```python
from concurrent.futures import ProcessPoolExecutor

import torch


def normalise(table, row):
    table[row] /= table[row].sum().item() or int("zero row")


def main():
    table = torch.tensor([[1.0, 3.0], [0.0, 0.0]]).share_memory_()
    with ProcessPoolExecutor(1) as executor:
        for row in range(2):
            executor.submit(normalise, table, row)
    assert torch.allclose(table.sum(1), torch.ones(2)), table.tolist()


if __name__ == "__main__":
    main()
```
```text
AssertionError: [[0.25, 0.75], [0.0, 0.0]]
```

## Works
```python
from concurrent.futures import ProcessPoolExecutor

import torch


def normalise(table, row):
    table[row] /= table[row].sum().item() or 1


def main():
    table = torch.tensor([[1.0, 3.0], [0.0, 0.0]]).share_memory_()
    with ProcessPoolExecutor(1) as executor:
        tasks = [executor.submit(normalise, table, row) for row in range(2)]
    for task in tasks:
        task.result()
    assert table.tolist() == [[0.25, 0.75], [0.0, 0.0]]


if __name__ == "__main__":
    main()
```

## What it does not see
- What becomes of a result that is handed on: returned, given to a function, kept under a name of the module or in an
  attribute that other files mention. It counts as asked for.
- Pools and executors that come from somewhere the source does not show.
- Whether a done callback looks at the result.
- A function whose whole body stands in a `try` that catches everything deals with its failures itself: it is left
  alone.

## How to silence it
Ask for the result, or give an `error_callback`. Or write `# noqa: TMP604` on the line of the call, or ignore the code
in setup.cfg, for single files with per-file-ignores.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.crossings import Call
from flake8_torchmp.boundary.failures.outcomes import NOT_ASKING, handles_its_failures, is_dropped
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Constant

from . import rule

HANDLES = frozenset(("Pool.apply_async", "Pool.map_async", "Pool.starmap_async", "ProcessPoolExecutor.submit"))
ITERATED = frozenset(("Pool.imap", "Pool.imap_unordered", "ProcessPoolExecutor.map"))


@rule("TMP604", "unobserved-failure")
def unobserved_failure(module: Module, model: Model) -> Iterator[Finding]:
    for call in model.crossings.calls(module):
        name = call.api.name
        if name not in HANDLES and name not in ITERATED:
            continue
        asked_by = NOT_ASKING if name in HANDLES else frozenset[str]()
        if is_dropped(call.node, module, model.outline, asked_by) and not _is_seen_to(call, model):
            asking = "result()" if name.startswith("Process") else "get()"
            way_out = f"keep it and call {asking}" if name in HANDLES else "loop over it"
            error_callback = ", or give an error_callback" if name.endswith("_async") else ""
            message = (
                f"nobody asks for the result of {name.partition('.')[2]}(), so an exception in the worker is never "
                f"seen: {way_out}{error_callback}"
            )
            yield model.finding("TMP604", message, call.node, module)


def _is_seen_to(call: Call, model: Model) -> bool:
    """Whether a callback hears of failures, or the function deals with them itself."""
    callback = call.arguments.keywords.get("error_callback")
    position = {"Pool.apply_async": 4, "Pool.map_async": 4, "Pool.starmap_async": 4}.get(call.api.name)
    callback = callback or call.arguments.get(position)
    if callback is not None:
        values = model.evaluator.of(callback)
        if not all(isinstance(value, Constant) and value.value is None for value in values):
            return True
    if call.arguments.open_keywords:
        return True
    function = call.arguments.get(0, call.api.parameters[0].keyword)
    return function is not None and all(handles_its_failures(value) for value in model.evaluator.of(function))
