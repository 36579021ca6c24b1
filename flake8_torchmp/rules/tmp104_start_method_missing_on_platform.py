"""TMP104 start-method-missing-on-platform: the start method does not exist on every target platform

## What happens
`forkserver` and `fork` need a Unix. On Windows there is only `spawn`, and `get_context`, `set_start_method` and
`start_processes` raise ValueError for the others, a DataLoader too. The program works for its author and stops at its
first line for every colleague on Windows.

The rule reports the text "forkserver" where it is written, if it reaches such a call, if Windows is among the
configured target platforms, and if nothing on the way tests the platform. A test may be an `if` around or before the
call (`sys.platform`, `os.name`, `platform.system()`), also one that sets the option that skips the call; a look at
`get_all_start_methods()`; or a handler of ValueError. Nor is it reported where Windows has failed before: in a module
that imports `fcntl` or `resource`, after `os.setpgrp()`. For `fork`, TMP101 reports the same text, and this rule says
nothing more.

## Fails
```python
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset


def main():
    mp.set_start_method("forkserver")
    for (batch,) in DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1):
        print(batch)


if __name__ == "__main__":
    main()
```
On Windows:
```text
ValueError: cannot find context for 'forkserver'
```

## Works
```python
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset


def main():
    mp.set_start_method("forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn")
    for (batch,) in DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1):
        print(batch)


if __name__ == "__main__":
    main()
```

## What it does not see
- A method's name from the command line (only the option's default is seen), the environment or a file.
- A platform test in a form that it does not know: a flag that a build script writes, a test in another process.
- What an installer refuses: a package that cannot be installed on Windows should say so in the target platforms.

## How to silence it
Best, say that Windows is no target: `torchmp-target-platforms = linux,macos` in setup.cfg, or `target-platforms` in the
tool's table of pyproject.toml. For one place write `# noqa: TMP104` on the line with the text "forkserver"; for files
use per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.guards import asks_for_platform, mentions_platform, needs_posix
from flake8_torchmp.boundary.crossing.method_names import MethodName
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.tables.targets import has_windows
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.decorating import caught_on_the_way
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP104", "start-method-missing-on-platform", fix="safe")
def start_method_missing_on_platform(module: Module, model: Model) -> Iterator[Finding]:
    if not has_windows(model.settings):
        return
    for named in model.method_names.of(module):
        if named.method == "forkserver" and not _is_considered(named, model):
            message = (
                f"{named.text} asks for forkserver, which Windows does not have (ValueError: cannot find context): "
                "choose by get_all_start_methods()"
            )
            repair = model.repair("available_start_method", named.node, named.module)
            yield model.finding("TMP104", message, named.node, named.module, named.way, repair=repair)


def _is_considered(named: MethodName, model: Model) -> bool:
    """Whether the platform is asked for, Windows has failed before, or the ValueError is caught, on the way."""
    places = [(named.node, named.module), (named.call, named.call_module), *named.passed]
    frame = named.frame
    while frame.arguments is not None:
        places.append((frame.arguments.call, frame.arguments.frame.module))
        frame = frame.arguments.frame
    evaluator = model.evaluator
    return any(
        asks_for_platform(evaluator, node, place)
        or needs_posix(node, place)
        or (isinstance(node, ast.Call | ast.Subscript) and mentions_platform(node))
        or not {"", "ValueError", "Exception", "BaseException"}.isdisjoint(caught_on_the_way(evaluator, node, place))
        for node, place in places
    )
