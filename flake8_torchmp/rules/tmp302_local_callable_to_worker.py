"""TMP302 local-callable-to-worker: a function or class that pickle cannot find by name reaches worker processes

## What happens
pickle writes a function or a class as its module and its qualified name, and looks it up by them on the other side.
What is defined inside a function is not there to be looked up: its name is `make_normalizer.<locals>.normalize`, and
each call makes another one. The same goes for an instance of such a class, and for a function whose decorator puts an
inner function in its place without `functools.wraps`.

DataLoader and `Process` pickle under spawn and forkserver: on Windows, on macOS since Python 3.8, and everywhere since
Python 3.14, where Linux uses forkserver. On Linux with an older Python fork pickles nothing and the program runs. The
tasks of pools and executors and the function given to `torch.multiprocessing.spawn` are pickled always.

With `functools.wraps` (or `update_wrapper`) the inner function takes the name of the decorated one, and pickle finds it
there: that works. A decorator that is a class does not come through in any case: pickle then tries to
write the function that the object keeps, whose name leads to the object ("it's not the same object as"). The same goes
for a cache beside its function, `self.cached = lru_cache()(self.encode)`: the name leads to the bare function.

The finding is where the local function or class is first used as a value on its way out: as an argument, in a `return`,
or where the class is called; for a decorated function, where it is handed over.

## Fails
```python
import torch
from torch.utils.data import DataLoader, Dataset


def make_normalizer(mean, std):
    def normalize(x):
        return (x - mean) / std

    return normalize


class Series(Dataset):
    def __init__(self, values, transform):
        self.values = values
        self.transform = transform

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.transform(self.values[index])


def main():
    series = Series(torch.arange(4.0), make_normalizer(1.5, 1.3))
    for batch in DataLoader(series, batch_size=2, num_workers=1):
        print(batch)


if __name__ == "__main__":
    main()
```
```text
AttributeError: Can't pickle local object 'make_normalizer.<locals>.normalize'
```

## Works
```python
from functools import partial

import torch
from torch.utils.data import DataLoader, Dataset


def normalize(x, mean, std):
    return (x - mean) / std


class Series(Dataset):
    def __init__(self, values, transform):
        self.values = values
        self.transform = transform

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.transform(self.values[index])


def main():
    series = Series(torch.arange(4.0), partial(normalize, mean=1.5, std=1.3))
    for batch in DataLoader(series, batch_size=2, num_workers=1):
        print(batch)


if __name__ == "__main__":
    main()
```

## What it does not see
- Ways that the source does not show: `setattr` with a computed name, a registry that is asked by name, decorators and
  classes of installed packages. A decorator that cannot be seen is taken to keep the name.
- A class whose maker is given another name than its variable, and one that `type(...)` makes in a function which
  puts it somewhere (`globals()`, `setattr`), or of members that are not spelled out there.
- A module-level name that is given to another function or class later, so that pickle finds the wrong one.
- A local class that its function declares `global`.
- What a test defines and hands to code of other files: whether that makes workers of it is seen by running the test.
- A `__getstate__` whose result is computed in ways that cannot be read is trusted to drop what must not be pickled.

## How to silence it
Write `# noqa: TMP302` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP302` there, or their counterparts in the tool's own table of pyproject.toml.
Where every process is known to be forked nothing is pickled and nothing is reported, but then TMP101 has its say. A
project that runs on Linux with Python older than 3.14 alone can set `torchmp-target-platforms = linux` and
`torchmp-target-python`: then only what is pickled under fork, too, is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.model import HandedOver, Model
from flake8_torchmp.boundary.objects.made_classes import class_maker, may_be_found
from flake8_torchmp.findings import Finding, Repair
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Class, Function, Instance, Method, Result

from . import rule


@rule("TMP302", "local-callable-to-worker", fix="safe or unsafe")
def local_callable_to_worker(module: Module, model: Model) -> Iterator[Finding]:
    for handed in model.handed_over(module):
        if handed.is_pickled:
            yield from (finding for finding in _judge(handed, model) if not model.is_left_to_test(finding, handed))


def _judge(handed: HandedOver, model: Model) -> Iterator[Finding]:
    value = handed.value
    if isinstance(value, Function) and not value.is_lambda:
        if value.decorated_by is not None:
            if not _pickles_itself(value.decorated_by, model):
                yield _hidden(handed, value, model)
        elif value.is_local and _is_declared_global(value):
            if handed.methods - {"fork"} and _runs_behind_import(value, model):
                yield _unknown_to_spawned(handed, value, model)
        elif value.is_local and not _is_method(value) and not _is_renamed(value):
            name = f"function {value.scope.name} is local to {_owner(value)}"
            yield _finding(handed, value, name, "define it at module level", model)
    elif isinstance(value, Class) and value.is_local and not _is_renamed(value):
        name = f"class {value.scope.name} is local to {_owner(value)}"
        yield _finding(handed, value, name, "define it at module level", model)
    elif isinstance(value, Instance) and value.cls.is_local and not _is_renamed(value.cls):
        name = f"class {value.cls.scope.name} is local to {_owner(value.cls)}"
        yield _finding(handed, value.cls, name, "define it at module level", model)
    elif (maker := class_maker(value)) is not None and (owner := _function_around(maker)):
        if not may_be_found(model.evaluator, maker):
            yield _made_by_call(handed, maker, owner, model)
    elif isinstance(value, Method) and _is_hidden(value.function):
        yield _hidden(handed, value.function, model)
    elif isinstance(value, Method) and isinstance(value.receiver, Class) and value.receiver.is_local:
        name = f"class {value.receiver.scope.name} is local to {_owner(value.receiver)}"
        yield _finding(handed, value.receiver, name, "define it at module level", model)


def _pickles_itself(decorator: Function | Class | Result, model: Model) -> bool:
    """Whether the object around a function says what it is pickled as, which may be where it is found."""
    return isinstance(decorator, Class) and any(
        classes.find_method(model.evaluator, decorator, name) for name in ("__reduce__", "__reduce_ex__")
    )


def _is_hidden(method: Function) -> bool:
    """Whether pickle, which looks a bound method up on its object, finds something else there, or nothing."""
    hidden_by = method.decorated_by
    is_renamed = isinstance(hidden_by, Function) and hidden_by.scope.name != method.scope.name
    return is_renamed or isinstance(hidden_by, Result)


def _hidden(handed: HandedOver, value: Function, model: Model) -> Finding:
    if isinstance(value.decorated_by, Result):
        name = f"{value.scope.name} has a cache around it that its name does not lead to"
        return _finding(handed, value, name, "decorate it with the cache, or make that in the worker", model)
    name = f"{value.scope.name} is hidden by a decorator without functools.wraps"
    return _finding(handed, value, name, "let the decorator use functools.wraps", model)


def _function_around(maker: Result) -> str:
    """The function that a call is made in, in words."""
    scope = maker.arguments.frame.module.scope_of(maker.arguments.call).enclosing_function()
    return f"{scope.name}()" if scope is not None else ""


def _made_by_call(handed: HandedOver, maker: Result, owner: str, model: Model) -> Finding:
    """An object of a class that a call makes: `Job = namedtuple("Job", "size")`."""
    call, module = maker.arguments.call, maker.arguments.frame.module
    message = (
        f"the class made here is local to {owner}, reaches workers through {handed.place[2]} and cannot be pickled "
        f"({model.pickled_under(handed)}): make it at module level"
    )
    cause = f"{module.path}:{getattr(call, 'lineno', 1)}"
    return model.finding("TMP302", message, call, module, model.steps(handed.way, handed.place), cause)


def _is_method(value: Function) -> bool:
    return value.scope.parent is not None and value.scope.parent.is_class and not _owner(value)


def _is_declared_global(value: Function | Class) -> bool:
    """Whether the function that makes it gives it to its module: `global work`, and `def work(row):`."""
    return value.scope.parent is not None and value.scope.name in value.scope.parent.global_names


def _runs_behind_import(value: Function, model: Model) -> bool:
    """Whether importing the module does not run what makes a function of it, and nothing else has its name."""
    maker = value.scope.parent.enclosing_function() if value.scope.parent is not None else None
    bindings = value.scope.module.scope.bindings.get(value.scope.name, ())
    return maker is not None and len(bindings) == 1 and model.state.phase_of(maker) != "import"


def _unknown_to_spawned(handed: HandedOver, value: Function, model: Model) -> Finding:
    """A function of the module that is there once the parent has run another one."""
    node, module = model.reference(handed, value)
    message = (
        f"function {value.scope.name} is there only once {_owner(value)} has run, so a spawned worker that it reaches "
        f"through {handed.place[2]} does not find it: define it at module level"
    )
    cause = f"{value.scope.module.path}:{value.node.lineno}"
    return model.finding("TMP302", message, node, module, model.steps(handed.way, handed.place), cause)


def _is_renamed(value: Function | Class) -> bool:
    """Whether its author gives it a qualified name under which its module offers it, if only once it is there."""
    if _is_declared_global(value):
        return True
    changes = value.scope.module.changes.get(value.scope.name, ())
    return any(change.kind == "attribute" and change.name == "__qualname__" for change in changes)


def _owner(value: Function | Class) -> str:
    scope = value.scope.parent.enclosing_function() if value.scope.parent is not None else None
    return f"{scope.name}()" if scope is not None else ""


def _finding(handed: HandedOver, value: Function | Class, name: str, advice: str, model: Model) -> Finding:
    node, module = model.reference(handed, value)
    message = (
        f"{name}, reaches workers through {handed.place[2]} and cannot be pickled "
        f"({model.pickled_under(handed)}): {advice}"
    )
    cause = f"{value.scope.module.path}:{value.node.lineno}"
    way = model.steps(handed.way, handed.place)
    return model.finding("TMP302", message, node, module, way, cause, _repair(handed, value, model))


def _repair(handed: HandedOver, value: Function | Class, model: Model) -> Repair | None:
    if isinstance(value, Function) and value.decorated_by is not None:
        wrapper = value.decorated_by
        if isinstance(wrapper, Class | Result):
            return None  # pickle never finds what such an object keeps under its own name
        return model.repair("wraps_added", wrapper.node, wrapper.scope.module)
    return model.repair("local_to_module", value.node, value.scope.module, **model.notes(handed, value))
