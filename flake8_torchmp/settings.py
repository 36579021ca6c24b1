"""What a run is configured to look for: one frozen object, the same behind every door."""

from __future__ import annotations

from typing import NamedTuple

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
PLATFORMS = ("linux", "macos", "windows")
START_METHODS = ("fork", "spawn", "forkserver")


class Settings(NamedTuple):  # a dataclass would bring `inspect` into every start
    target_python: tuple[str, ...] = PYTHONS
    """The Python versions that the program runs on."""
    target_platforms: tuple[str, ...] = PLATFORMS
    """The platforms that it runs on."""
    target_torch: str = "2.0"
    """The oldest torch that it runs with."""
    dataset_bases: tuple[str, ...] = ()
    """Further classes whose subclasses are datasets: qualified names."""
    worker_functions: tuple[str, ...] = ()
    """Further functions of the project that run in worker processes: qualified names, globs allowed."""
    loaders: tuple[str, ...] = ()
    """Further callables that work like torch.utils.data.DataLoader: qualified names."""
    resource_openers: tuple[str, ...] = ()
    """Further callables that open a file, connection or the like: qualified names."""
    unpicklable_types: tuple[str, ...] = ()
    """Further callables whose results cannot be pickled: qualified names."""
    source_roots: tuple[str, ...] = ()
    """Folders, relative to the project's root, from which its modules are imported; found by themselves if empty."""
    start_method: str = "spawn"
    """The start method that messages and fixes recommend."""
    codes: tuple[str, ...] = ()
    """The rules that are asked at all, for those who want to know of a few alone; empty: all."""
