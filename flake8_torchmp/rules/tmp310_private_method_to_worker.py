"""TMP310 private-method-to-worker: a method whose name begins with two underscores is given to workers

## What happens
Inside its class `self.__run` means `self._Class__run`: Python mangles the name. pickle writes a bound method as its
object and its `__name__`, which is the short one, and looks that up in the worker: there is no such attribute.
`Process` fails under spawn and forkserver (Windows, macOS, Linux from Python 3.14 on), in the child, as does a
DataLoader. Executors fail always, and the workers of a `Pool` die of it again and again while the parent waits for
ever.

## Fails
```python
from concurrent.futures import ProcessPoolExecutor


class Extractor:
    def __norm(self, index):
        return index * index

    def run(self, count):
        with ProcessPoolExecutor(1) as executor:
            return list(executor.map(self.__norm, range(count)))


if __name__ == "__main__":
    print(Extractor().run(3))
```
```text
BrokenProcessPool
```

## Works
```python
from concurrent.futures import ProcessPoolExecutor


class Extractor:
    def _norm(self, index):
        return index * index

    def run(self, count):
        with ProcessPoolExecutor(1) as executor:
            return list(executor.map(self._norm, range(count)))


if __name__ == "__main__":
    print(Extractor().run(3))
```

## What it does not see
- A method that is taken by `getattr`, or that a function of a library hands on.

## How to silence it
Write `# noqa: TMP310` on the line that is reported. For a file or a folder use flake8's per-file-ignores in
setup.cfg, for the project `extend-ignore = TMP310` there, or their counterparts in the tool's own table of
pyproject.toml."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.model import HandedOver, Model
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Function, Method

from . import rule


@rule("TMP310", "private-method-to-worker", fix="safe")
def private_method_to_worker(module: Module, model: Model) -> Iterator[Finding]:
    for handed in model.handed_over(module):
        value = handed.value
        function = value.function if isinstance(value, Method) else value
        if not isinstance(function, Function) or not handed.is_pickled or not _is_private(function):
            continue
        name = function.scope.name
        node, place = _reference(handed, name)
        message = (
            f"the private method {name} reaches workers through {handed.place[2]}, and pickle does not find it by that "
            f"name ({model.pickled_under(handed)}): begin its name with one underscore"
        )
        repair = model.repair("single_underscore", function.node, function.scope.module)
        way = model.steps(handed.way, handed.place)
        yield model.finding("TMP310", message, node, place, way, repair=repair)


def _is_private(function: Function) -> bool:
    name = function.scope.name
    is_method = function.scope.parent is not None and function.scope.parent.is_class
    return is_method and name.startswith("__") and not name.endswith("__")


def _reference(handed: HandedOver, name: str) -> tuple[ast.AST, Module]:
    for hop in handed.way:
        if isinstance(hop.node, ast.Attribute) and hop.node.attr == name:
            return hop.node, hop.module
    return handed.place[0], handed.place[1]
