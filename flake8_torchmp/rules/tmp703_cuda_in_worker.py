"""TMP703 cuda-in-worker: a dataset or collate function uses CUDA in worker processes

## What happens
What `__getitem__`, `__iter__` and `collate_fn` do, a loader with workers does in its workers. A worker that was forked
after the parent has used CUDA, and a training program has, cannot use it: "Cannot re-initialize CUDA in forked
subprocess". A worker that was spawned can, but makes a context of its own: some hundred megabytes of GPU memory for
each one, and tensors that have to be kept alive in the worker as long as the parent uses them.

Return tensors of the CPU, let the loader pin them (`pin_memory=True`) and move each batch in the training loop, with
`non_blocking=True`.

A tensor or a model that the parent has put on the GPU and the dataset keeps is no better: as soon as a forked worker
reads it, that is "CUDA error: initialization error" (`TensorDataset(x.cuda(), y.cuda())`).

A device counts if it can be CUDA by what the project shows, so `"cuda" if torch.cuda.is_available() else "cpu"` does,
also as a parameter's default that is kept on the dataset.

## Fails
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor(index**2, device="cuda")


if __name__ == "__main__":
    scale = torch.ones(1, device="cuda")
    for batch in DataLoader(Squares(), batch_size=4, num_workers=2):
        print(batch * scale)
```
```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must [...]
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor(index**2)


if __name__ == "__main__":
    scale = torch.ones(1, device="cuda")
    for batch in DataLoader(Squares(), batch_size=4, num_workers=2, pin_memory=True):
        print(batch.to("cuda", non_blocking=True) * scale)
```

## What it does not see
- Whether the parent has used CUDA before the workers start.
- Devices that come from a configuration file or are taken from another tensor (`x.to(y.device)`), a default device.
- Loaders whose workers are never forked: who chooses spawn or forkserver by name is taken to have thought of it.

## How to silence it
Write `# noqa: TMP703` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP703` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.objects.devices import CudaUse, counts_without_cuda
from flake8_torchmp.boundary.working import samples
from flake8_torchmp.boundary.working.sides import is_left_to_parent
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, last_name, up
from flake8_torchmp.semantics.values import Constant, Result, Text, Value

from . import rule


@rule("TMP703", "cuda-in-worker")
def cuda_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    if counts_without_cuda(module):
        return
    for worker in model.workers.of(module):
        is_of_loader = worker.kind in ("dataset", "collate") or "worker_init_fn" in worker.reached_from
        if not is_of_loader or "fork" not in worker.methods:
            continue
        for node, device in _uses(worker, model):
            if device is not None and (
                _is_given_by_parent(device, worker, model) or counts_without_cuda(_origin(device))
            ):
                continue
            message = (
                f"worker code ({worker.reached_from}) uses CUDA, which a forked worker cannot and a spawned one pays "
                "for with GPU memory of its own: return CPU tensors and move the batch in the training loop"
            )
            used = (node, worker.scope.module, f"used in {worker.scope.name}()")
            way = model.steps(device.way if device is not None else (), used)
            yield model.finding("TMP703", message, node, worker.scope.module, way)
    yield from _kept(module, model)


def _kept(module: Module, model: Model) -> Iterator[Finding]:
    """What the parent has put on the GPU, and workers read on the dataset."""
    told: set[ast.AST] = set()
    for kept in model.gpu_state.of(module):
        if kept.node in told or counts_without_cuda(kept.module):
            continue
        told.add(kept.node)
        what = f"what {kept.held.holding.text} keeps" if kept.held.holding.text else "what the dataset keeps"
        message = (
            f"{what} is put on the GPU here, where a forked worker cannot read it ({kept.held.place[2]}): keep it on "
            "the CPU and move the batch in the training loop"
        )
        finding = model.finding("TMP703", message, kept.node, kept.module, model.steps(kept.held.way, kept.held.place))
        if not model.is_left_to_test(finding, kept.held):
            yield finding


def _uses(worker: WorkerFunction, model: Model) -> list[CudaUse]:
    """The uses in one function, by the objects that loaders with workers are seen to be given."""
    found = model.cuda_uses.of(worker.scope, model.workers.frame_of(worker))
    uses = [use for use in found if not is_left_to_parent(use[0], worker)]
    frames = samples.frames_of_given(model.loaders, worker) if uses else []
    known = {node for node, _ in uses}
    by_objects = (use for frame in frames for use in model.cuda_uses.of(worker.scope, frame))
    return [use for use in by_objects if use[0] in known] if frames else uses


def _origin(device: Value) -> Module:
    """The module that names a device."""
    assert isinstance(device, Result | Constant | Text)
    return device.arguments.frame.module if isinstance(device, Result) else device.module


def _is_given_by_parent(device: Value, worker: WorkerFunction, model: Model) -> bool:
    """Whether a helper that both sides call is given the device by the parent, for itself."""
    is_made_in_worker = worker.scope.name == "__init__"
    for hop in device.way:
        call = next((outer for outer in ancestors(hop.node) if isinstance(outer, ast.Call)), None)
        if call is not None and last_name(call.func) == "partial":
            continue  # the argument of what crosses
        if hop.text.startswith("__init__(") and call is not None and isinstance(up(call), ast.Expr):
            return True  # an object that nobody keeps: a test of how it is made
        if hop.text.endswith("=)") and (is_made_in_worker or not hop.text.startswith("__init__(")):
            function = hop.module.scope_of(hop.node).enclosing_function()
            if function is None or not model.workers.runs(function):
                return True
    return False
