"""TMP802 raw-fork: os.fork() in a program that uses torch

## What happens
`os.fork()` copies the process as it is, with torch's state in it, and nothing prepares the child for that, as
multiprocessing does at least in part. torch's OpenMP threads are not copied, but the child's runtime believes in them:
the first parallel operation waits for ever if the parent has run one. CUDA cannot be used in the child. The random
generators of parent and children are in the same state and draw the same numbers.

## Fails
```python
import os

import torch


def draw():
    return torch.randn(3)


if __name__ == "__main__":
    table = torch.zeros(2, 3).share_memory_()
    for index in range(2):
        if os.fork() == 0:
            table[index] = draw()
            os._exit(0)
    for _ in range(2):
        os.wait()
    assert not table[0].equal(table[1]), table
```
```text
AssertionError: tensor([[-0.7521,  1.6487, -0.3925],
        [-0.7521,  1.6487, -0.3925]])
```

## Works
```python
import torch
import torch.multiprocessing as mp


def draw(index, table):
    torch.manual_seed(index)
    table[index] = torch.randn(3)


if __name__ == "__main__":
    table = torch.zeros(2, 3).share_memory_()
    mp.spawn(draw, args=(table,), nprocs=2)
    assert not table[0].equal(table[1]), table
```
A fork whose child does nothing but `exec` another program is right, though `subprocess` does the same with less care.

## What it does not see
- Forks in modules that neither import torch nor a module of the project that does.
- Forks by extensions and installed packages (`daemon`, `gunicorn`).

## How to silence it
Write `# noqa: TMP802` on the line of the call, ignore the code in setup.cfg (`extend-ignore = TMP802`), or for one
file with per-file-ignores.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.flow import block_of
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import dotted, statement_of
from flake8_torchmp.semantics.values import External

from . import rule

TORCH = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(?:torch|lightning|pytorch_lightning)", re.MULTILINE)
FORKS = frozenset(("os.fork", "posix.fork", "os.forkpty", "pty.fork"))


@rule("TMP802", "raw-fork")
def raw_fork(module: Module, model: Model) -> Iterator[Finding]:
    for name in ("fork", "forkpty"):
        for call in module.calls_of(name):
            values = model.evaluator.values(call.func, model.evaluator.frame_at(call, module))
            if not any(isinstance(value, External) and value.name in FORKS for value in values):
                continue
            if _uses_torch(module, model) and not _executes(call, module):
                message = (
                    f"os.{name}() copies torch's state without its threads: the child can hang and draws the parent's "
                    "random numbers: use torch.multiprocessing, or exec at once"
                )
                yield model.finding("TMP802", message, call, module)


def _uses_torch(module: Module, model: Model) -> bool:
    codebase = model.codebase
    return any(codebase.matches(path, TORCH) for path in (module.path, *codebase.imports(module.path)))


def _executes(fork: ast.Call, module: Module) -> bool:
    """Whether the child runs another program, with nothing before it but calls to the system."""
    function = module.scope_of(fork).enclosing_function()
    return any(
        module.scope_of(call).enclosing_function() is function
        and call.lineno >= fork.lineno
        and _comes_first(call, fork)
        for call in _executing(module)
    )


def _executing(module: Module) -> Iterator[ast.Call]:
    """The calls that run another program, by themselves or first of all in a function of the module."""
    for name, calls in list(module.calls.items()):
        for call in calls if name.startswith("exec") and name not in ("exec", "execute") else ():
            yield call
            around = module.scope_of(call).enclosing_function()
            if around is not None and _comes_first(call):
                yield from module.calls_of(around.name)


def _comes_first(call: ast.Call, fork: ast.Call | None = None) -> bool:
    before = [s for s in block_of(statement_of(call)) if s.lineno < call.lineno]
    calls_before = [part for s in before for part in ast.walk(s) if isinstance(part, ast.Call)]
    return all(dotted(part.func).startswith(("os.", "sys.")) or part is fork for part in calls_before)
