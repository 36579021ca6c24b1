"""TMP907 opencv-threads-in-worker: OpenCV runs in worker code with threads of its own

## What happens
OpenCV starts a thread for each core, in each process that uses it. Eight workers on a machine of sixteen cores are a
hundred and more threads that fight for them, and loading becomes slower with every worker; and its thread pool does
not survive a fork, so a forked worker may hang in its first call if the parent has used OpenCV before.

`cv2.setNumThreads(0)` at the top of the module, or in a `worker_init_fn`, leaves the parallelism to the workers. This
is an opinion and off by default.

## Fails
```python
import cv2
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Resized(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        assert cv2.getNumThreads() <= 1, f"{cv2.getNumThreads()} threads in a worker"
        return cv2.resize(np.full((64, 64), index, np.uint8), (32, 32))


if __name__ == "__main__":
    print(len(list(DataLoader(Resized(), batch_size=2, num_workers=2))))
```
```text
AssertionError: 16 threads in a worker
```

## Works
```python
import cv2
import numpy as np
from torch.utils.data import DataLoader, Dataset

cv2.setNumThreads(0)


class Resized(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        assert cv2.getNumThreads() <= 1, f"{cv2.getNumThreads()} threads in a worker"
        return cv2.resize(np.full((64, 64), index, np.uint8), (32, 32))


if __name__ == "__main__":
    print(len(list(DataLoader(Resized(), batch_size=2, num_workers=2))))
```

## What it does not see
- OpenCV inside of libraries such as albumentations.
- Where `setNumThreads` is called: once anywhere in the files that use the module, or that it uses, is enough.

## How to silence it
It is off unless it is asked for, by `extend-select = TMP907` or `TMP9`. Write `# noqa: TMP907` on the line that is
reported, or leave the code out again with `extend-ignore` or per-file-ignores.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes
from flake8_torchmp.semantics.values import External

from . import rule

SET = re.compile(rb"\bsetNumThreads\b")
OPENCV = re.compile(rb"\bcv2\b")


@rule("TMP907", "opencv-threads-in-worker")
def opencv_threads_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    codebase = model.codebase
    for worker in model.workers.of(module):
        where = worker.scope.module
        if not codebase.matches(where.path, OPENCV) or worker.kind not in ("dataset", "collate"):
            continue
        frame = model.outline.frame_of(worker.scope)
        assert isinstance(worker.scope.node, FUNCTIONS)
        for node in body_nodes(worker.scope.node):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
                continue
            called = model.outline.values(node.func, model.outline.frame_in(where.scope_of(node), frame))
            if any(isinstance(v, External) and v.name.startswith("cv2.") for v in called):
                near = codebase.reachable(codebase.users([where.path]))
                if not any(codebase.matches(path, SET) for path in near):
                    message = (
                        f"OpenCV runs in worker code ({worker.reached_from}) with a thread for each core in each "
                        "worker: call cv2.setNumThreads(0)"
                    )
                    yield model.finding("TMP907", message, node, where, cause=where.path)
                break
