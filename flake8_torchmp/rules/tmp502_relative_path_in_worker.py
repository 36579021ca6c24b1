"""TMP502 relative-path-in-worker: worker code opens a relative path

## What happens
Code that runs in a worker process resolves a relative path against the worker's own current folder: the one that the
parent had when the worker started, under any start method, or the one that an initializer or the worker itself has
changed into since. So the same line reads one file in a debug run without workers and another, or none,
in a worker; and what a worker writes by a relative name is not where the parent looks for it.

The start method plays no role, only the folder does. Hand an absolute path over, or build it from `__file__`.

## Fails
```python
import json
import multiprocessing as mp
import os
import tempfile


def scaled(value):
    with open("config.json") as handle:
        return json.load(handle)["scale"] * value


def main():
    with open("config.json", "w") as out:
        json.dump({"scale": 3}, out)
    with mp.Pool(1, initializer=os.chdir, initargs=(tempfile.gettempdir(),)) as pool:
        print(pool.map(scaled, [1, 2]))


if __name__ == "__main__":
    main()
```
```text
FileNotFoundError: [Errno 2] No such file or directory: 'config.json'
```

## Works
```python
import functools
import json
import multiprocessing as mp
import os
import tempfile


def scaled(value, config):
    with open(config) as handle:
        return json.load(handle)["scale"] * value


def main():
    with open("config.json", "w") as out:
        json.dump({"scale": 3}, out)
    with mp.Pool(1, initializer=os.chdir, initargs=(tempfile.gettempdir(),)) as pool:
        print(pool.map(functools.partial(scaled, config=os.path.abspath("config.json")), [1, 2]))


if __name__ == "__main__":
    main()
```

## What it does not see
- Paths that come as arguments: those of a dataset are TMP501's, others are not followed to the caller's literal unless
  they are a parameter's default that some caller leaves out.
- Libraries that open files in their own functions, beyond the usual ones of Python, NumPy, torch, PIL and pandas.
- Files that are opened only where they are there (`if os.path.isfile("notes.txt"):`), unless something is raised else.
- Modules that go to their own folder first: `os.chdir(os.path.dirname(__file__))`.
- `os.walk(".")` and the like, also a parameter's default `"."`: their author means the current folder, whichever it is.
- Files that worker code writes: they are left where the user is, as by any program. They are reported where the project
  changes the current folder (`os.chdir`), other than those that the ranks of a distributed program write.
- Tests, which run in the folder of their project, or in one of their own.
- Names inside of archives and stores (`archive.open("labels.txt")`) are no paths and are not reported.

## How to silence it
Write `# noqa: TMP502` on the line that opens the file, or ignore the code in setup.cfg, for single files with
per-file-ignores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.own_folder import goes_to_own_folder
from flake8_torchmp.boundary.files.left_files import may_change_folder, writes
from flake8_torchmp.boundary.files.paths import Literal, is_asked_for_first
from flake8_torchmp.boundary.files.spelled_paths import is_spelled_out_by_worker
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.starting.import_time import has_tests
from flake8_torchmp.boundary.working.workers import RANKS
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name, up

from . import rule

LISTING = frozenset("walk listdir scandir glob iglob rglob iterdir".split())


@rule("TMP502", "relative-path-in-worker")
def relative_path_in_worker(module: Module, model: Model) -> Iterator[Finding]:
    for worker in model.workers.of(module):
        if has_tests(worker.scope.module):
            continue  # tests run in the folder of their project, or in one of their own
        is_rank = worker.kind in RANKS and model.workers.train_together(module)
        for node, literal in model.paths.opened_in(worker.scope):
            if writes(node) and (is_rank or not may_change_folder(model.codebase, module, worker.scope.module)):
                continue  # it leaves its files where the user is, as any program does
            if goes_to_own_folder(module) or goes_to_own_folder(literal.module):
                continue
            if _is_current_folder(node, literal) or is_asked_for_first(node, literal):
                continue
            if is_spelled_out_by_worker(literal, worker.scope, model.workers):
                message = (
                    f'worker code ({worker.reached_from}) opens the relative path "{literal.text}", which resolves '
                    "against whatever folder the worker is in: join it to an absolute folder"
                )
                way = [
                    Step(literal.module.path, literal.node.lineno, f'"{literal.text}"'),
                    Step(worker.scope.module.path, node.lineno, f"opened in {worker.scope.name}()"),
                ]
                yield model.finding("TMP502", message, node, worker.scope.module, way)


def _is_current_folder(node: ast.Call, literal: Literal) -> bool:
    """`os.walk(".")`, `Path(".").glob("*.py")`, and nothing in it that has a name; a default folder that is "."."""
    if literal.text.rstrip("/") == "." and isinstance(up(literal.node), ast.arguments):
        return True
    if last_name(node.func) not in LISTING:
        return False
    parts = [part for given in node.args[:1] for part in ast.walk(given)]
    named = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return all(text.rstrip("/") == "." or text.startswith("*") for text in (literal.text, *named))
