"""The hooks, run by pre-commit itself in a scratch repository, from the working tree as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixes.test_fix_command import BAD, GOOD, git

ROOT = Path(__file__).resolve().parent.parent.parent
NEEDED = ("flake8_torchmp", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

CONFIGURATION = """\
repos:
- repo: {repository}
  rev: {revision}
  hooks:
  - id: torchmp
  - id: torchmp-fix
  - id: torchmp-diff
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose hooks are those of the working tree; what pre-commit builds for it stays beside it."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "PRE_COMMIT"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "home"))
    hooks, scratch = tmp_path / "hooks", tmp_path / "scratch"
    hooks.mkdir()
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, hooks / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, hooks)
    git(hooks, "init", "-q")
    git(hooks, "add", ".")
    git(hooks, "commit", "-qm", "hooks")
    scratch.mkdir()
    git(scratch, "init", "-q")
    revision = git(hooks, "rev-parse", "HEAD").strip()
    (scratch / ".pre-commit-config.yaml").write_text(CONFIGURATION.format(repository=hooks, revision=revision))
    return scratch


def hook(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_hooks(scratch: Path) -> None:
    for number in range(30):
        (scratch / f"m{number}.py").write_text("x = 1\n")
    (scratch / "a.py").write_text(BAD)
    git(scratch, "add", ".")

    code, said = hook(scratch, "torchmp")
    assert code == 1
    assert said.count("a.py:12:15: TMP501") == 1, said

    code, said = hook(scratch, "torchmp-diff", "--hook-stage", "manual")
    assert code == 1
    assert '+texts = Texts(os.path.abspath("data/train"))' in said
    assert (scratch / "a.py").read_text() == BAD

    code, said = hook(scratch, "torchmp-fix")
    assert code == 1
    assert "files were modified by this hook" in said
    assert (scratch / "a.py").read_text() == GOOD

    git(scratch, "add", ".")
    assert hook(scratch)[0] == 0
    code, said = hook(scratch, "--hook-stage", "manual")
    assert (code, said.count("Passed")) == (0, 3), said
