"""Nothing that a file holds stops a run: no crash, no traceback, and the same answer whatever way it is asked for."""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

import hypothesmith
import pytest
from bad_files import BAD_FILES, STRANGE_FILES
from checking import lay_out
from circles import CIRCLES
from fixture_format import fixtures, read
from hypothesis import HealthCheck, given, settings, strategies

from flake8_torchmp import engine
from flake8_torchmp.findings import Finding
from flake8_torchmp.semantics.answers import MOST_LARGE
from flake8_torchmp.settings import Settings
from flake8_torchmp.source import project_root

PROGRAMS = fixtures()
WORDS = "import multiprocessing as mp\nfrom torch.utils.data import DataLoader, Dataset\n"
"""In front of a generated program, so that no prefilter leaves it out."""


NAMES = 24
LONG_WAY = "\n".join(
    [
        "from torch.utils.data import DataLoader, TensorDataset",
        "collate_0 = lambda samples: samples",
        *(f"collate_{number + 1} = collate_{number}" for number in range(NAMES)),
        'if __name__ == "__main__":',
        f"    loader = DataLoader(TensorDataset(), collate_fn=collate_{NAMES}, num_workers=2,",
        '                        multiprocessing_context="spawn")',
    ]
)


def crashes(paths: list[str]) -> list[str]:
    """What rules crashed on. A file that Python itself refuses is no crash."""
    return [
        f"{path}:{one.line}: {one.message}"
        for path, findings, _ in engine.check(paths, Settings())
        for one in findings
        if one.code == "TMP000"
    ]


def python_files(folder: str, leave_out: tuple[str, ...] = ()) -> list[str]:
    return sorted(
        os.path.join(parent, name)
        for parent, folders, names in os.walk(folder)
        if not _prune(folders, leave_out)
        for name in names
        if name.endswith(".py")
    )


def _prune(folders: list[str], leave_out: tuple[str, ...]) -> bool:
    folders[:] = [name for name in folders if name not in leave_out]
    return False


def test_standard_library_with_its_tests() -> None:
    files = python_files(sysconfig.get_path("stdlib"), leave_out=("site-packages",))
    assert len(files) > 500
    assert crashes(files) == []


def test_installed_packages() -> None:
    """Each a project of its own; the largest are left to the slow test."""
    assert [problem for package in packages(most=60) for problem in crashes_in_project(package)] == []


@pytest.mark.slow
def test_largest_installed_packages() -> None:
    large = [package for package in packages(most=10**6) if package not in packages(most=60)]
    assert [problem for package in large for problem in crashes_in_project(package)] == []


def packages(most: int) -> list[Path]:
    """The installed packages that have at most so many files."""
    folder = Path(sysconfig.get_path("purelib"))
    found = sorted(init.parent for init in folder.glob("*/__init__.py"))
    return [package for package in found if len(python_files(str(package))) <= most]


def crashes_in_project(root: Path) -> list[str]:
    project = engine.Project(root, Settings())
    return [
        f"{path}:{one.line}: {one.message}"
        for path in python_files(str(root))
        for one in project.findings(path)
        if one.code == "TMP000"
    ]


def test_prefilter_loses_nothing(tmp_path: Path) -> None:
    """Nothing comes from the files that are not looked into, if they are looked into all the same."""
    lay_out(PROGRAMS, tmp_path)
    paths = [str(tmp_path / program.name / file) for program in PROGRAMS for file in program.files]
    library = python_files(sysconfig.get_path("stdlib"), leave_out=("site-packages",))
    paths += random.Random(0).sample(library, min(300, len(library)))
    projects: dict[Path, engine.Project] = {}
    left_out = 0
    for path in paths:
        root = project_root(path)
        project = projects.setdefault(root, engine.Project(root, Settings()))
        if not project.is_seed(path):
            left_out += 1
            for one in project.findings_from(path):
                assert one[:4] in {other[:4] for other in project.findings(one.path)}, path
    assert left_out


def findings_in(source: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(source, encoding="utf-8")
    assert crashes([str(path)]) == []


def generated(examples: int) -> settings:
    """The same programs in each run."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@generated(60)
@given(source=hypothesmith.from_node())
def test_generated_programs(source: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    findings_in(WORDS + source, tmp_path_factory.mktemp("generated"))


class Grafter(ast.NodeTransformer):
    """Puts expressions of one program into another: what no one writes, but every piece of it means something."""

    def __init__(self, graft: ast.Module, seed: int) -> None:
        self.random = random.Random(seed)
        self.expressions = [node for node in ast.walk(graft) if isinstance(node, ast.expr)]
        self.statements = [node for node in ast.walk(graft) if isinstance(node, ast.stmt)]

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            if self.random.random() < 0.06:
                loads = [one for one in self.expressions if isinstance(getattr(one, "ctx", ast.Load()), ast.Load)]
                return self.random.choice(loads)
        elif isinstance(node, ast.stmt) and self.random.random() < 0.04:
            return self.random.choice(self.statements)
        return super().generic_visit(node)


@generated(400)
@given(seed=strategies.integers(0, 10**9))
def test_grafted_programs(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    chosen = random.Random(seed)
    host, graft = (ast.parse(_source(chosen.choice(PROGRAMS).path)) for _ in range(2))
    try:
        grown = ast.unparse(ast.fix_missing_locations(Grafter(graft, seed).visit(host)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(grown)
    except (SyntaxError, ValueError, AttributeError):  # a statement or an f-string that cannot hold the graft
        return
    findings_in(WORDS + grown, tmp_path_factory.mktemp("grafted"))


def _source(path: Path) -> str:
    return read(path / "main.py" if path.is_dir() else path)


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_is_one_clear_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(BAD_FILES[name])
    ((told, findings, problem),) = engine.check([str(path)], Settings())
    assert told == str(path)
    assert [one for one in findings if one.code == "TMP000"] == []
    assert len(problem.splitlines()) == 1


@pytest.mark.parametrize("name", STRANGE_FILES)
def test_strange_file_is_checked(name: str, tmp_path: Path) -> None:
    path = tmp_path / "strange.py"
    path.write_bytes(STRANGE_FILES[name].data)
    ((_, findings, problem),) = engine.check([str(path)], Settings())
    assert problem == ""
    said = [(one.line, one.column, one.code) for one in findings if one.code in ("TMP000", "TMP301")]
    assert said == STRANGE_FILES[name].said


def test_findings_are_the_same_from_deep_in_a_program(tmp_path: Path) -> None:
    path = tmp_path / "strange.py"
    path.write_text(LONG_WAY, encoding="utf-8")

    def asked_from(calls: int) -> list[str]:
        if calls:
            return asked_from(calls - 1)
        ((_, findings, problem),) = engine.check([str(path)], Settings())
        assert problem == ""
        return [one.code for one in findings]

    assert asked_from(0) == asked_from(sys.getrecursionlimit() - 200) == ["TMP301"]


def test_a_run_goes_on_after_bad_files(tmp_path: Path) -> None:
    for number, data in enumerate(BAD_FILES.values()):
        (tmp_path / f"bad{number}.py").write_bytes(data)
    (tmp_path / "zz_last.py").write_bytes(STRANGE_FILES["plain"].data)
    (tmp_path / "link.py").symlink_to("link.py")
    (tmp_path / "round").mkdir()
    (tmp_path / "round" / "round").symlink_to("..", target_is_directory=True)
    done = torchmp("check", ".", folder=tmp_path)
    assert done.returncode in (1, 2)
    assert "zz_last.py" in done.stdout
    assert "TMP301" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "TMP000" not in done.stdout


def test_modules_in_circles(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").touch()
    for path, source in CIRCLES.items():
        target = tmp_path / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(WORDS + source, encoding="utf-8")
    assert crashes([str(tmp_path / path) for path in CIRCLES]) == []


def torchmp(*arguments: str, folder: Path, seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flake8_torchmp", *arguments],
        cwd=folder,
        env=dict(os.environ, PYTHONHASHSEED=seed),
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.fixture(scope="module")
def one_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All fixtures in one project: their modules have the same names, and questions about callers go far."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "setup.cfg").touch()
    for program in PROGRAMS:
        program.copy(folder / program.name)
    return folder


def test_what_is_kept_does_not_depend_on_what_was_asked_before(one_project: Path) -> None:
    """A question that has taken all the steps it may is no reason to cut off the answers that later ones share."""

    def answers(steps: int) -> dict[str, object]:
        project = engine.Project(one_project, Settings())
        model = project.model
        told: dict[str, object] = {}
        for path in project.seeds(project.codebase.files):
            module = project.codebase.module(path)
            if module is not None:
                model.start_afresh()
                model.evaluator.steps = steps
                told[path] = (
                    [(worker.scope.place, worker.kind, worker.reached_from) for worker in model.workers.of(module)],
                    [(one.text, one.has_workers, len(one.hanging)) for one in model.crossings.of(module)],
                    [len(handed.way) for handed in model.handed_over(module)],
                    [list(model.lifetimes.kept(cls)) for cls in model.datasets.of(module)],
                )
        return told

    assert answers(MOST_LARGE) == answers(0)


def test_findings_do_not_depend_on_the_order_of_files(one_project: Path) -> None:
    def findings(step: int) -> dict[str, list[Finding]]:
        project = engine.Project(one_project, Settings())
        return {path: project.findings_from(path) for path in project.seeds(project.codebase.files)[::step]}

    assert findings(1) == findings(-1)


def test_hash_seed_jobs_and_cache_change_nothing(one_project: Path) -> None:
    arguments = ("check", "--format", "json", ".")
    usual = torchmp(*arguments, "--jobs", "2", folder=one_project)
    others = [
        torchmp(*arguments, "--jobs", "2", folder=one_project),
        torchmp(*arguments, "--jobs", "1", "--no-cache", folder=one_project, seed="1"),
    ]
    assert list((one_project / ".torchmp_cache").glob("*.jsonl"))
    for other in others:
        assert (other.returncode, other.stdout, other.stderr) == (usual.returncode, usual.stdout, usual.stderr)
    assert usual.returncode == 1
