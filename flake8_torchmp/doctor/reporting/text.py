"""For a terminal: a line for each step as it ends, and the worst problem first."""

from __future__ import annotations

import linecache
import os
from typing import TYPE_CHECKING, Any, TextIO

from flake8_torchmp.doctor.problems import Place, Problem, counted, size_of, time_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flake8_torchmp.doctor.examination import Examination, Rung
    from flake8_torchmp.doctor.stacks import Stack

_WIDTHS = (7, 10, 8, 11, 10, 10, 10, 5, 8)
_HEAD = ("workers", "start", "verdict", "first batch", "samples/s", "own/worker", "shared", "files", "/dev/shm")
_ITEMS_OF_A_LIST = 5


def begin(target: str, stream: TextIO) -> None:
    stream.write(f"torchmp doctor imports and runs {target}, in processes of its own.\n")
    stream.flush()


def write_admission(examination: Examination, stream: TextIO) -> None:
    """What was known before the ladder."""
    about = examination.admitted
    if not about:
        return
    kind = "iterable" if about["iterable"] else "map-style"
    around = "" if about["is_own"] else " (a DataLoader made around it, batches of 4)"
    stream.write(f"\n{about['loader']} over {about['dataset']}, {kind}{around}; torch {about['torch']}\n")
    samples: Any = examination.samples and examination.samples.event("samples")
    if samples:
        times = sorted(seconds for _, seconds in samples["times"])
        usual = f", {time_of(times[len(times) // 2])} each, the slowest {time_of(times[-1])}" if times else ""
        failed = f"; {counted(len(samples['failures']), 'sample')} cannot be read" if samples["failures"] else ""
        stream.write(f"samples: {samples['read']} read{usual}{failed}\n")


def write_crossing(examination: Examination, stream: TextIO) -> None:
    events: list[Any] = examination.crossing.events if examination.crossing else []
    parts = []
    for event in events:
        if event["event"] == "crosses":
            many = len(event["culprits"])
            parts.append(f"{event['name']} " + (size_of(event["size"]) if not many else f"does not ({many} culprits)"))
    if parts:
        stream.write(f"what crosses: {', '.join(parts)}\n")
    if examination.is_stopped:
        stream.write("no workers were started: it goes wrong without them\n")
    else:
        stream.write(f"\n{_row(_HEAD)}\n")
    stream.flush()


def write_rung(rung: Rung, stream: TextIO) -> None:
    price = rung.price
    stream.write(
        _row(
            (
                str(rung.workers),
                rung.method,
                rung.verdict,
                _shown(price.get("first"), time_of),
                _shown(price.get("rate"), "{:.0f}".format),
                _shown(price.get("own"), size_of),
                _shown(price.get("shared"), size_of),
                _shown(price.get("files"), str),
                _shown(price.get("blocks"), lambda size: size_of(max(0, size))),
            )
        )
        + "\n"
    )
    stream.flush()


def _shown(value: Any, form: Any) -> str:
    return "" if value is None else str(form(value))


def _row(cells: Iterable[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def write_end(examination: Examination, stream: TextIO) -> None:
    if examination.cannot is not None:
        write_refusal(examination.cannot, stream)
        return
    best, why = examination.chosen()
    if best is not None:
        under = f" under {best.method}" if best.workers else ""
        stream.write(f"\nIt would choose num_workers={best.workers}{under}: {why}.\n")
    problems = examination.ranked
    stream.write(f"\n{counted(len(problems), 'problem')}\n" if problems else "\nHealthy: nothing wrong was seen.\n")
    for number, problem in enumerate(problems, 1):
        _write_problem(number, problem, stream)
    output = examination.samples.output.strip() if examination.samples and examination.problems else ""
    if output:
        lines = output.splitlines()
        stream.write("\nprinted while samples were read:\n")
        stream.writelines(f"    {line[:160]}\n" for line in lines[-_ITEMS_OF_A_LIST:])


def write_refusal(cannot: dict[str, Any], stream: TextIO) -> None:
    stream.write(f"\n{cannot['text'] if 'text' in cannot else cannot['error']}\n")


def _write_problem(number: int, problem: Problem, stream: TextIO) -> None:
    stream.write(f"\n{number}. {problem.title}\n")
    stream.writelines(f"   {line}\n" for line in problem.details[:_ITEMS_OF_A_LIST])
    stream.writelines(f"   {place_line(place)}\n" for place in problem.places[:_ITEMS_OF_A_LIST])
    if problem.finding is not None:
        finding = problem.finding
        where = f"{named(finding.path)}:{finding.line}:{finding.column + 1}"
        stream.write(f"   torchmp check: {where}: {finding.code} {finding.message}\n")
    if problem.advice:
        stream.write(f"   what helps: {problem.advice}\n")
    for stack in problem.stacks:
        stream.writelines(f"   {line}\n" for line in stack_lines(stack))


def place_line(place: Place) -> str:
    text = place.source or linecache.getline(place.path, place.line).strip()
    label = f"  ({place.label})" if place.label else ""
    return f"{named(place.path)}:{place.line}: {text}{label}"


def stack_lines(stack: Stack) -> list[str]:
    """The innermost frame last, as in a traceback."""
    lines = [f"{stack.role}, process {stack.pid}:" + ("" if stack.threads else " says nothing")]
    for number, thread in enumerate(stack.shortened()):
        if number:
            lines.append("  another thread:")
        lines += [f"  {named(frame.path)}:{frame.line} in {frame.function}" for frame in reversed(thread)]
    return lines


def named(path: str) -> str:
    return path.removeprefix(os.path.join(os.getcwd(), ""))
