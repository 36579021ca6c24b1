"""TMP304 open-resource-to-worker: an open file, connection or archive is handed to a worker, or read there as a global

## What happens
Handed over as an argument, an open resource has to be pickled: by `Process` under spawn and forkserver (Windows,
macOS, Linux from Python 3.14 on), by pools and executors always. Files, `h5py.File`, database connections and
archives cannot be, nor can `sys.stdout` and its like. The same goes for an object that keeps one, and for a bound
method of such an object. What a `Process` subclass opens itself is reported there.

Kept in a module-level variable that worker code reads, it is inherited under fork: all workers share one file offset
or one connection with the parent and take each other's data. A spawned worker imports the module and opens its own,
which is right for a file, and not for a database in memory: that one is empty.

## Fails
```python
import multiprocessing as mp
import os
import tempfile


def simulate(run, log):
    log.write(f"run {run}")


def main():
    log = open(os.path.join(tempfile.mkdtemp(), "runs.txt"), "w")
    process = mp.get_context("spawn").Process(target=simulate, args=(1, log))
    process.start()
    process.join()


if __name__ == "__main__":
    main()
```
```text
TypeError: cannot pickle '_io.TextIOWrapper' object
```

## Works
```python
import multiprocessing as mp
import os
import tempfile


def simulate(run, path):
    with open(path, "a") as log:
        log.write(f"run {run}")


def main():
    path = os.path.join(tempfile.mkdtemp(), "runs.txt")
    process = mp.get_context("spawn").Process(target=simulate, args=(1, path))
    process.start()
    process.join()


if __name__ == "__main__":
    main()
```

## What it does not see
- Resources that calls open which neither its table nor the option `resource-openers` names.
- Raw sockets as arguments: multiprocessing duplicates them for the child, and servers are written that way.
- A resource in an argument where every process is known to be forked: it is not pickled, and may be for one child.
- A global that a pool's initializer opens in each worker, and one that a function binds; where that, or a cache
  around it, keeps what it opens and the parent calls it too, before there are loaders, it is reported.

## How to silence it
Write `# noqa: TMP304` on the line that is reported. For a file or a folder use flake8's per-file-ignores in
setup.cfg, for the project `extend-ignore = TMP304` there, or their counterparts in the tool's own table of
pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position

from . import rule


@rule("TMP304", "open-resource-to-worker")
def open_resource_to_worker(module: Module, model: Model) -> Iterator[Finding]:
    for found in model.resources.in_arguments(module):
        node, place, text = found.held.place
        if found.is_opened_by_process:
            node, place = found.node, found.module
        message = (
            f"{found.what} reaches workers through {text} and cannot be pickled ({found.pickled_under}): "
            f"hand over its path and open it there"
        )
        yield model.finding("TMP304", message, node, place, model.steps(found.held.way, found.held.place))
    for worker in model.workers.of(module):
        for read, variable, opener, reason in model.resources.globals_read(worker, model.state):
            if model.state.is_set_in_workers(variable, model.workers, module):
                continue
            message = (
                f"{variable.name} ({opener.text}) is opened when its module is imported, and {reason} "
                f"({worker.reached_from}): open it in the worker"
            )
            way = [
                *variable.made("opened"),
                Step(worker.scope.module.path, read.lineno, f"read in {worker.scope.name}()"),
            ]
            yield model.finding("TMP304", message, read, worker.scope.module, way, cause=variable.text)
        for variable, handle in model.early_openings.by(worker):
            keeper = variable.name if variable.name != worker.scope.name else "its cache"
            message = (
                f"{keeper} keeps the {handle.opener.text} that {worker.scope.name}() opens for the parent, and "
                f"workers that are forked then get each other's data ({worker.reached_from}): "
                f"keep one for each os.getpid()"
            )
            step = Step(worker.scope.module.path, position(handle.node)[0], f"opened in {worker.scope.name}()")
            way = [*variable.made("is made"), step]
            yield model.finding("TMP304", message, handle.node, handle.module, way, cause=variable.text)
