"""The fixes as commands of libcst: `python -m libcst.tool codemod -x flake8_torchmp.codemods.FixCommand PATH`.

They are made from the modules of `fixes`, in torchmp.py; `libcst.tool list` finds them there if `.libcst.codemod.yaml`
names this package among its modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .torchmp import Command


def __getattr__(name: str) -> type[Command]:
    if name.endswith("Command"):
        from . import torchmp

        command: type[Command] | None = getattr(torchmp, name, None)
        if command is not None:
            return command
    raise AttributeError(name)
