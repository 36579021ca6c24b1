"""The `torchmp` command: arguments in, findings out."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FINDINGS = 1
COULD_NOT_RUN = 2
INTERRUPTED = 130


def run(arguments: Sequence[str]) -> int:
    from flake8_torchmp.options.configuration import ConfigurationError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    try:
        code = _command(arguments)
        sys.stdout.flush()
        return code
    except ConfigurationError as error:
        print(f"torchmp: error: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except Exception:
        import traceback

        traceback.print_exc()
        print("torchmp: error: this is a defect of torchmp, which had to stop", file=sys.stderr)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print("torchmp: interrupted", file=sys.stderr)
        return INTERRUPTED


def _command(given: Sequence[str]) -> int:
    from flake8_torchmp.cli.arguments import parser

    arguments = parser().parse_args(given)
    if arguments.command == "check":
        from flake8_torchmp.cli.check import check

        return check(arguments)
    if arguments.command == "fix":
        from flake8_torchmp.cli.fix import fix

        return fix(arguments)
    if arguments.command == "noqa":
        from flake8_torchmp.cli.silence import silence

        return silence(arguments)
    if arguments.command == "diagnose":
        from flake8_torchmp.cli.diagnose import diagnose

        return diagnose(arguments)
    if arguments.command == "doctor":
        from flake8_torchmp.cli.doctor import doctor

        return doctor(arguments)
    if arguments.command == "config":
        from flake8_torchmp.cli.in_force import show_configuration

        return show_configuration(arguments)
    from flake8_torchmp.cli.catalogue import show_rule, show_rules

    return show_rule(arguments.rule) if arguments.command == "rule" else show_rules(arguments.format)
