"""`torchmp`, and `python -m flake8_torchmp`."""

from __future__ import annotations

import sys


def main() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):  # before anything else is imported
        from flake8_torchmp import __version__

        print(f"torchmp {__version__}")
        return 0
    from flake8_torchmp.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
