"""Parts of the doctor that can be asked alone."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from flake8_torchmp.doctor import stacks
from flake8_torchmp.doctor.bed import Outcome
from flake8_torchmp.doctor.examination import Examination, Rung, Wishes, _counts
from flake8_torchmp.doctor.problems import COSTS, STOPS, WRONG, Problem, size_of, time_of
from flake8_torchmp.doctor.reporting import charts

CRASH = """\
lost words
Fatal Python error: Aborted

Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "data.py", line 7 in fetch

Current thread 0x00007f02 (most recent call first):
  File "/x/torchmp_bedside/rung.py", line 40 in _read
  File "<string>", line 1 in <module>
"""


def test_stack_that_faulthandler_prints() -> None:
    (thread,) = stacks.read(CRASH)
    assert thread == (
        stacks.Frame("/usr/lib/python3.11/threading.py", 320, "wait"),
        stacks.Frame("data.py", 7, "fetch"),
    )


def test_rungs_go_up_to_the_processors() -> None:
    assert [_counts(processors) for processors in (1, 2, 6, 8)] == [(0, 1), (0, 1, 2), (0, 1, 2, 4), (0, 1, 2, 4, 8)]


def test_worst_comes_first_and_once() -> None:
    examination = Examination(Wishes("train:loader"))
    examination.problems = [
        Problem("prints", COSTS, "prints a lot"),
        Problem("different-values", WRONG, "2 workers under fork: other values"),
        Problem("different-values", WRONG, "1 worker under spawn: other values"),
        Problem("not-picklable", 2, "dataset.lock"),
        Problem("rung-fails", STOPS, "1 worker under spawn: TypeError: cannot pickle '_thread.lock' object"),
        Problem("rung-fails", STOPS, "1 worker under spawn: OSError: no file"),
    ]
    assert [problem.title for problem in examination.ranked] == [
        "1 worker under spawn: OSError: no file",
        "2 workers under fork: other values",
        "dataset.lock",
        "prints a lot",
    ]


def rung(workers: int, rate: float, verdict: str = "works") -> Rung:
    event: dict[str, object] = {"event": "price", "epochs": [{"rate": rate / 2}, {"rate": rate}]}
    return Rung(workers, "fork" if workers else "", verdict, Outcome("ended", 0, [event], "", 0, [], 1.0), ())


def test_choice_is_the_smallest_number_that_is_not_clearly_slower() -> None:
    examination = Examination(Wishes("train:loader"))
    examination.rungs = [rung(0, 100), rung(1, 90), rung(2, 300), rung(4, 310), rung(8, 900, verdict="differs")]
    best, why = examination.chosen()
    assert best is not None
    assert best.workers == 2
    assert why == "300 samples/s, 3.0 times as many as without workers; more workers give no more"


def test_sizes_and_times() -> None:
    assert [size_of(size) for size in (0, 999, 1536, 5 << 20, 3 << 30)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "5.0 MB",
        "3.0 GB",
    ]
    assert [time_of(seconds) for seconds in (0.00002, 0.0012, 0.25, 3.14)] == ["20 µs", "1.2 ms", "250 ms", "3.1 s"]


def test_charts_are_well_formed() -> None:
    curves = {"fork": [(0, 10.0), (2, 250.0)], "<spawn>": [(2, 5.0 * (1 << 20))]}
    drawn = ET.fromstring(charts.lines(curves, size_of, "workers & more"))
    assert len([one for one in drawn.iter() if one.tag == "polyline"]) == 2
    assert "<spawn>, 2: 5.0 MB" in [one.text for one in drawn.iter() if one.tag == "title"]
    bars = ET.fromstring(charts.bars([("sample 'a'", 0.5), ("sample 'b'", 0.0)], time_of, "in order"))
    assert len([one for one in bars.iter() if one.get("class") == "bar"]) == 2
