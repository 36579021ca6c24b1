"""TMP308 bad-target-arguments: a worker's function is called instead of given, or its arguments do not fit it

## What happens
Three slips that Python finds only in the child, where the parent easily overlooks it: the process ends with exit
code 1, the work is not done, and the parent goes on. And one that it finds at once: `Process(work, (shard,))` gives the
function as the process's group, which comes first and must be None.

- `args=("train")` is no tuple but the text, and each of its letters becomes an argument; `args=(rank)` is a number,
  and not iterable.
- `target=work(shard)` does the work in the parent, and gives the process what it returned: nothing to run.
- The function does not take the arguments that it gets. `torch.multiprocessing.spawn` passes the rank before them.
  A pool's `map` passes one argument, whatever the elements are: tuples are spread by `starmap`.

## Fails
```python
import multiprocessing as mp


def preprocess(split):
    print("preprocessing", split)


if __name__ == "__main__":
    process = mp.Process(target=preprocess, args=("train"))
    process.start()
    process.join()
```
```text
TypeError: preprocess() takes 1 positional argument but 5 were given
```

## Works
```python
import multiprocessing as mp


def preprocess(split):
    print("preprocessing", split)


if __name__ == "__main__":
    process = mp.Process(target=preprocess, args=("train",))
    process.start()
    process.join()
```

## What it does not see
- Arguments that are put together while the program runs, and functions of libraries.
- Functions whose decorator may change what they take.
- A name in brackets whose value cannot be seen may hold a tuple, and is not reported.

## How to silence it
Write `# noqa: TMP308` on the line that is reported. For a file or a folder use flake8's per-file-ignores in
setup.cfg, for the project `extend-ignore = TMP308` there, or their counterparts in the tool's own table of
pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP308", "bad-target-arguments", fix="safe or unsafe")
def bad_target_arguments(module: Module, model: Model) -> Iterator[Finding]:
    for found in model.target_arguments.of(module):
        name = found.call.api.name
        if found.kind == "comma":
            message = f"{found.text} of {name} is one value, not a tuple: write a comma after it, (value,)"
        elif found.kind == "called":
            message = (
                f"{found.text}() is called here and now, and {name} gets its result: give the function, and its args="
            )
        elif found.kind == "group":
            message = f"{found.text} is given to {name} as its group, which must be None: write target={found.text}"
        else:
            message = f"{found.text} in a worker of {name}: let the function and its arguments agree"
        repair = None
        if found.kind != "group":
            repair = model.repair("argument_tuple", found.node, found.node_module, kind=found.kind)
        if found.without_rank is not None:
            function, owner = found.without_rank, found.without_rank.scope.module
            repair = model.repair("rank_parameter", function.node, owner, **model.imported(owner))
        yield model.finding("TMP308", message, found.node, found.node_module, repair=repair)
