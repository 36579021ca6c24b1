"""TMP101 fork-start-method: fork is chosen by name as the start method

## What happens
`fork` copies the parent as it is: its memory, its open files and sockets, the state of every lock, but only the one
thread that called it. Whatever the other threads of the parent were doing stays half done in the child for ever.

torch has such threads as soon as it has run one large CPU operation: the OpenMP pool. The forked child inherits a
runtime that believes in threads which do not exist, and its first parallel operation waits for them without end. The
same happens to a lock that another thread held (logging, a tokenizer, a data base driver). After CUDA was used the
child raises "Cannot re-initialize CUDA in forked subprocess", and open files and sockets are shared with one offset.

Python draws the same conclusion: macOS has used spawn since 3.8, Python 3.12 warns when a process with threads forks,
and since Python 3.14 Linux uses forkserver. Code that names fork keeps the old danger on all of them, and raises
ValueError on Windows, which has no fork.

The rule reports the text "fork" where it is written, if it reaches `set_start_method`, `get_context`,
`DataLoader(multiprocessing_context=...)`, `start_processes(start_method=...)`, torch's elastic `LaunchConfig`, an
executor's `mp_context` or the environments of stable_baselines3 and gymnasium that run in processes, also as a
parameter's default, a constant or an entry of a dict.

## Fails
```python
import torch
import torch.multiprocessing as mp


def gram(size):
    x = torch.ones(size, size)
    return (x @ x).trace().item()


def main():
    print("parent", gram(1024))
    with mp.get_context("fork").Pool(2) as pool:
        print("workers", pool.map_async(gram, [1024, 1024]).get(timeout=10))


if __name__ == "__main__":
    main()
```
```text
multiprocessing.context.TimeoutError
```
Without the timeout it would wait for ever.

## Works
```python
import torch
import torch.multiprocessing as mp


def gram(size):
    x = torch.ones(size, size)
    return (x @ x).trace().item()


def main():
    print("parent", gram(1024))
    with mp.get_context("spawn").Pool(2) as pool:
        print("workers", pool.map_async(gram, [1024, 1024]).get(timeout=60))


if __name__ == "__main__":
    main()
```

## What it does not see
- A name that comes from outside: the command line, the environment, a file. Only the default is seen that the program
  names: of an option, of `os.getenv`, of `config.get("start_method", "fork")`.
- fork that is nobody's choice: the default of Linux before Python 3.14. TMP901, off by default, asks for a choice.
- fork as the exception, where the same call gets another method and a test that is not of the platform picks fork.
- fork for a reason that a comment beside it gives, in some words of which one is fork; a class made for each method.
- Whether the parent has really used threads, CUDA or a socket before it forks. A program that forks first of all and
  never uses torch in the parent works; TMP801 looks at threads that are started before.
- fork in tests, in files named `test_*.py` or `*_test.py`: there it is what is tested, or what lets a test hand over a
  function of its own, and the processes end with the test.
- `os.fork()`, which is TMP802.

## How to silence it
Write `# noqa: TMP101` on the line with the text "fork". For a file or a folder use flake8's per-file-ignores in
setup.cfg, for the project `extend-ignore = TMP101` there, or their counterparts in the tool's own table of
pyproject.toml. The setting `torchmp-start-method` names the method that the message recommends.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.method_names import MethodName
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP101", "fork-start-method", fix="unsafe")
def fork_start_method(module: Module, model: Model) -> Iterator[Finding]:
    for named in model.method_names.of(module):
        if named.method == "fork" and not named.is_exception and not is_called_test(named.call_module.path):
            repair = None
            if isinstance(named.node, ast.Constant):
                notes = model.imported(named.module) | {"method": model.settings.start_method}
                repair = model.repair("another_start_method", named.node, named.module, **notes)
            yield model.finding("TMP101", _message(named, model), named.node, named.module, named.way, repair=repair)


def _message(named: MethodName, model: Model) -> str:
    return (
        f"{named.text} starts processes by fork, which copies held locks and used CUDA and OpenMP runtimes "
        f'and can hang: choose "{model.settings.start_method}"'
    )
