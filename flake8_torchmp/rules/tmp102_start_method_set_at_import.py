"""TMP102 start-method-set-at-import: set_start_method runs when the module is imported

## What happens
A spawned or forkserved child starts as an empty interpreter. It is told its start method first, then it imports the
parent's main module, and the modules that it uses. A `set_start_method` at module level, or in a function that module
level calls, runs once more there, finds the method set, and raises "context has already been set": the child dies
before it has done anything. A DataLoader then reports that its worker exited unexpectedly, an executor is broken, and a
Pool starts new workers, which die as well, without end.

It makes no difference what the default of the platform is: the call itself makes spawn the method. Under fork nothing
is imported again, so `set_start_method("fork")` at import is not reported here (TMP101 has its own opinion of it).

## Fails
```python
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

mp.set_start_method("spawn")


def main():
    for (batch,) in DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1):
        print(batch)


if __name__ == "__main__":
    main()
```
```text
RuntimeError: context has already been set
RuntimeError: DataLoader worker (pid(s) 25392) exited unexpectedly
```

## Works
```python
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset


def main():
    for (batch,) in DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1):
        print(batch)


if __name__ == "__main__":
    mp.set_start_method("spawn")
    main()
```
Where the call has to stay at module level, `force=True`, `try` with `except RuntimeError`, or a test of
`get_start_method(allow_none=True)` make it harmless.

## What it does not see
- A module that sets the method at import and that no child ever imports: it is reported all the same, because whether a
  child imports it is one refactoring away.
- Calls by way of `getattr`, `exec` or a plug-in that is found at run time.
- A second call in the same process. That is TMP103.

## How to silence it
Write `# noqa: TMP102` on the line of the call, ignore the code in setup.cfg (`extend-ignore = TMP102`), or for one
file with per-file-ignores. `multiprocessing.parent_process() is None` is no way out: it holds while a child imports the
main module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.boundary.circumstances.methods import asks_for_method, mp_name
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.runs.program_runs import CATCHING
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.decorating import caught_on_the_way
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Constant

from . import rule


@rule("TMP102", "start-method-set-at-import", fix="safe")
def start_method_set_at_import(module: Module, model: Model) -> Iterator[Finding]:
    for call in module.calls_of("set_start_method"):
        frame = model.evaluator.frame_at(call, module)
        if not any(mp_name(value) == "set_start_method" for value in model.evaluator.values(call.func, frame)):
            continue
        if not _may_repeat(call, module, model) and model.import_time.comes_to(call, module, CATCHING):
            message = (
                "set_start_method() runs whenever this module is imported, in spawned children too, which die with "
                '"context has already been set": move it under the main guard'
            )
            repair = model.repair("start_method_once", call, module, **model.imported(module))
            yield model.finding("TMP102", message, call, module, repair=repair)


def _may_repeat(call: ast.Call, module: Module, model: Model) -> bool:
    """Whether a second call in the child does no harm, or does not happen."""
    frame = model.evaluator.frame_at(call, module)
    arguments = model.evaluator.arguments(call, frame)
    force = arguments.get(1, "force")
    if arguments.is_open:
        return True
    if force is not None and not all(
        isinstance(value, Constant) and not value.value for value in model.evaluator.of(force)
    ):
        return True
    method = arguments.get(0, "method")
    if method is not None and all(
        isinstance(value, Constant) and value.value == "fork" for value in model.evaluator.of(method)
    ):
        return True  # a forked child imports nothing
    is_caught = not CATCHING.isdisjoint(caught_on_the_way(model.evaluator, call, module))
    if is_caught or is_guarded(model.evaluator, call, module):
        return True
    return asks_for_method(model.evaluator, call, frame)
