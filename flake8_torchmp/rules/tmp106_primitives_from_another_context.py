"""TMP106 primitives-from-another-context: a fork context's lock or queue is handed to a spawned process

## What happens
A Queue, Lock, Event, Condition, Barrier, Semaphore, Value or Array holds semaphores. Those that a fork context makes
have no name by which another process could open them: their children have them by being copies. When such a primitive
is pickled for a process that is spawned, or comes from a forkserver, Python refuses:
"A SemLock created in a fork context is being shared with a process in a spawn context". Older releases fail in the
child, with FileNotFoundError.

The default context of Linux is a fork context before Python 3.14. So `mp.Queue()` given to `mp.spawn(...)`, which
always spawns, or to a Process, Pool, executor or DataLoader with a spawn context of its own, fails there.
So does what the default context made before `set_start_method("spawn", force=True)` replaced it.
The rule reports the call that makes the primitive.

## Fails
```python
import torch.multiprocessing as mp


def train(rank, results):
    results.put(rank)


if __name__ == "__main__":
    results = mp.Queue()
    mp.spawn(train, args=(results,), nprocs=2)
```
```text
RuntimeError: A SemLock created in a fork context is being shared with a process in a spawn context. This is not
supported. Please use the same context to create multiprocessing objects and Process.
```

## Works
```python
import torch.multiprocessing as mp


def train(rank, results):
    results.put(rank)


if __name__ == "__main__":
    results = mp.get_context("spawn").Queue()
    mp.spawn(train, args=(results,), nprocs=2)
```
The other way round is allowed: what a spawn context made may go to forked processes. A Manager's proxies go anywhere,
and so do pipes and shared tensors. `mp.set_start_method("spawn")` before anything is made works too.

## What it does not see
- Contexts that come from outside: a parameter that nobody in the project gives, a configuration file.
- Primitives inside objects of installed packages.
- A primitive that is handed over as a task's argument, which no context allows: that is TMP306.

## How to silence it
Write `# noqa: TMP106` on the line of the call that makes the primitive, ignore the code in setup.cfg
(`extend-ignore = TMP106`), or for one file with per-file-ignores. A project whose target platforms and versions have no
fork by default can say so: `torchmp-target-platforms`, `torchmp-target-python`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.crossing.context_arguments import MODULES
from flake8_torchmp.boundary.crossing.crossings import Crossing
from flake8_torchmp.boundary.crossing.primitives import Primitive, methods_of, primitive
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.tables.apis import PRIMITIVES
from flake8_torchmp.findings import Finding, Repair
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.values import External

from . import rule


@rule("TMP106", "primitives-from-another-context", fix="safe")
def primitives_from_another_context(module: Module, model: Model) -> Iterator[Finding]:
    for crossing in model.crossings.of(module):
        if crossing.api.kind == "task" or not crossing.has_workers or "fork" in crossing.methods:
            continue
        primitives = [(hanging, primitive(model.evaluator, hanging.value)) for hanging in crossing.hanging]
        fitting = {
            made.node for _, made in primitives if made is not None and not _may_be_forked(made, crossing, model)
        }
        for hanging, made in primitives:
            # a call whose context may be the right one, `(ctx or mp).Lock()`, is given it here, for all that is seen
            if made is not None and made.has_lock and made.node not in fitting:
                started = " or ".join(sorted(crossing.methods))
                message = (
                    f"{made.name}() is made by {_context(made, model)} and handed to a process that is started by "
                    f'{started} ({crossing.text}): make it from that process\'s context, get_context("{started}")'
                )
                place = (crossing.source.node, crossing.source.frame.module, crossing.text)
                way = model.steps(hanging.way, place)
                repair = _repair(made, crossing, model)
                yield model.finding("TMP106", message, made.node, made.module, way, repair=repair)


def _may_be_forked(made: Primitive, crossing: Crossing, model: Model) -> bool:
    methods, by_default = methods_of(made, model.methods)
    if by_default and crossing.by_default:
        return "fork" in model.methods.default and _is_older_than_method(made, model)
    return "fork" in methods


def _is_older_than_method(made: Primitive, model: Model) -> bool:
    """Whether `set_start_method(..., force=True)` comes after it was made, and before any process is started."""
    if b"force" not in made.module.data:
        return False
    forcing = made.module.calls_of("set_start_method")
    moments = model.timeline.of([made.module.scope_of(call) for call in forcing]) if forcing else {}
    for moment in (moments[id(call)] for call in forcing if id(call) in moments):
        before = [mark.node for mark in moment.before if mark.kind in ("set", "forced", "fixed")]
        if made.node in before and all(isinstance(n, ast.Call) and last_name(n.func) in PRIMITIVES for n in before):
            return True
    return False


def _context(made: Primitive, model: Model) -> str:
    _, by_default = methods_of(made, model.methods)
    return "the default context, which is a fork context," if by_default else "a fork context"


def _repair(made: Primitive, crossing: Crossing, model: Model) -> Repair | None:
    if made.callee is None or made.arguments.get(None, "ctx") is not None:
        return None
    function = made.node.func if isinstance(made.node, ast.Call) else made.node
    if len(crossing.methods) > 1 or last_name(function) not in made.module.names_of(made.name):
        return None
    owners = function.value if isinstance(function, ast.Attribute) else None
    frame = made.arguments.frame
    values = model.evaluator.values(owners, frame) if owners is not None else ()
    of_module = bool(values) and all(isinstance(value, External) and value.name in MODULES for value in values)
    method = next(iter(crossing.methods))
    return model.repair(
        "own_context", made.node, made.module, method=method, name=made.name, of_module="yes" if of_module else "no"
    )
