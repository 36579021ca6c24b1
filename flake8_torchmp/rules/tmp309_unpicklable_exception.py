"""TMP309 unpicklable-exception: a worker raises an exception that the parent cannot make anew

## What happens
An exception is pickled as its class and its `args`, which are what `super().__init__` got last, and made anew by
calling the class with them. A class that wants a path and an offset and hands one text on to `super().__init__`
cannot be made from that text. Where no `super().__init__` is called, as in a dataclass, `args` are the arguments
without a name, so an exception that is made with keywords alone cannot be made anew either. In a `Pool` the error
comes up in the thread that reads results, which dies of it: `map` waits for ever. An executor breaks, and all its
other tasks with it.

A DataLoader does not pickle exceptions. It calls the class with one text, and where that fails it raises
`RuntimeError` instead, so that `except BadScan` in the training loop does not catch what the dataset raises.

In `Process` and `mp.spawn` only text comes back, so nothing is reported there.

## Fails
```python
from concurrent.futures import ProcessPoolExecutor


class CorruptRecord(Exception):
    def __init__(self, path, offset):
        super().__init__(f"corrupt record in {path} at byte {offset}")
        self.path = path
        self.offset = offset


def decode(path):
    raise CorruptRecord(path, 7)


if __name__ == "__main__":
    with ProcessPoolExecutor(1) as executor:
        print(list(executor.map(decode, ["a"])))
```
```text
concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly
```

## Works
```python
from concurrent.futures import ProcessPoolExecutor


class CorruptRecord(Exception):
    def __init__(self, path, offset):
        super().__init__(path, offset)
        self.path = path
        self.offset = offset

    def __str__(self):
        return f"corrupt record in {self.path} at byte {self.offset}"


def decode(path):
    raise CorruptRecord(path, 7)


if __name__ == "__main__":
    with ProcessPoolExecutor(1) as executor:
        try:
            print(list(executor.map(decode, ["a"])))
        except CorruptRecord as error:
            print(error.path, error.offset)
```

## What it does not see
- Classes of libraries, and attributes that cannot be pickled on an exception.
- A class with `__reduce__`, `__getnewargs__` or `__new__` is trusted.
- A class that hands on as many arguments as it needs, though in another order.

## How to silence it
Write `# noqa: TMP309` on the line that is reported. For a file or a folder use flake8's per-file-ignores in
setup.cfg, for the project `extend-ignore = TMP309` there, or their counterparts in the tool's own table of
pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP309", "unpicklable-exception", fix="unsafe")
def unpicklable_exception(module: Module, model: Model) -> Iterator[Finding]:
    for lost in model.exceptions.lost(module):
        name, scope = lost.cls.scope.name, lost.init.scope if lost.init is not None else lost.cls.scope
        hands_on = (
            "the arguments without a name, which alone it keeps" if lost.keeps_given else "what its __init__ hands on"
        )
        if lost.is_of_loader:
            message = (
                f"{name} wants more than the one text from which a DataLoader makes it anew, and comes out as "
                f"RuntimeError: give its other parameters defaults"
            )
        else:
            message = (
                f"{name} cannot be made anew from {hands_on}, so the parent of "
                f"{lost.worker.scope.name}() hangs or breaks: hand them all on to super().__init__ or define __reduce__"
            )
        way = [
            Step(scope.module.path, scope.node.lineno, f"{name}.__init__"),  # type: ignore[union-attr]
            Step(lost.worker.scope.module.path, lost.raised.lineno, f"raised in {lost.worker.scope.name}()"),
        ]
        kind = "loader" if lost.is_of_loader else "pickle"
        repair = (
            model.repair("rebuilt_exception", scope.node, scope.module, kind=kind) if lost.init is not None else None
        )
        yield model.finding("TMP309", message, scope.node, scope.module, way, f"{scope.place}", repair)
