"""Questions have a budget of steps; what lies beyond it is unknown, but never what the program spells out."""

from __future__ import annotations

from pathlib import Path

from flake8_torchmp.engine import Project
from flake8_torchmp.semantics.answers import MOST_LARGE
from flake8_torchmp.semantics.values import Constant, Unknown
from flake8_torchmp.settings import Settings


def test_a_literal_is_known_where_the_budget_is_spent(tmp_path: Path) -> None:
    program = tmp_path / "options.py"
    program.write_text('method = "fork"\noptions = {"multiprocessing_context": method}\n')
    project = Project(tmp_path, Settings())
    module = project.codebase.module(str(program))
    assert module is not None
    evaluator = project.model.evaluator
    frame = evaluator.frame_of(module.scope)
    (literal,) = (binding.value for binding in module.scope.bindings["method"])
    (name,) = module.loads("method")
    assert literal is not None
    evaluator.steps = MOST_LARGE
    (known,) = evaluator.values(literal, frame)
    (unknown,) = evaluator.values(name, frame)
    assert isinstance(known, Constant) and known.value == "fork"
    assert isinstance(unknown, Unknown), "the budget was not spent, so the test says nothing"
