"""TMP801 fork-after-threads: a process is forked while a thread runs

## What happens
`fork` copies the memory of the parent, and of its threads only the one that forks. A lock that another thread holds at
that moment is copied as held, and no thread is there in the child that would ever release it. The first use of the lock
in the child waits for ever: a lock of the program, of logging, of a data base driver, of a memory allocator. It happens
now and then, when the moment is bad, which makes it hard to find. Python 3.12 and later warn about it.

The rule reports what forks after a thread, a Timer, a QueueListener, a ThreadPool or the work of a ThreadPoolExecutor
was started and before it was joined: a Process, a Pool, a Manager, an executor's first task, the iteration of a
DataLoader with workers, by a fork context or by default, where a target platform forks by default: Linux before
Python 3.14. One thread is one finding, at the first fork after it; it says how many more files fork while it runs. A
thread that an earlier call of what is running now has started is taken to be another object's, and over. What the
threads of a ThreadPoolExecutor fork themselves is reported as well, unless there is only one of them.

## Fails
```python
import multiprocessing as mp
import threading
import time

LOCK = threading.Lock()


def beat():
    while True:
        with LOCK:
            time.sleep(0.5)


def square(x):
    with LOCK:
        return x * x


if __name__ == "__main__":
    threading.Thread(target=beat, daemon=True).start()
    time.sleep(0.1)
    with mp.Pool(2) as pool:
        print(pool.map_async(square, range(4)).get(timeout=10))
```
```text
multiprocessing.context.TimeoutError
```
Without the timeout it would wait for ever.

## Works
```python
import multiprocessing as mp
import threading
import time

LOCK = threading.Lock()


def beat():
    while True:
        with LOCK:
            time.sleep(0.5)


def square(x):
    with LOCK:
        return x * x


if __name__ == "__main__":
    threading.Thread(target=beat, daemon=True).start()
    time.sleep(0.1)
    with mp.get_context("spawn").Pool(2) as pool:
        print(pool.map(square, range(4)))
```
Starting the threads after the processes, or joining them before, works as well.

## What it does not see
- Threads that installed packages start: progress bars, loggers, clients, the feeder of a `mp.Queue`.
- When a thread ends by itself: `join`, `shutdown`, `terminate` and the end of a `with` count, and short work, without a
  loop or a wait, is taken to be done once the function has returned that began it.
- Whether the forked code ever touches a lock that the thread holds.
- What tests fork, in files named `test_*.py` or `*_test.py`: that it works, or does not, is what they are for.

## How to silence it
Write `# noqa: TMP801` on the line that starts the processes, ignore the code in setup.cfg (`extend-ignore = TMP801`),
or for one file with per-file-ignores. Where no target forks by default, `torchmp-target-platforms` and
`torchmp-target-python` say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.files import is_called_test
from flake8_torchmp.semantics.flow import contradict, facts_at
from flake8_torchmp.semantics.module import Module

from . import first_of_files, rule

THREADS = re.compile(rb"threading|\b_thread\b|\bThreadPool|multiprocessing\.dummy|QueueListener")


@rule("TMP801", "fork-after-threads")
def fork_after_threads(module: Module, model: Model) -> Iterator[Finding]:
    if not THREADS.search(module.data) or is_called_test(module.path):
        return
    found: dict[tuple[str, int], list[Finding]] = {}
    for moment, thread in model.timeline.forked_after_threads(module):
        assert moment.start is not None
        if is_called_test(moment.module.path):
            continue
        if thread.node is moment.node or contradict(facts_at(thread.node), facts_at(moment.node)):
            continue  # one or the other, as a test says
        line = getattr(thread.node, "lineno", 1)
        place = f"line {line}" if thread.module is moment.module else f"{thread.module.name}, line {line}"
        how = "forks by default on Linux" if moment.start.by_default else "forks"
        message = (
            f"{moment.start.text} and {how} while {thread.text} started in {place} runs: locks it holds stay locked in "
            f"the child: start it after, or choose {model.settings.start_method}"
        )
        way = [Step(thread.module.path, line, thread.text)]
        finding = model.finding(
            "TMP801", message, moment.node, moment.module, way, cause=f"{thread.module.path}:{line}"
        )
        found.setdefault((thread.module.path, line), []).append(finding)
    for several in found.values():
        yield first_of_files(several)
