"""Options of the test run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--starts",
        choices=["one", "all"],
        default="one",
        help="run each fixture under one of the start methods that it names, or every fixture under all of them",
    )
