"""What the fixtures give to the tests of the doors."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


class Project(Protocol):
    def __call__(self, **files: str | bytes) -> Path: ...


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Command(Protocol):
    def __call__(self, *arguments: str) -> Result: ...


def plugin_arguments(folder: Path) -> list[str]:
    """What makes flake8 load the plugin where it is not installed, and nothing but the plugin speak."""
    installed = any(point.name == "TMP" for point in entry_points(group="flake8.extension"))
    if installed:
        return ["--extend-ignore=E,W,F,C"]
    local = folder / "local-plugin.cfg"
    local.write_text("[flake8:local-plugins]\nextension =\n    TMP = flake8_torchmp.plugin:Plugin\n")
    return [f"--append-config={local}", "--extend-ignore=E,W,F,C"]
