"""TMP409 plain-container-as-result: a process fills a container that it has a copy of, and the parent's stays empty

## What happens
A process gets copies of its arguments: pickled ones under spawn and forkserver, those of the copied memory under fork.
What its target appends to a list, stores in a dict or writes into a NumPy array is in the copy alone. The parent waits
for the process, reads its own object, and finds it as it was. A tensor that is not in shared memory is copied by a fork
too; a spawned process gets its memory shared.

Threads do share such objects, which is why code that used them goes wrong when it is moved to processes.

## Fails
```python
from multiprocessing import Process


def square(number, results):
    results.append(number * number)


if __name__ == "__main__":
    results = []
    process = Process(target=square, args=(3, results))
    process.start()
    process.join()
    assert results == [9], results
```
```text
AssertionError: []
```

## Works
```python
from multiprocessing import Process, SimpleQueue


def square(number, results):
    results.put(number * number)


if __name__ == "__main__":
    results = SimpleQueue()
    process = Process(target=square, args=(3, results))
    process.start()
    process.join()
    assert results.get() == 9
```

## What it does not see
- Containers whose making the project does not show, or that hang on an object of a class with bases of libraries.
- Changes that are made more than two functions further down.
- Containers of the target's own object that the parent fills as well.

## How to silence it
Write `# noqa: TMP409` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP409` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position

from . import rule


@rule("TMP409", "plain-container-as-result")
def plain_container_as_result(module: Module, model: Model) -> Iterator[Finding]:
    for crossing, name, read in model.filled_arguments.of(module):
        message = (
            f"the process fills its own copy of {name}, and the parent, which reads {name} afterwards, never sees "
            "that: use a queue, a Manager's list or dict, multiprocessing.Array, or share_memory_() for tensors"
        )
        way = [Step(module.path, position(read)[0], f"the parent reads its own {name}")]
        yield model.finding("TMP409", message, crossing.call, crossing.module, way)
