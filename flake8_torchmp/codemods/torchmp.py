"""One command for all fixes, and one for each codemod. Each fix is checked as `torchmp fix` does it."""

from __future__ import annotations

import importlib
import os
import pkgutil
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext

from flake8_torchmp import fixes, source
from flake8_torchmp.cli.noqa import comments_of
from flake8_torchmp.cli.selection import Selection
from flake8_torchmp.engine import Project
from flake8_torchmp.findings import Finding
from flake8_torchmp.fixes.engine import Wishes, mend
from flake8_torchmp.options.configuration import Configurations
from flake8_torchmp.settings import Settings

_NOWHERE = os.path.join(os.sep, "torchmp: standard input")
"""The folder of a text that has no file: nothing lies beside it."""


class Command(CodemodCommand):
    @property
    @abstractmethod
    def codemod(self) -> str:
        """The module of `fixes` whose changes it makes; all of them where it names none."""

    def __init__(self, context: CodemodContext, unsafe_fixes: bool = False) -> None:
        super().__init__(context)
        self._unsafe = unsafe_fixes

    @staticmethod
    def add_args(arg_parser: ArgumentParser) -> None:
        arg_parser.add_argument(
            "--unsafe-fixes", action="store_true", help="make changes, too, that may change what the program does"
        )

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        name = self.context.filename
        path = os.path.abspath(name) if name else os.path.join(_NOWHERE, "stdin.py")
        data = tree.bytes
        configuration = Configurations().for_file(path) if name else Configurations().for_folder(os.getcwd())
        root = str(source.project_root(path)) if name else _NOWHERE
        project = _project(root, configuration.settings)
        if project.codebase.data(path) != data:
            project = project.changed({path: data})
        selection = Selection(configuration)

        def is_wanted(finding: Finding, now: bytes) -> bool:
            if self.codemod and (finding.repair is None or finding.repair.codemod != self.codemod):
                return False
            comments = comments_of(now)
            silent = comments is not None and (comments.whole_file or comments.silence(finding.line, finding.code))
            return not silent and selection.reports(finding.path, finding.code)

        def hindrance(other: str) -> str:
            return "" if other == path else f"{os.path.basename(other)} would have to change, too"

        def changed(contents: Mapping[str, bytes]) -> Project:
            return project.changed({path: data, **contents})

        by_seed = {seed: project.findings_from(seed) for seed in project.seeds([path])}
        outcome = mend(changed, project, by_seed, [path], Wishes(self._unsafe, is_wanted, hindrance))
        for left in outcome.left:
            self.warn(f"line {left.finding.line}: {left.finding.code} left: {left.reason}")
        if path not in outcome.files:
            return tree
        return cst.parse_module(outcome.files[path][1].decode(source.encoding(data)), tree.config_for_parsing)


@cache
def _project(root: str, settings: Settings) -> Project:
    """One for each process: libcst makes a command anew for each file."""
    return Project(Path(root), settings)


class FixCommand(Command):
    codemod = ""
    DESCRIPTION = "Mends all that torchmp finds and knows how to mend safely."


def _command(codemod: str, page: str) -> type[Command]:
    name = "".join(word.capitalize() for word in codemod.split("_")) + "Command"
    sentence = " ".join(page.split("\n\n", maxsplit=1)[0].split())
    return type(name, (Command,), {"codemod": codemod, "DESCRIPTION": sentence, "__module__": __name__})


for _found in pkgutil.iter_modules(fixes.__path__):
    _module = importlib.import_module(f"{fixes.__name__}.{_found.name}")
    if callable(getattr(_module, "change", None)):
        _made = _command(_found.name, _module.__doc__ or "")
        globals()[_made.__name__] = _made
