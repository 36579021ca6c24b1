"""TMP202 worker-code-under-guard: a worker needs what only the main program defines

## What happens
Functions and classes are pickled by name: the bytes that go to a worker say "`pad` of the main module", and the worker
looks the name up in its own copy of that module. Under spawn and forkserver it gets this copy by importing the main
module as `__mp_main__`, so everything under `if __name__ == "__main__":` is skipped there, definitions as well. The
look-up fails with "Can't get attribute 'pad' on module '__mp_main__'": a DataLoader's worker or a process dies, an
executor is broken, a Pool waits for ever.

Under fork the child has the definition by inheritance and all goes well, hence code that works on Linux fails on macOS
and Windows, and on Linux from Python 3.14 on. `mp.spawn` fails everywhere.

## Fails
```python
import torch
from torch.utils.data import DataLoader

if __name__ == "__main__":

    def pad(samples):
        return torch.nn.utils.rnn.pad_sequence([torch.ones(n) for n in samples])

    for batch in DataLoader([1, 2, 3, 4], batch_size=2, num_workers=1, collate_fn=pad):
        print(batch.shape)
```
```text
AttributeError: Can't get attribute 'pad' on <module '__mp_main__' from 'train.py'>
RuntimeError: DataLoader worker (pid(s) 23582) exited unexpectedly
```

## Works
```python
import torch
from torch.utils.data import DataLoader


def pad(samples):
    return torch.nn.utils.rnn.pad_sequence([torch.ones(n) for n in samples])


if __name__ == "__main__":
    for batch in DataLoader([1, 2, 3, 4], batch_size=2, num_workers=1, collate_fn=pad):
        print(batch.shape)
```

## What it does not see
- A class that reaches a worker inside of a value that it cannot follow: out of a file, a registry, `getattr`.
- Names that are imported under the guard are fine, since a worker finds them in their own module, and are not reported.
- What a process of a known fork context gets is not reported.

## How to silence it
Write `# noqa: TMP202` on the line where the function or class is handed over, or ignore the code in setup.cfg, for
single files with per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.guards import is_guarded
from flake8_torchmp.boundary.model import HandedOver, Model
from flake8_torchmp.boundary.objects.made_classes import class_maker, enumeration
from flake8_torchmp.findings import Finding, Repair
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import DEFINITIONS
from flake8_torchmp.semantics.values import Class, Function, Instance, Method, Result

from . import rule


@rule("TMP202", "worker-code-under-guard", fix="safe or unsafe")
def worker_code_under_guard(module: Module, model: Model) -> Iterator[Finding]:
    for handed in model.handed_over(module):
        if not handed.is_imported_again:
            continue
        definition = _definition(handed, model)
        if definition is None:
            yield from _made_by_call(handed, model)
            continue
        scope = definition.scope
        if scope.parent is None or not scope.parent.is_module or not isinstance(scope.node, DEFINITIONS):
            continue
        bindings = scope.module.scope.bindings[scope.name]
        if all(is_guarded(model.evaluator, binding.node, scope.module) for binding in bindings):
            kind = "class" if isinstance(definition, Class) else "function"
            node, place = model.reference(handed, definition)
            notes = model.notes(handed, definition)
            repair = model.repair("local_to_module", definition.node, scope.module, **notes)
            name = f"{kind} {scope.name}"
            yield _finding(name, definition.node, scope.module, node, place, handed, model, repair)


def _definition(handed: HandedOver, model: Model) -> Function | Class | None:
    value = handed.value
    if isinstance(value, Function) and value.scope.parent is not None and value.scope.parent.is_class:
        return Class(value.scope.parent, None)  # a static method goes by the name of its class
    if isinstance(value, Function | Class):
        return value
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Method):
        return value.function if isinstance(value.receiver, Class) else None
    return enumeration(model.evaluator, value)


def _made_by_call(handed: HandedOver, model: Model) -> Iterator[Finding]:
    """An object of a class that a call makes: `Job = namedtuple("Job", "size")`."""
    maker = class_maker(handed.value)
    if maker is None:
        return
    call, module = maker.arguments.call, maker.arguments.frame.module
    if module.scope_of(call).is_module and is_guarded(model.evaluator, call, module):
        used = handed.value.arguments if isinstance(handed.value, Result) else maker.arguments
        yield _finding("the class", call, module, used.call, used.frame.module, handed, model, None)


def _finding(
    name: str,
    definition: ast.AST,
    module: Module,
    node: ast.AST,
    place: Module,
    handed: HandedOver,
    model: Model,
    repair: Repair | None,
) -> Finding:
    line = getattr(definition, "lineno", 1)
    message = (
        f"{name} is defined under the main guard, so workers cannot find it when {handed.place[2]} hands it over "
        "(spawn, forkserver): define it at module level"
    )
    way = model.steps(handed.way, handed.place)
    return model.finding("TMP202", message, node, place, way, f"{module.path}:{line}", repair)
