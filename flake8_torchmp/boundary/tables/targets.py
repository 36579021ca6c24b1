"""The platforms and versions that a program is meant for, and their start methods."""

from __future__ import annotations

from flake8_torchmp.settings import Settings


def default_methods(settings: Settings) -> frozenset[str]:
    """The default start methods of the targets."""
    found: set[str] = set()
    for platform in settings.target_platforms:
        if platform != "linux":
            found.add("spawn")
            continue
        for version in settings.target_python:
            found.add("fork" if version_tuple(version) < (3, 14) else "forkserver")
    return frozenset(found)


def version_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def has_windows(settings: Settings) -> bool:
    return "windows" in settings.target_platforms
