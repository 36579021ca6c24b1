"""TMP201 missing-main-guard: processes start when the module is imported

## What happens
Under spawn and forkserver a child begins with an import of the parent's main module, under the name `__mp_main__`, to
find the functions and classes that it works with. Whatever stands at module level runs again in that import. If it
starts a process, the child tries to start one too, before it is ready, and Python stops it: "An attempt has been made
to start a new process before the current process has finished its bootstrapping phase." A DataLoader then says that its
worker exited unexpectedly, an executor that its pool is broken, and a Pool replaces its dying workers for ever, so the
program hangs.

Windows and macOS spawn, and from Python 3.14 on Linux uses forkserver: a script without a guard that has run on Linux
for years fails after an upgrade of Python. `mp.spawn` spawns everywhere.

What starts a process: `start()` of a Process, making a Pool or a Manager, the first task of an executor, `mp.spawn`,
and the first batch of a DataLoader with workers, not its making. It counts at module level, in class bodies, in
functions that module level calls, and in decorators that run what they decorate. The report is at the statement of
module level, once per module.

## Fails
```python
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1)
for (batch,) in loader:
    print(batch)
```
```text
An attempt has been made to start a new process before the
current process has finished its bootstrapping phase.
RuntimeError: DataLoader worker (pid(s) 24644) exited unexpectedly
```

## Works
```python
import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    loader = DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1)
    for (batch,) in loader:
        print(batch)


if __name__ == "__main__":
    main()
```

## What it does not see
- A start behind `exec`, `runpy`, a plug-in or a framework's trainer that is not known to it.
- Worker counts of which nothing is known count as workers; if yours is always 0, write the number.
- An `if __name__ != "__main__": sys.exit()` at the top counts as a guard. It does keep a child from starting
  processes, but it ends the child as well, so that a DataLoader says that its worker exited unexpectedly. Put the run
  under a guard instead.
- Test modules that pytest collects: pytest imports them, so they are no main modules.
- `__main__.py` of a package: a child never imports it when it runs by `python -m package`, and nothing is reported.

## How to silence it
Write `# noqa: TMP201` on the reported line, or name notebooks' exports and one-off scripts in per-file-ignores of
setup.cfg. Tests of `sys.argv`, of the environment or of `parent_process()` are no guards: a child has the same
arguments and environment, and `parent_process()` is None while it imports the main module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.starting.import_time import is_program_file
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import statement_of

from . import rule


@rule("TMP201", "missing-main-guard", fix="safe or unsafe")
def missing_main_guard(module: Module, model: Model) -> Iterator[Finding]:
    if is_program_file(module):
        return
    for node, start in model.starts.at_import(module):
        if start.methods <= {"fork"}:
            continue
        message = (
            f"{start.text} when this module is imported, in each spawned child again: "
            'put it under `if __name__ == "__main__":`'
        )
        place = _header(node)
        way = [
            Step(module.path, place.lineno, "module level"),
            Step(start.module.path, getattr(start.node, "lineno", 1), start.text),
        ]
        repair = model.repair("main_guard", place, module, **model.imported(module), **model.own_imports(module))
        yield model.finding("TMP201", message, place, module, way, cause="import", repair=repair)
        return


def _header(node: ast.AST) -> ast.expr | ast.stmt:
    """What to underline: a statement as such, of a compound one the part that starts the processes."""
    statement = statement_of(node)
    if isinstance(statement, ast.For | ast.AsyncFor):
        return statement.iter
    if hasattr(statement, "body"):
        return node if isinstance(node, ast.expr | ast.stmt) else statement
    return statement
