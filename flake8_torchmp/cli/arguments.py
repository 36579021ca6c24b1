"""The command line, made from the table of options."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter, _ArgumentGroup
from collections.abc import Callable
from functools import partial
from typing import Any

from flake8_torchmp import __version__
from flake8_torchmp.options import COMMAND, OPTIONS, SETTINGS, Option
from flake8_torchmp.options.configuration import Chosen, choose
from flake8_torchmp.settings import START_METHODS

_CHECK = """\
Checks files, and the Python files below folders, for code that breaks once it runs in worker processes.

Files that git ignores are left out, and so are virtual environments; a file that is named is checked unless
--exclude leaves it out. `# noqa` means what it means in flake8."""

_EXIT_CODES = """\
exit codes:
  0  nothing found
  1  findings, or files that cannot be read, decoded or parsed, as flake8 has it with E902 and E999
     (each is one line on standard error, and the run goes on)
  2  it could not run as asked: a wrong option, a path that does not exist"""

_FIX = """\
Mends what can be mended. Each fix is checked: it stays only if its finding is gone and no other came.

Files keep their encoding, line ends and mode, and are replaced in one step. Findings that `# noqa` silences and files
that say that they are generated are left alone."""

_EXIT_CODES_OF_FIX = """\
exit codes:
  0  it did its work, also where findings are left
  1  something was changed, or would be with --diff, and --exit-non-zero-on-fix was given
  2  it could not run: a wrong option, a path that does not exist"""

_NOQA = """\
Adds `# noqa: CODE` comments for what is found, where flake8 honours them, so that a project can begin with new code."""

_DIAGNOSE = """\
Reads what a program printed, a file or standard input, and says which line is behind it:
`python train.py 2>&1 | torchmp diagnose -`. Tracebacks may be mixed with other output."""

_ANSWERS = """\
exit codes:
  0  an answer
  1  nothing known explains it
  2  could not run"""

_DOCTOR = """\
Imports MODULE and runs OBJECT, which is your code, in processes of its own with time limits, and says
what happens. OBJECT is a DataLoader, a Dataset, or a function without required arguments that returns one;
path/to/file.py:OBJECT works, too. The doctor reads samples, pickles what crosses to workers, and climbs the
ladder of 0, 1, 2, 4... workers under each start method."""

_HEALTH = """\
exit codes:
  0  healthy
  1  problems
  2  could not run: the module cannot be imported, there is no such object, no torch"""

_HELP = partial(RawDescriptionHelpFormatter, width=100, max_help_position=28)
"""Without a width argparse asks for the terminal's, at every start, by a module that takes a tenth of it to load."""


class _Parser(ArgumentParser):
    """Also the class of the parsers of its commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_HELP, allow_abbrev=False, **options)


def parser() -> ArgumentParser:
    top = _Parser(
        prog="torchmp",
        description="Finds code that breaks, hangs or silently lies once a PyTorch program runs in worker processes.",
    )
    top.add_argument("-V", "--version", action="version", version=f"torchmp {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    check = commands.add_parser("check", help="check files and folders", description=_CHECK, epilog=_EXIT_CODES)
    check.add_argument("paths", nargs="*", metavar="PATH", help="file or folder (default: .); - is standard input")
    _add_run(check)
    for title, options in (("what is reported", COMMAND), ("what the program runs on and is made of", SETTINGS)):
        _add_options(check.add_argument_group(title), options)

    fix = commands.add_parser("fix", help="mend findings", description=_FIX, epilog=_EXIT_CODES_OF_FIX)
    fix.add_argument("paths", nargs="*", metavar="PATH", help="file or folder (default: .); - is standard input")
    _add_fix(fix)
    _add_options(fix.add_argument_group("what is fixed"), tuple(one for one in COMMAND if one.name != "format"))
    _add_options(fix.add_argument_group("what the program runs on and is made of"), SETTINGS)

    noqa = commands.add_parser("noqa", help="silence findings by comments", description=_NOQA)
    noqa.add_argument("paths", nargs="*", metavar="PATH", help="file or folder (default: .)")
    noqa.add_argument("--config", metavar="FILE", default="", help="the pyproject.toml that counts for every file")
    noqa.add_argument("--jobs", "-j", metavar="N", type=_jobs, default=0, help="processes (default: auto)")
    _add_options(noqa.add_argument_group("what is silenced"), tuple(one for one in COMMAND if one.name != "format"))
    _add_options(noqa.add_argument_group("what the program runs on and is made of"), SETTINGS)

    diagnose = commands.add_parser(
        "diagnose", help="find the line behind an error message", description=_DIAGNOSE, epilog=_ANSWERS
    )
    diagnose.add_argument("file", nargs="?", default="-", metavar="FILE", help="what was printed (default: -)")
    diagnose.add_argument("--root", metavar="FOLDER", default=".", help="where the program's code lies (default: .)")
    diagnose.add_argument("--format", choices=("text", "json"), default="text")

    doctor = commands.add_parser(
        "doctor", help="run a loader and say what ails it", description=_DOCTOR, epilog=_HEALTH
    )
    _add_doctor(doctor)

    rules = commands.add_parser("rules", help="list the rules")
    rules.add_argument("--format", choices=("table", "json"), default="table")

    rule = commands.add_parser("rule", help="show the page of a rule")
    rule.add_argument("rule", metavar="RULE", help="a code such as TMP301, or a name such as lambda-to-worker")

    config = commands.add_parser("config", help="show what is in force and where it comes from")
    config.add_argument("path", nargs="?", default=".", metavar="PATH", help="the file or folder in question")
    config.add_argument("--config", metavar="FILE", default="", help="the pyproject.toml that counts")
    _add_options(config.add_argument_group("options of torchmp check"), OPTIONS)
    return top


def _add_run(check: ArgumentParser) -> None:
    check.add_argument("--config", metavar="FILE", default="", help="the pyproject.toml that counts for every file")
    check.add_argument("--baseline", metavar="FILE", default="", help="report only findings that are not in this file")
    check.add_argument(
        "--write-baseline",
        nargs="?",
        metavar="FILE",
        const=True,
        default="",
        help="make the baseline what is found now",
    )
    check.add_argument("--disable-noqa", action="store_true", help="report what `# noqa` silences, too")
    check.add_argument("--statistics", action="store_true", help="count the findings of each code")
    check.add_argument("--output-file", metavar="FILE", default="", help="write the findings there")
    check.add_argument("--stdin-filename", metavar="NAME", default="", help="the file that standard input stands for")
    check.add_argument("--no-cache", action="store_true", help="check anew what was checked before")
    check.add_argument(
        "--cache-dir", metavar="DIR", default="", help="where answers are kept (default: .torchmp_cache in the project)"
    )
    check.add_argument("--exit-zero", action="store_true", help="exit with 0 where there are findings")
    check.add_argument("--jobs", "-j", metavar="N", type=_jobs, default=0, help="processes (default: auto)")


def _add_fix(fix: ArgumentParser) -> None:
    fix.add_argument("--unsafe-fixes", action="store_true", help="apply fixes that may change what the program does")
    fix.add_argument("--diff", action="store_true", help="write nothing; show the changes as a patch")
    fix.add_argument("--exit-non-zero-on-fix", action="store_true", help="exit with 1 where something was changed")
    fix.add_argument("--summary", metavar="FILE", default="", help="write a table in Markdown, fit for a pull request")
    fix.add_argument("--format", dest="style", choices=("text", "json"), default="text", help="of the report")
    fix.add_argument("--config", metavar="FILE", default="", help="the pyproject.toml that counts for every file")
    fix.add_argument("--stdin-filename", metavar="NAME", default="", help="the file that standard input stands for")
    fix.add_argument("--jobs", "-j", metavar="N", type=_jobs, default=0, help="processes (default: auto)")


def _add_doctor(doctor: ArgumentParser) -> None:
    doctor.add_argument("target", metavar="MODULE:OBJECT", help="what is examined")
    doctor.add_argument(
        "--workers",
        metavar="N,N",
        type=_counts,
        default=(),
        help="rungs of the ladder (default: 0,1,2,4... processors)",
    )
    doctor.add_argument(
        "--start-methods", metavar="M,M", type=_start_methods, default=(), help="default: all that the platform has"
    )
    doctor.add_argument(
        "--samples", metavar="N", type=_positive(int), default=64, help="how many are read (default: 64)"
    )
    doctor.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_positive(float),
        default=60.0,
        help="a step that shows no sign of life for so long hangs (default: 60)",
    )
    doctor.add_argument(
        "--measure", metavar="SECONDS", type=_positive(float), default=3.0, help="reading time of a rung (default: 3)"
    )
    doctor.add_argument(
        "--python", metavar="PROGRAM", default=sys.executable, help="the interpreter with torch (default: this one)"
    )
    doctor.add_argument("--format", choices=("text", "json"), default="text")
    doctor.add_argument("--html", metavar="FILE", default="", help="also write a page with curves and source")


def _counts(text: str) -> tuple[int, ...]:
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise ArgumentTypeError(f"{text!r} is not a list of numbers such as 0,2,4")
    return tuple(sorted({int(part) for part in text.split(",")}))


def _start_methods(text: str) -> tuple[str, ...]:
    methods = tuple(part.strip() for part in text.split(","))
    if unknown := [one for one in methods if one not in START_METHODS]:
        raise ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(START_METHODS)}")
    return methods


def _positive(kind: type[int | float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise ArgumentTypeError(f"{text!r} is not a number above 0")
        return value

    return number


def _add_options(group: _ArgumentGroup, options: tuple[Option, ...]) -> None:
    for option in options:
        default = option.default if isinstance(option.default, str) else ",".join(map(str, option.default or ()))
        text = option.help + (f" (default: {default})" if default and "by default" not in option.help else "")
        group.add_argument(f"--{option.name}", metavar=option.metavar, help=text.replace("%", "%%"))


def _jobs(text: str) -> int:
    """A number of processes; 0 for as many as there are processors."""
    if text == "auto":
        return 0
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is neither a number from 1 nor auto")
    return int(text)


def given_options(arguments: Namespace) -> dict[str, Chosen]:
    """The options that stand on the command line."""
    return {
        option.name: choose(option, raw, f"--{option.name}", os.getcwd())
        for option in OPTIONS
        if (raw := getattr(arguments, option.attribute, None)) is not None
    }
