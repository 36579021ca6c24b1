"""What is read out of an output, in all the shapes in which it comes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flake8_torchmp.diagnosis.messages import MESSAGES
from flake8_torchmp.diagnosis.printed import Frame, Printed, read
from flake8_torchmp.rules import all_rules

LAMBDA = "AttributeError: Can't pickle local object 'main.<locals>.<lambda>'"


def read_text(text: str) -> Printed:
    return read(text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("python", 'Traceback (most recent call last):\n  File "src/train.py", line 12, in main\n    run()\n'),
        ("of a worker in the middle of a log", '[rank1]:   File "src/train.py", line 12, in main\n'),
        ("time stamps before it", '2026-01-02 10:00:00,123 ERROR |   File "src/train.py", line 12, in main\n'),
        ("colours", '\x1b[31m  File \x1b[35m"src/train.py"\x1b[0m, line \x1b[35m12\x1b[0m, in \x1b[35mmain\x1b[0m\n'),
        ("after a progress bar", ' 10%|█         | 1/10 [00:01<00:09]\r  File "src/train.py", line 12, in main\n'),
        ("rich", "│ src/train.py:12 in main                                      │\n"),
        ("py-spy", "    main (src/train.py:12)\n"),
        ("a log of JSON", '{"log":"  File \\"src/train.py\\", line 12, in main\\n"}\n'),
        ("IPython 8", "File src/train.py:12, in main(args)\n     11     pass\n---> 12     run()\n"),
        ("IPython 7", "src/train.py in main(args)\n     11     pass\n---> 12     run()\n"),
    ],
)
def test_frames_are_read_from_a_traceback(shape: str, text: str) -> None:
    assert read_text(text).frames == (Frame("src/train.py", 12, "main"),), shape


def test_the_place_of_a_warning_is_a_frame() -> None:
    printed = read_text("src/train.py:12: DeprecationWarning: This process is multi-threaded, use of fork() may ...\n")
    assert printed.frames == (Frame("src/train.py", 12, ""),)


def test_a_message_that_is_cut_off_is_read() -> None:
    (said,) = read_text("AttributeError: Can't pickle local object 'main.<loc").said
    assert set(said.message.causes) == {"TMP301", "TMP302"}


def test_windows_paths_are_read() -> None:
    printed = read_text('  File "C:\\Users\\me\\train.py", line 3, in <module>\r\n')
    assert printed.frames == (Frame("C:\\Users\\me\\train.py", 3, "<module>"),)


@pytest.mark.parametrize(
    ("code", "name", "line"),
    [
        ("TMP301", "main.<locals>.", LAMBDA),
        (
            "TMP301",
            "main.<locals>.",
            "PicklingError: Can't pickle local object <function main.<locals>.<lambda> at 0x7f>",
        ),
        (
            "TMP301",
            "",
            "PicklingError: Can't pickle <function <lambda> at 0x7f>: attribute lookup <lambda> on __main__",
        ),
        ("TMP301", "main.<locals>.", "AttributeError: Can't get local object 'main.<locals>.<lambda>'"),
        ("TMP302", "main.<locals>.collate", "AttributeError: Can't pickle local object 'main.<locals>.collate'"),
        (
            "TMP302",
            "timed",
            "PicklingError: Can't pickle <function timed at 0x7f>: it's not the same object as x.timed",
        ),
        ("TMP202", "score", "AttributeError: Can't get attribute 'score' on <module '__mp_main__' from 'train.py'>"),
        ("TMP310", "__run", "AttributeError: 'Loop' object has no attribute '__run'"),
        ("TMP303", "sqlite3.Connection", "TypeError: cannot pickle 'sqlite3.Connection' object"),
        ("TMP303", "", "TypeError: h5py objects cannot be pickled"),
        ("TMP305", "_thread.lock", "TypeError: cannot pickle '_thread.lock' object"),
        ("TMP305", "generator", "TypeError: can't pickle generator objects"),
        ("TMP203", "vocab", "NameError: name 'vocab' is not defined"),
        ("TMP306", "Queue", "RuntimeError: Queue objects should only be shared between processes through inheritance"),
        ("TMP701", "prefetch_factor", "ValueError: prefetch_factor option could only be specified in multiprocessing."),
    ],
)
def test_a_message_leads_to_its_rule_and_says_its_name(code: str, name: str, line: str) -> None:
    (said,) = read_text(f"noise\n{line}\n").said
    assert max(said.message.causes, key=said.message.causes.__getitem__) == code
    assert said.names == ((name,) if name else ())


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("TMP302", "Can't get local object 'main.<locals>.seed_worker'"),
        ("TMP302", "Can't get local attribute 'seed_worker' on <function main at 0x7f>"),
        ("TMP302", "Can't pickle <cyfunction f at 0x7f>: it's not the same object as pairs.f"),
        ("TMP202", "Can't get attribute 'score' on <module '__mp_main__' from 'train.py'>"),
        ("TMP202", "A task has failed to un-serialize. Please ensure that the arguments are all picklable."),
        ("TMP104", "forkserver start method not available"),
        ("TMP101", "max_tasks_per_child is incompatible with the 'fork' multiprocessing start method"),
        ("TMP703", "Cannot re-initialize XPU in forked subprocess"),
        ("TMP801", "libgomp: Terminating: fork() called from a process already using GNU OpenMP, this is unsafe."),
        ("TMP801", "+[NSString initialize] may have been in progress in another thread when fork() was called."),
        ("TMP801", "tokenizers: The current process just got forked, after parallelism has already been used."),
        ("TMP401", "object of type 'NoneType' has no len()"),
        ("TMP603", "DataLoader worker (pid 7) is killed by signal: Aborted."),
        ("TMP303", "The environment 'pictures.lmdb' is already open in this process."),
        ("TMP303", "server closed the connection unexpectedly"),
        ("TMP303", "I/O operation on closed file."),
        ("TMP408", "[Errno 17] File exists: '/pictures'"),
        ("TMP701", "_SingleProcessDataLoaderIter requires timeout == 0"),
        ("TMP306", "Lock objects should only be shared between processes through inheritance"),
        ("TMP501", "[Errno 2] No such file or directory: 'data/train.csv'"),
        ("TMP601", "batch must contain tensors, numbers, dicts or lists; found <class 'NoneType'>"),
    ],
)
def test_a_message_is_known_without_the_exception_before_it(code: str, line: str) -> None:
    said = read_text(line).said
    assert max(said[0].message.causes, key=said[0].message.causes.__getitem__) == code


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("TMP404", "every worker draws the same crops"),
        ("TMP503", "masks and images are swapped on another machine"),
        ("TMP401", "workers see the default settings"),
        ("TMP406", "each sample comes twice with two workers, duplicate data"),
        ("TMP801", "deadlocks when threads run before the loader"),
        ("TMP301", "works on Linux, fails on Windows"),
    ],
)
def test_a_few_words_of_a_person_are_understood(code: str, words: str) -> None:
    causes = read_text(words).said[0].message.causes
    assert max(causes, key=causes.__getitem__) == code


def test_words_of_a_person_are_not_looked_for_in_an_output() -> None:
    assert not read_text("every worker draws the same crops\n" * 30).said
    (said,) = read_text(f"works on Linux, fails on Windows\n{LAMBDA}").said
    assert said.line == LAMBDA


def test_a_message_that_a_terminal_has_wrapped_is_read() -> None:
    printed = read_text(
        "RuntimeError: A SemLock created in a fork context is being shared with a\nprocess in a spawn context.\n"
    )
    assert [list(said.message.causes) for said in printed.said] == [["TMP106"]]


def test_a_message_repeated_by_each_worker_is_told_once() -> None:
    assert len(read_text(f"{LAMBDA}\n" * 50).said) == 1


def test_what_is_said_is_found_between_megabytes_of_other_output() -> None:
    def output() -> Iterator[str]:
        for number in range(50_000):
            yield f"epoch {number} loss 0.123456 accuracy 0.98 eta 00:12:34, {number} images processed\n"
            if number == 25_000:
                yield LAMBDA + "\n"

    assert len(read(output()).said) == 1


def test_what_has_come_counts_when_the_program_is_interrupted() -> None:
    def output() -> Iterator[str]:
        yield LAMBDA + "\n"
        raise KeyboardInterrupt

    assert len(read(output()).said) == 1


def test_a_line_without_end_is_no_burden() -> None:
    assert len(read(["x" * 10_000_000 + " " + LAMBDA]).said) == 1


def test_messages_name_rules_that_exist() -> None:
    known = {rule.code for rule in all_rules()}
    assert {code for message in MESSAGES for code in message.causes} <= known


def test_each_message_says_what_it_means_or_is_only_what_people_say() -> None:
    assert all(message.meaning or message.pattern.startswith("(?i)") for message in MESSAGES)
