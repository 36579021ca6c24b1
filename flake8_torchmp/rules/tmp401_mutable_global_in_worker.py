"""TMP401 mutable-global-in-worker: worker code reads a module-level name that the parent changes

## What happens
A worker that is spawned or started by a fork server imports the program's modules anew. A global has there what the
import gives it: the dict is empty that `main()` has filled, the switch that a `global` statement has set is back at its
default, and what was drawn at random is drawn again, differently in each worker. There is seldom an error: the labels,
the sizes or the split are just wrong.

This is so on Windows, on macOS since Python 3.8, and everywhere since Python 3.14, where Linux uses forkserver. Under
fork a worker starts with a copy of what the parent has at that moment; what the parent changes later, in the next
epoch with `persistent_workers=True` for example, does not arrive there either.

Worker code is what runs in the child: a dataset's `__getitem__` or `__iter__`, `collate_fn`, `worker_init_fn`, the
functions given to pools and executors, and all functions of the project that these call. A dataset's `__init__` and
`__len__` run in the parent: what they store on `self` travels with the dataset, and is the way out.

A global counts as changed if the project fills, edits or rebinds it outside of importing: directly, through its module
(`data.VOCAB = ...`), another name or a function that gets it as an argument, by `global`, by `globals()[...]`, or by
setting attributes of a module-level object. A table that every import makes the same way is right: a literal, a loop at
module level, a registry that decorators fill, a table of random numbers with a fixed seed.

One global is one finding in a file, and in all the files that worker code reaches from one place: it stands at the
first read, tests last, says how many more files read it, and names them on its way.

Not reported is what each process has for itself: a global that worker code fills from what it was handed
(`CONFIG.update(given)`, also by a method), makes where it is missing, enters by `with`, or begins anew where
`os.getpid()` has changed; one whose changes go to `os.environ`, where the import finds them; one that only another
program of the project changes, which does not start these workers; and a read that only decides whether a message is
printed or logged, or stands in a function that only draws by matplotlib.

## Fails
```python
import torch
from torch.utils.data import DataLoader, Dataset

VOCAB = {}


class Sentences(Dataset):
    def __init__(self, sentences):
        self.sentences = sentences

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        return torch.tensor([VOCAB[word] for word in self.sentences[index].split()])


def main():
    sentences = ["a cat ran", "the dog sat"]
    for sentence in sentences:
        for word in sentence.split():
            VOCAB.setdefault(word, len(VOCAB))
    for ids in DataLoader(Sentences(sentences), batch_size=2, num_workers=1):
        print(ids)


if __name__ == "__main__":
    main()
```
```text
KeyError: 'a'
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, sentences, vocab):
        self.sentences = sentences
        self.vocab = vocab

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        return torch.tensor([self.vocab[word] for word in self.sentences[index].split()])


def main():
    sentences = ["a cat ran", "the dog sat"]
    vocab = {}
    for sentence in sentences:
        for word in sentence.split():
            vocab.setdefault(word, len(vocab))
    for ids in DataLoader(Sentences(sentences, vocab), batch_size=2, num_workers=1):
        print(ids)


if __name__ == "__main__":
    main()
```

## What it does not see
- Changes that no source of the project shows: in an installed package, through `exec`, `setattr` with an unknown
  object, or by code that only a test or a notebook runs.
- State in classes that is read through objects of other classes: after `Images.size = 16`, what `images.size` is there.
- Whether the change comes before or after the workers start: a container that the parent changes and worker code reads
  is reported either way, unless every target forks.
- Files that are read at import and differ later.

## How to silence it
Write `# noqa: TMP401` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP401` there, or their counterparts in the tool's own table of pyproject.toml.
A value that never changes says so best by its type: a tuple, a `frozenset`, `MappingProxyType` or `Final` is never
reported. TMP909, off by default, is the strict reading: every mutable global that a dataset reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.boundary.failures.messages import only_decides_on_messages, only_draws
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.module_state.class_state import read_through_objects
from flake8_torchmp.boundary.module_state.mutations import Mutation
from flake8_torchmp.boundary.working.workers import WorkerFunction
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import position
from flake8_torchmp.semantics.scopes import Scope

from . import first_of_files, rule


@rule("TMP401", "mutable-global-in-worker")
def mutable_global_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    found: dict[str, list[Finding]] = {}
    here = {worker.scope for worker in model.workers.of(module)}
    for worker in model.workers.of(module):
        if not worker.methods - {"fork"} and not model.keeps_workers(module):
            continue
        if only_draws(worker.scope):
            continue
        reads = chain(
            model.state.names.read_by(worker.scope),
            model.state.names.read_by_default(worker.scope),
            read_through_objects(worker.scope, model.state, worker.receiver),
        )
        for node, variable in reads:
            if not _is_state(node, variable, model) or model.state.is_changed_by_read(node, worker.scope.module):
                continue
            if model.workers.is_of_program(worker, module) or only_decides_on_messages(node):
                continue
            if model.state.keeps_its_own(worker.scope, variable):
                continue
            changes = model.state.seen_by(node, worker.scope.module, variable)
            mutation = _changed_in_parent(changes, here, model)
            if mutation is not None:
                meeting = [change for change in changes if _may_be_missed(change, variable, module, worker, model)]
                mutation = _changed_in_parent(meeting, here, model)
            if mutation is not None and model.own_copies.is_set_up(variable, worker):
                continue
            if mutation is not None:
                found.setdefault(variable.text, []).append(_stale(node, variable, mutation, worker, model))
            elif worker.methods - {"fork"} and model.random_globals.is_drawn(variable):
                found.setdefault(variable.text, []).append(_made_again(node, variable, worker, model))
    for several in found.values():
        yield first_of_files(several)


def _may_be_missed(change: Mutation, variable: Global, module: Module, worker: WorkerFunction, model: Model) -> bool:
    """Whether a change is made by a program that may start these workers, and not told by the environment."""
    return model.programs.may_meet(
        change.node, change.module, module, worker
    ) and not model.state.is_told_by_environment(change, variable)


def _is_state(node: ast.expr, variable: Global, model: Model) -> bool:
    state = model.state
    if not (state.is_variable(variable) or state.is_kept_by_definition(node, variable)) or not state.is_made_at_import(
        variable
    ):
        return False
    return not state.is_constant_by_type(variable) and not state.is_primitive(variable)


def _changed_in_parent(mutations: list[Mutation], in_workers: set[Scope], model: Model) -> Mutation | None:
    """The first change that only the parent sees; None where workers set it for themselves."""
    found = None
    phases = list(map(model.own_copies.phase, mutations))
    for mutation, phase in zip(mutations, phases, strict=True) if "parent" in phases else ():
        function = mutation.module.scope_of(mutation.node).enclosing_function()
        if function is not None and (function in in_workers or model.own_copies.may_run_in_workers(function)):
            if mutation.kind == "rebound" or model.workers.sets_up(function):
                return None
            continue  # each process does it for itself
        if found is None and phase == "parent" and not model.aftermath.is_without_workers(*mutation[:2]):
            found = mutation
    return found


def _stale(node: ast.expr, variable: Global, mutation: Mutation, worker: WorkerFunction, model: Model) -> Finding:
    verb = "binds it again" if mutation.kind == "rebound" else "changes it"
    place = f"line {mutation.node.lineno}"  # type: ignore[attr-defined]
    if mutation.module is not worker.scope.module:
        place = f"{mutation.module.name}:{mutation.node.lineno}"  # type: ignore[attr-defined]
    message = (
        f"worker code ({worker.reached_from}) reads the global {variable.name}, but each worker has its own copy and "
        f"never sees that the parent {verb} ({place}): hand it over as an attribute or argument"
    )
    way = [
        *variable.made("is made"),
        Step(mutation.module.path, position(mutation.node)[0], f"the parent {verb}"),
        Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() reads it in a worker"),
    ]
    return model.finding("TMP401", message, node, worker.scope.module, way, cause=variable.text)


def _made_again(node: ast.expr, variable: Global, worker: WorkerFunction, model: Model) -> Finding:
    message = (
        f"worker code ({worker.reached_from}) reads the global {variable.name}, which is drawn at random when the "
        "module is imported, by each spawned worker anew: hand it over as an attribute or argument"
    )
    way = [
        *variable.made("is drawn at random"),
        Step(worker.scope.module.path, position(node)[0], f"{worker.scope.name}() reads it in a worker"),
    ]
    return model.finding("TMP401", message, node, worker.scope.module, way, cause=variable.text)
