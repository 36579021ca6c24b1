"""How findings are written: one module a format, found by its name. Each has `write(findings, stream, context)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flake8_torchmp.findings import Finding


class RulePage(Protocol):
    """What a report says about a rule."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def page(self) -> str: ...
    @property
    def default(self) -> bool: ...


class Context(NamedTuple):
    """What a report may need besides the findings. Paths, there and here, are as people should see them."""

    version: str
    lines: Callable[[str], list[str]]
    """The lines of a file, none if it cannot be read."""
    rules: Callable[[], Sequence[RulePage]]
    problems: Sequence[tuple[str, str]] = ()
    """Files that could not be checked, and why."""
    unicode: bool = True
    """Whether the stream takes more than ASCII."""

    def line(self, path: str, number: int) -> str:
        lines = self.lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""


class Report(Protocol):
    def write(self, findings: Sequence[Finding], stream: TextIO, context: Context) -> None: ...


def names() -> tuple[str, ...]:
    from pkgutil import iter_modules

    return tuple(sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_")))


def named(name: str) -> Report | None:
    if not name.isidentifier() or name.startswith("_"):
        return None
    try:
        return cast("Report", import_module(f"{__name__}.{name}"))
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        return None


def fingerprints(findings: Sequence[Finding], context: Context) -> list[str]:
    """For each finding a name that stays the same when lines are added above: file, code and text of the line.

    The second finding of a code on lines of the same text in a file is told apart by its number.
    """
    from hashlib import sha256  # few formats need it

    seen: dict[str, int] = {}
    prints = []
    for finding in findings:
        text = "".join(context.line(finding.path, finding.line).split())
        key = "\0".join((finding.path.replace("\\", "/"), finding.code, text))
        seen[key] = seen.get(key, 0) + 1
        digest = sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        prints.append(f"{digest}:{seen[key]}")
    return prints
