"""Measures the speed of torchmp on a tree of Python files against what it cannot do without, and its neighbours.

    python benchmarks/speed.py TREE [--repeat N] [--torchfix COMMAND] [--ruff COMMAND]

Everything is measured in one run, in turns, and reported as the best of N. Run it with the Python of an environment
where flake8-torchmp is installed. torchfix and ruff are measured where they are found, on the path or by the commands
that are given; an empty command leaves one out. It needs a system with `os.wait4`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from flake8_torchmp import engine

FLOOR = """
import ast, json, sys, warnings
warnings.simplefilter("ignore")
for path, matters in json.load(open(sys.argv[1])):
    with open(path, "rb") as file:
        data = file.read()
    if matters:
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
"""
"""The physical limit: reads every byte, parses the files that can matter."""

FLAKE8 = """
import importlib.metadata, sys
kept = {"flake8", "mccabe", "pycodestyle", "pyflakes", *sys.argv[1].split()}
distributions = importlib.metadata.distributions
importlib.metadata.distributions = lambda: (one for one in distributions() if one.metadata["name"] in kept)
from flake8.main.cli import main
sys.exit(main(sys.argv[2:]))
"""
"""flake8 with no plugins but its own and those named first: other installed plugins would blur the comparison."""

PARSE = """
import sys
import libcst
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        libcst.parse_module(file.read())
"""

TO_MEND = b"""

def _benchmark(dataset):
    from torch.utils.data import DataLoader
    return DataLoader(dataset, num_workers=2, collate_fn=lambda batch: batch)
"""
"""What each hundredth file gets to need a fix."""

UNWANTED = ("libcst", "multiprocessing", "sqlite3", "subprocess", "torch")


class Cost(NamedTuple):
    seconds: float
    cpu: float
    megabytes: float

    def best(self, other: Cost) -> Cost:
        return Cost(*map(min, self, other))


def run(command: list[str], stdin: str = os.devnull) -> Cost:
    with open(stdin, "rb") as given, open(os.devnull, "wb") as nowhere:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=nowhere, stderr=nowhere)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"exit {process.returncode}: {' '.join(command)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 2**20)


def measure(commands: dict[str, list[str]], repeat: int, stdin: str = os.devnull) -> dict[str, Cost]:
    """In turns, so that a busy moment of the machine hits all alike."""
    best: dict[str, Cost] = {}
    for _ in range(repeat):
        for name, command in commands.items():
            cost = run(command, stdin)
            best[name] = cost.best(best.get(name, cost))
    return best


def python_files(tree: str) -> list[str]:
    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(tree)
        if "/." not in folder.removeprefix(tree) and "__pycache__" not in folder
        for name in names
        if name.endswith(".py")
    )


def torchmp(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "flake8_torchmp", *arguments]


def flake8(plugin: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", FLAKE8, plugin, "--isolated", "-j1", "--exit-zero", *arguments]


def table(title: str, costs: dict[str, Cost], base: str, goal: str) -> None:
    print(f"\n**{title}** ({goal})\n")
    print("| | seconds | CPU seconds | peak MB | ratio of time | ratio of CPU time |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, cost in costs.items():
        print(
            f"| {name} | {cost.seconds:.3f} | {cost.cpu:.3f} | {cost.megabytes:.0f} "
            f"| {cost.seconds / costs[base].seconds:.3f} | {cost.cpu / costs[base].cpu:.3f} |"
        )
    sys.stdout.flush()


def copy_part(tree: str, files: list[str], step: int, folder: str) -> None:
    for path in files[::step]:
        target = Path(folder, os.path.relpath(path, tree))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def measure_fixing(tree: str, files: list[str], repeat: int, folder: str) -> None:
    """A tree in which each hundredth file needs a fix, and no other."""
    copy_part(tree, files, 1, folder)
    run(torchmp("fix", "--unsafe-fixes", folder))
    copies = [os.path.join(folder, os.path.relpath(path, tree)) for path in files]
    changed = [path for path in copies if engine.can_matter(Path(path).read_bytes())][: max(1, len(files) // 100)]
    for path in changed:
        with open(path, "ab") as file:
            file.write(TO_MEND)
    commands = {
        "check": torchmp("check", "--no-cache", "--jobs", "1", "--exit-zero", folder),
        "parse": [sys.executable, "-c", PARSE, *changed],
        "fix": torchmp("fix", "--diff", "--jobs", "1", folder),
    }
    costs = measure(commands, repeat)
    check, parse = costs["check"], costs["parse"]
    base = "torchmp check, and libcst's parse of the changed files"
    both = Cost(check.seconds + parse.seconds, check.cpu + parse.cpu, max(check.megabytes, parse.megabytes))
    table(f"Fixing {len(changed)} files of the tree", {base: both, "torchmp fix": costs["fix"]}, base, "at most 1.5")


def measure_flake8(title: str, base: str, arguments: list[str], repeat: int, stdin: str, goal: str) -> None:
    """Without the plugin, and with it: once when the project has changed, once when it has not."""
    with tempfile.TemporaryDirectory() as kept:
        unchanged = flake8("flake8-torchmp", f"--torchmp-cache-dir={kept}", *arguments)
        run(unchanged, stdin)
        commands = {
            base: flake8("", *arguments),
            "with the plugin, cold": flake8("flake8-torchmp", "--torchmp-no-cache", *arguments),
            "with the plugin, warm": unchanged,
        }
        table(title, measure(commands, repeat, stdin), base, goal)


def imports(path: str) -> list[str]:
    """What a check of one file imports of what it should not."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *torchmp("check", path)[1:]], capture_output=True, text=True, check=False
    )
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    return sorted(names.intersection(UNWANTED))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=os.path.abspath)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--torchfix", default=shutil.which("torchfix"), help="the command; it takes minutes")
    parser.add_argument("--ruff", default=shutil.which("ruff"), help="the command")
    arguments = parser.parse_args()
    tree, repeat = arguments.tree, arguments.repeat

    files = python_files(tree)
    matter = [(path, engine.can_matter(Path(path).read_bytes())) for path in files]
    lines = sum(Path(path).read_bytes().count(b"\n") for path in files)
    important = [path for path, matters in matter if matters]
    if not important:
        raise SystemExit(f"no file of {tree} can matter: there is nothing to measure")
    print(f"{len(files)} files, {lines} lines; {len(important)} files can matter. Best of {repeat}.")

    with tempfile.TemporaryDirectory() as scratch:
        listing = os.path.join(scratch, "files.json")
        Path(listing).write_text(json.dumps(matter), encoding="utf-8")
        floor = "reading and ast.parse"
        check = "torchmp check --jobs 1"
        commands = {
            floor: [sys.executable, "-c", FLOOR, listing],
            check: torchmp("check", "--no-cache", "--jobs", "1", "--exit-zero", tree),
        }
        costs = measure(commands, repeat)
        table("Check of the tree", costs, floor, "at most 2.5")

        cold, warm, ruff = "torchmp check --jobs 2, cold", "torchmp check --jobs 2, warm", "ruff check --select F"
        cached = torchmp("check", f"--cache-dir={scratch}/cache", "--jobs", "2", "--exit-zero", tree)
        run(cached)
        commands = {cold: torchmp("check", "--no-cache", "--jobs", "2", "--exit-zero", tree), warm: cached}
        if arguments.ruff:
            options = ["--isolated", "--no-cache", "--exit-zero", "--select", "F"]
            commands[ruff] = [arguments.ruff, "check", *options, tree]
        both_jobs = measure(commands, repeat)
        table("Two processes and the cache", both_jobs, cold, "warm at most 0.33")
        if arguments.ruff:
            table("Against ruff", both_jobs, ruff, "cold at most 1.5")

        if arguments.torchfix:
            slow = {check: costs[check], "torchfix": run([arguments.torchfix, tree])}
            table("Against torchfix", slow, check, "torchfix at least 100")

        memory: dict[str, Cost] = {}
        for name, step in (("a quarter of the tree", 4), ("half of the tree", 2)):
            part = os.path.join(scratch, str(step))
            copy_part(tree, files, step, part)
            memory[name] = run(torchmp("check", "--no-cache", "--jobs", "1", "--exit-zero", part))
        table("Memory", {**memory, "the tree": costs[check]}, "half of the tree", "peak MB stays flat")
        measure_fixing(tree, files, repeat, os.path.join(scratch, "fixing"))

    start = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "torchmp --version": torchmp("--version"),
    }
    table("Start-up", measure(start, max(10, repeat)), "python -c pass", "at most 2.5")

    call = ["--stdin-display-name", important[0], "-"]
    measure_flake8("Editor", "flake8, standard input", call, max(5, repeat), important[0], "below 2")
    measure_flake8("flake8 on the tree", "flake8 -j1", [tree], repeat, os.devnull, "at most 1.05")

    print(f"\nImported by a check of one file, and unwanted: {', '.join(imports(important[0])) or 'nothing'}")


if __name__ == "__main__":
    main()
