"""Files that people really have, and that break tools which expect a clean one."""

from __future__ import annotations

import sys
from typing import NamedTuple

PROGRAM = b"""\
from torch.utils.data import DataLoader


def load(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda batch: batch)
"""


class Strange(NamedTuple):
    data: bytes
    said: list[tuple[int, int, str]]
    """(line, column from 0, code)"""


BAD_FILES = {
    "null bytes": PROGRAM + b"x = '\0'\n",
    "not UTF-8": PROGRAM + b"name = 'caf\xe9'\n",
    "unknown encoding": b"# coding: klingon\n" + PROGRAM,
    "an encoding that is none of text": b"# coding: hex\n" + PROGRAM,
    "UTF-16 in the middle": PROGRAM + "# and a comment".encode("utf-16-le"),
    "byte-order mark against cookie": b"\xef\xbb\xbf# coding: latin-1\n" + PROGRAM,
    "Python 2": PROGRAM + b"print 'done'\n",
    "indentation": PROGRAM + b"  x = 1\n",
    "tabs and spaces": PROGRAM + b"if 1:\n        x = 1\n\ty = 2\n",
    "cut off": PROGRAM[:-10],
    "open string": PROGRAM + b"'''\n",
    "conflict": PROGRAM + b"<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> main\n",
    "template": PROGRAM + b"{{ cookiecutter.name }} = 1\n{% if x %}\n",
    "nested too deeply": PROGRAM + b"x = " + b"(" * 5000 + b"1" + b")" * 5000 + b"\n",
    "indented too deeply": PROGRAM + b"".join(b" " * n + b"if x:\n" for n in range(150)) + b" " * 150 + b"pass\n",
    "a minus too many": PROGRAM + b"x = " + b"-" * 100_000 + b"1\n",
    "random bytes": PROGRAM + bytes(n * 7919 % 256 for n in range(5000)),
}

if sys.version_info >= (3, 11):  # before, it can be parsed
    BAD_FILES["attributes without end"] = PROGRAM + b"x = a" + b".b" * 100_000 + b"\n"

ROUND_THE_BLOCK = b"""
import multiprocessing as mp
import threading
from multiprocessing.pool import ThreadPool


class Loaders:
    def __enter__(self):
        self.threads = main()
        for thread in []:
            thread.start()

    def __exit__(self, *reason):
        for thread in []:
            thread.join()


def main():
    pool = ThreadPool(2)
    with Loaders():
        pass
    with mp.Pool(1):
        pass


if __name__ == "__main__":
    main()
"""

STRANGE_FILES = {
    "plain": Strange(PROGRAM, [(5, 57, "TMP301")]),
    "empty": Strange(b"", []),
    "byte-order mark alone": Strange(b"\xef\xbb\xbf", []),
    "byte-order mark": Strange(b"\xef\xbb\xbf" + PROGRAM, [(5, 57, "TMP301")]),
    "CRLF": Strange(PROGRAM.replace(b"\n", b"\r\n"), [(5, 57, "TMP301")]),
    "CR": Strange(PROGRAM.replace(b"\n", b"\r"), [(5, 57, "TMP301")]),
    "no line end at the end": Strange(PROGRAM.rstrip(), [(5, 57, "TMP301")]),
    "form feed": Strange(PROGRAM.replace(b"\n\n\n", b"\n\x0c\n\n"), [(5, 57, "TMP301")]),
    "form feed in a string": Strange(b"x = 'a\x0cb\x0bc\x1cd'\n" + PROGRAM, [(6, 57, "TMP301")]),
    "line separator in a string": Strange("x = 'a\u2028b\u0085c'\n".encode() + PROGRAM, [(6, 57, "TMP301")]),
    "latin-1": Strange(b"# coding: latin-1\nx = 'caf\xe9'\n" + PROGRAM, [(7, 57, "TMP301")]),
    "wide characters before it": Strange(
        PROGRAM.replace(b"dataset, num", "'äöü🦊', num".encode()), [(5, 56, "TMP301")]
    ),
    "a huge line": Strange(PROGRAM + b"x = [" + b"'abcdefgh', " * 200_000 + b"]\n", [(5, 57, "TMP301")]),
    "a long sum": Strange(PROGRAM + b"x = " + b"1 + " * 900 + b"1\n", [(5, 57, "TMP301")]),
    "a long chain of calls": Strange(PROGRAM + b"x = q" + b".where(1)" * 300 + b"\n", [(5, 57, "TMP301")]),
    "a long elif": Strange(
        PROGRAM + b"if x == 0:\n    y = 0\n" + b"".join(b"elif x == %d:\n    y = %d\n" % (n, n) for n in range(1, 300)),
        [(5, 57, "TMP301")],
    ),
    "many functions": Strange(
        PROGRAM + b"".join(b"def f%d(x):\n    return f%d(x)\n" % (n, n + 1) for n in range(3000)),
        [(5, 57, "TMP301")],
    ),
    "a block that is entered on the way into it": Strange(PROGRAM + ROUND_THE_BLOCK, [(5, 57, "TMP301")]),
}
