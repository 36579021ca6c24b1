from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from doors import stand_in_engine
from doors.calling import Command, Project, Result, plugin_arguments

import flake8_torchmp

STAND_IN = Path(__file__).parent / "stand_in"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """No door needs a rule to be tested."""
    for name, module in stand_in_engine.modules().items():
        monkeypatch.setitem(sys.modules, f"flake8_torchmp.{name}", module)
        monkeypatch.setattr(flake8_torchmp, name, module, raising=False)
    monkeypatch.setattr(stand_in_engine, "JOBS", [])
    monkeypatch.setattr(stand_in_engine, "CACHES", [])
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Writes files (`src__a_py` is src/a.py) and makes their folder the current one."""

    def write(**files: str | bytes) -> Path:
        for name, content in files.items():
            path = tmp_path / name.replace("__", "/").replace("_toml", ".toml").replace("_cfg", ".cfg").replace(
                "_py", ".py"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


@pytest.fixture
def torchmp(capsys: pytest.CaptureFixture[str]) -> Command:
    from flake8_torchmp.cli import run

    def call(*arguments: str) -> Result:
        try:
            code = run(arguments)
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def flake8(tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]) -> Command:
    """flake8 in this process."""
    from flake8.main.application import Application  # type: ignore[import-untyped]

    loading = plugin_arguments(tmp_path_factory.mktemp("plugin"))

    def call(*arguments: str) -> Result:
        application = Application()
        application.run([*loading, "-j1", *arguments])
        captured = capsys.readouterr()
        return Result(application.exit_code(), captured.out, captured.err)

    return call


@pytest.fixture
def environment() -> dict[str, str]:
    """For programs that a test starts: they have the stand-in as well."""
    paths = [str(STAND_IN), str(STAND_IN.parent.parent), str(Path(flake8_torchmp.__file__).parent.parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}
