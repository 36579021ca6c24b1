"""What runs when a module is imported, and starts processes, goes under `if __name__ == "__main__":`.

With it go the statements before it that only serve it, and all behind it that is more than a definition; an existing
guard takes them up, else a new one stands where the last of them stood. Definitions, imports and constants that
functions read stay outside, where a spawned child finds them, as do values above all that moves. Comments and blank
lines go along. A test that was meant as a guard is replaced by one that is. Safe where no other module of the project
imports this one. Refused where it is an import that starts the processes, where other code shares the lines, and in a
notebook of `# %%` cells.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from flake8_torchmp.findings import Repair
from flake8_torchmp.semantics.nodes import DEFINITIONS, last_name, root_name

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .outline import Outline, outline_of

_CELL = re.compile(r"^# ?%%", re.MULTILINE)
TEST = '__name__ == "__main__"'
HEADER = f"if {TEST}:"

PLAIN_CALLS = frozenset(
    "Path PurePath abspath basename bool compile cpu_count device dict dirname expanduser float format frozenset get "
    "getLogger getenv int join len list max min namedtuple range replace resolve round set sorted split str strip sum "
    "timedelta tuple TypeVar NewType NamedTuple SimpleNamespace".split()
)
"""Calls that make a value and do nothing else."""

LOGGING = frozenset("setLevel addHandler addFilter".split())

WRITING = frozenset("makedirs mkdir mkdirs copyfile copy copytree save savez dump".split())

SEEDS = frozenset("manual_seed manual_seed_all seed seed_everything set_seed fix_seed seed_all".split())


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    if _CELL.search(document.text):
        raise NotFixable("the file is a notebook: its cells cannot stand under a guard")
    outline = outline_of(document)
    place = outline.offset(repair.line, repair.column)
    run = Run(document, statement_at(outline, place))
    notes = dict(repair.notes)
    importers = [documents[path] for path in notes.get("imported", "").splitlines()]
    own_imports = set(map(int, notes.get("own_imports", "").split()))
    edits = run.as_real_guard() or run.guarded(run.serving(own_imports), importers)
    return Change(tuple(edits), not importers, "what starts processes runs under the main guard")


def statement_at(outline: Outline, place: int) -> ast.stmt:
    """The statement of module level that holds a place."""
    for statement in outline.tree.body:
        if outline.line_offset(outline.first_line(statement)) <= place < outline.end(statement):
            return statement
    raise NotFixable("it stands in no statement")


class Run:
    """The part of a module that runs, seen from the statement that starts processes."""

    def __init__(self, document: Document, first: ast.stmt) -> None:
        if isinstance(first, ast.Import | ast.ImportFrom):
            raise NotFixable("it is an import that starts the processes")
        if isinstance(first, ast.If) and _is_main_test(first.test):
            raise NotFixable("it stands under the main guard already")
        self.document = document
        self.outline: Outline = outline_of(document)
        self.first = first
        self.body = self.outline.tree.body
        self.index = self.body.index(first)
        self._tops = {
            id(binding): self.outline.top(binding.node)
            for bindings in self.outline.module.scope.bindings.values()
            for binding in bindings
        }

    # what a statement does

    def bound(self, statement: ast.stmt) -> set[str]:
        return {
            name
            for name, bindings in self.outline.module.scope.bindings.items()
            if any(self._tops[id(binding)] is statement for binding in bindings)
        }

    def read(self, statement: ast.stmt) -> set[str]:
        """The names of module level that are read when a statement runs; not in the functions that it defines."""
        return {
            name.id
            for name in self.outline.names(statement)
            if not self._is_postponed(name, statement)
            and (not isinstance(name.ctx, ast.Store) or isinstance(self.outline.parents[name], ast.AugAssign))
        }

    def _is_postponed(self, name: ast.AST, statement: ast.stmt) -> bool:
        child = name
        for parent in self.outline.ancestors(name):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and child in parent.body:
                return True
            if parent is statement:
                return False
            child = parent
        return False

    @cached_property
    def read_by_functions(self) -> set[str]:
        """The names of module level that functions read when they are called."""
        found: set[str] = set()
        module = self.outline.module.scope
        for statement in self.body:
            for name in self.outline.names(statement):
                if self._is_postponed(name, statement) and self.outline.owner(name) is module:
                    found.add(name.id)
        return found

    def stays(self, statement: ast.stmt) -> bool:
        """Whether a statement only defines, imports or documents."""
        if isinstance(statement, (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass)):
            return True
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return True
        if isinstance(statement, ast.Try | ast.If) and any(
            isinstance(part, ast.Import | ast.ImportFrom) for part in ast.walk(statement)
        ):
            return not any(
                isinstance(part, ast.For | ast.While | ast.With) or self._works(part) for part in ast.walk(statement)
            )
        while isinstance(statement, ast.If):
            if "__name__" in self.outline.code(statement.test):
                return True
            if len(statement.orelse) != 1:
                return False
            statement = statement.orelse[0]
        return False

    def _works(self, part: ast.AST) -> bool:
        """Whether it is a statement that calls something with values of the module: `model = build(options)`."""
        value = part.value if isinstance(part, ast.Assign | ast.Expr) else None
        return isinstance(value, ast.Call) and any(
            isinstance(name, ast.Name) and self._is_variable(name.id)
            for argument in (*value.args, *value.keywords)
            for name in ast.walk(argument)
        )

    def is_plain(self, statement: ast.stmt) -> bool:
        """Whether a statement gives names to values, and does nothing else."""
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return True
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            return False
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if not all(isinstance(part, ast.Name | ast.Tuple | ast.List) for part in targets):
            return False
        assert statement.value is not None
        return all(
            last_name(part.func) in PLAIN_CALLS for part in ast.walk(statement.value) if isinstance(part, ast.Call)
        ) and not any(isinstance(part, ast.Await | ast.NamedExpr) for part in ast.walk(statement.value))

    @cached_property
    def guard(self) -> ast.If | None:
        """The guard of the module that can take up what runs."""
        for statement in self.body[self.index + 1 :]:
            if isinstance(statement, ast.If) and not statement.orelse and _is_main_test(statement.test):
                return statement if statement.body[0].lineno > (statement.test.end_lineno or 0) else None
        return None

    # what moves

    def serving(self, own_imports: set[int]) -> list[ast.stmt]:
        """The statements before the first that only serve it, and it."""
        moved: list[ast.stmt] = [self.first]
        following = self.following(moved)
        needed = set().union(*(self.read(statement) | self._read_deep(statement) for statement in following))
        kept = [s for s in self.body if s not in following]
        runs_project = False
        for statement in reversed(self.body[: self.index]):
            if self.stays(statement):
                if isinstance(statement, ast.If):
                    break
                runs_project = runs_project or any(
                    statement.lineno <= line <= (statement.end_lineno or 0) for line in own_imports
                )
                continue
            names = self.bound(statement)
            others = [s for s in kept if s not in moved and s.lineno > statement.lineno]
            is_read = names & self.read_by_functions or any(names & self.read(s) for s in others)
            is_bound_anew = any((names | self.read(statement)) & self.bound(s) for s in others if not self.stays(s))
            if self.is_plain(statement):
                if is_read or is_bound_anew or not names & needed or self._is_constant(statement):
                    continue
            elif self._sets_up_logging(statement):
                continue
            elif is_read or is_bound_anew or runs_project or not self._serves(statement, needed):
                break  # what is imported below may run code that has to find it done
            moved.insert(0, statement)
            needed |= self.read(statement) | self._read_deep(statement)
        while moved[0] is not self.first and self._is_settled(moved[0]):
            del moved[0]
        return sorted([*moved, *self._between(moved)], key=self.body.index)

    def _between(self, moved: list[ast.stmt]) -> Iterator[ast.stmt]:
        """Values that nobody reads who stays: among statements that move they would be left without their comments."""
        kept = [statement for statement in self.body if statement not in self.following(moved)]
        for statement in self.body[self.body.index(moved[0]) : self.index]:
            if statement in moved or not self.is_plain(statement) or self._is_constant(statement):
                continue
            names = self.bound(statement)
            others = (other for other in kept if other is not statement)
            is_special = any(name.startswith("__") for name in names)
            if not (is_special or names & self.read_by_functions or any(names & self.read(other) for other in others)):
                yield statement

    def _is_constant(self, statement: ast.stmt) -> bool:
        """Whether a statement gives a value for good to NAMES that are written as constants, from nothing else."""
        names = [part for part in self.outline.names(statement) if isinstance(part.ctx, ast.Store)]
        read = [part for part in self.outline.names(statement) if part not in names]
        is_own = all(part.id.isupper() or not self._is_variable(part.id) for part in read)
        return all(part.id.isupper() for part in names) and is_own and self._is_settled(statement)

    def _is_settled(self, statement: ast.stmt) -> bool:
        """Whether a name gets a value for good there, not one that the run begins with: `total = 0`, `losses = []`."""
        if not self.is_plain(statement):
            return False
        bindings = self.outline.module.scope.bindings
        value: Any = getattr(statement, "value", None)
        is_empty = isinstance(value, ast.Call | ast.List | ast.Dict) and not any(
            getattr(value, field, ()) for field in ("args", "keywords", "elts", "keys")
        )
        is_none = isinstance(value, ast.Constant) and value.value is None
        return not is_empty and not is_none and all(len(bindings[name]) == 1 for name in self.bound(statement))

    def _read_deep(self, statement: ast.stmt) -> set[str]:
        """What the functions that a statement itself defines read."""
        return {name.id for name in self.outline.names(statement)}

    def _serves(self, statement: ast.stmt, needed: set[str]) -> bool:
        """Whether a statement that is more than a constant works on what the run needs, and on nothing else."""
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            called = last_name(statement.value.func)
            if called in SEEDS or called == "print":
                return True
            root = root_name(statement.value.func)
            if "." in self.outline.code(statement.value.func) and self._is_variable(root):
                return True
            works_on_run = any(self._is_variable(name) for name in self.read(statement) & needed)
            return works_on_run and (called in WRITING or self._leaves_globals(statement.value.func))
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Attribute | ast.Subscript) and not self._is_variable(root_name(target)):
                    return False
            works_on_values = any(self._is_variable(name) for name in self.read(statement))
            return (
                bool(self.bound(statement) & needed) or any(root_name(t) in needed for t in targets) or works_on_values
            )
        if isinstance(statement, ast.For | ast.While | ast.With | ast.If | ast.Try):
            return bool((self.bound(statement) | self.read(statement)) & {n for n in needed if self._is_variable(n)})
        return isinstance(statement, ast.Assert | ast.Delete)

    def _leaves_globals(self, function: ast.expr) -> bool:
        """Whether it is a function of the module that binds no name of it."""
        definitions = [s for s in self.body if isinstance(s, ast.FunctionDef) and s.name == last_name(function)]
        return (
            isinstance(function, ast.Name)
            and bool(definitions)
            and not any(isinstance(part, ast.Global) for one in definitions for part in ast.walk(one))
        )

    def _sets_up_logging(self, statement: ast.stmt) -> bool:
        """`logger.setLevel(logging.INFO)`, which stands by `logger = logging.getLogger(...)`."""
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        logger = root_name(statement.value.func)
        read = {name for name in self.read(statement) if self._is_variable(name)}
        return last_name(statement.value.func) in LOGGING and self._is_variable(logger) and read <= {logger}

    def _is_variable(self, name: str) -> bool:
        bindings = self.outline.module.scope.bindings.get(name, ())
        given = [b for b in bindings if b.kind == "assign" and self._tops[id(b)] in self._assignments]
        return bool(given) or (
            bool(bindings) and not any(b.kind in ("import", "from", "def", "class") for b in bindings)
        )

    @cached_property
    def _assignments(self) -> list[ast.stmt]:
        """Those of module level, which may give a value to the name of an import: `model = model.build()`."""
        return [statement for statement in self.body if isinstance(statement, ast.Assign | ast.AnnAssign)]

    def following(self, moved: Iterable[ast.stmt]) -> list[ast.stmt]:
        """What moves, with all behind it that cannot stay."""
        found = list(moved)
        names = set().union(*(self.bound(statement) for statement in found))
        touched = names.union(*(self.read(statement) for statement in found))
        for statement in self.body[self.index + 1 :]:
            if statement is self.guard:
                continue
            reads = self.read(statement) & names
            is_constant = self._stays_as_constant(statement) and not self.bound(statement) & touched
            if not reads and (self.stays(statement) or is_constant):
                continue
            if reads and isinstance(statement, ast.Import | ast.ImportFrom):
                continue
            found.append(statement)
            names |= self.bound(statement)
            touched |= self.bound(statement) | self.read(statement)
        return found

    def _headings(self, moved: list[ast.stmt]) -> Iterator[ast.stmt]:
        """Texts that stand alone and say what is done below them, or what the value above them is."""
        owner: ast.stmt | None = None
        for index in reversed(range(1, len(self.body))):
            statement, above = self.body[index], self.body[index - 1]
            if not _is_text(statement):
                owner = statement
            elif isinstance(above, ast.Assign | ast.AnnAssign) and above.end_lineno == statement.lineno - 1:
                if above in moved:
                    yield statement
            elif (owner or above) in moved and statement not in moved:
                yield statement

    def _stays_as_constant(self, statement: ast.stmt) -> bool:
        names = self.bound(statement)
        if not self.is_plain(statement):
            return False
        is_special = any(name.startswith("__") for name in names)
        return bool(names & self.read_by_functions) or is_special or self._is_constant(statement)

    # the edits

    def as_real_guard(self) -> list[Edit]:
        """Another test in the place of one that was meant to tell the main process, and does not."""
        test: Any = getattr(self.first, "test", None)
        if not isinstance(self.first, ast.If) or self.first.orelse or not _is_meant_as_guard(test):
            return []
        names = self.bound(self.first)
        if any(names & self.read(s) for s in self.body if s is not self.first and s is not self.guard):
            return []
        return [self.outline.edit(self.outline.start(test), self.outline.end(test), TEST)]

    def guarded(self, moved: list[ast.stmt], importers: Iterable[Document] = ()) -> list[Edit]:
        """What moves, and all behind it that has to, under the guard."""
        moved = self.following(moved)
        return self.under_guard(sorted([*moved, *self._headings(moved)], key=self.body.index), importers)

    def under_guard(self, moved: list[ast.stmt], importers: Iterable[Document] = ()) -> list[Edit]:
        for name in sorted(set().union(*(self.bound(statement) for statement in moved))):
            for importer in importers:
                if re.search(rf"\b{name}\b", importer.text):
                    raise NotFixable(f"{os.path.basename(importer.path)}, which imports it, mentions {name}")
        chunks = self._chunks(moved)
        self._check_lines(moved)
        guard = self.guard
        edits: list[Edit] = []
        if guard is not None:
            step = self.outline.indent(guard.body[0])
            before = [chunk for chunk in chunks if chunk[0] < guard.lineno]
            after = [chunk for chunk in chunks if chunk[0] > guard.lineno]
            place = self.outline.line_offset(self.outline.line_with_comments(guard.body[0]))
            gap = self.document.newline if hasattr(moved[len(moved) - 1 if not after else 0], "body") else ""
            edits.append(self.outline.edit(place, place, self._indented(before, moved, step) + gap))
            if after:
                end = self.document.line_after(self.outline.end(guard))
                edits.append(self.outline.edit(end, end, self._indented(after, moved, step)))
            edits += [self.outline.removed(*chunk) for chunk in chunks]
            return edits
        newline, step = self.document.newline, self._step(moved)
        start, end = self._span(chunks[-1])
        text = HEADER.replace('"', self.document.quote) + newline + self._indented(chunks, moved, step)
        if end == len(self.document.text) and not self.document.text.endswith(("\n", "\r")):
            text = text.removesuffix(newline)
        if chunks[-1][0] > 1 and self.outline.module.lines[chunks[-1][0] - 2].strip():
            text = newline + text
        edits += [self.outline.removed(*chunk) for chunk in chunks[:-1]]
        edits.append(self.outline.edit(start, end, text))
        return edits

    def _step(self, moved: list[ast.stmt]) -> str:
        """One step of indentation, as what moves does it, or else the file."""
        for statement in moved:
            body: Any = getattr(statement, "body", None)
            if body and body[0].lineno > statement.lineno:
                return self.outline.indent(body[0])
        return self.document.indent

    def _chunks(self, moved: list[ast.stmt]) -> list[tuple[int, int]]:
        """The first and last lines of what moves in one piece."""
        chunks: list[tuple[int, int]] = []
        last = -2
        for statement in moved:
            index = self.body.index(statement)
            first_line, end_line = self.outline.line_with_comments(statement), statement.end_lineno or 0
            if index == last + 1 and chunks:
                chunks[-1] = (chunks[-1][0], end_line)
            else:
                chunks.append((first_line, end_line))
            last = index
        return chunks

    def _check_lines(self, moved: list[ast.stmt]) -> None:
        lines = {line for s in moved for line in range(self.outline.first_line(s), (s.end_lineno or 0) + 1)}
        for statement in self.body:
            if statement not in moved and lines & set(range(statement.lineno, (statement.end_lineno or 0) + 1)):
                raise NotFixable("other code stands on the same line")

    def _span(self, chunk: tuple[int, int]) -> tuple[int, int]:
        return self.outline.line_offset(chunk[0]), self.outline.line_offset(chunk[1] + 1)

    def _indented(self, chunks: list[tuple[int, int]], moved: list[ast.stmt], step: str) -> str:
        inside = set().union(*(self.outline.inside_strings(statement) for statement in moved))
        within = {line for s in moved for line in range(self.outline.first_line(s), (s.end_lineno or 0) + 1)}
        newline = self.document.newline
        pieces: list[str] = []
        for number, (first, last) in enumerate(chunks):
            if number and self._is_set_off(chunks[number - 1]):
                pieces.append(newline)
            for line in range(first, last + 1):
                start, end = self.outline.line_offset(line), self.outline.line_offset(line + 1)
                text = self.document.text[start:end]
                if line not in within and not text.strip() and pieces and not pieces[-1].strip():
                    continue  # two of them set off what stands at module level alone
                pieces.append(text if line in inside or not text.strip() else step + text)
            if not pieces[-1].endswith(("\n", "\r")):
                pieces.append(newline)
        return "".join(pieces)

    def _is_set_off(self, chunk: tuple[int, int]) -> bool:
        lines = self.outline.module.lines
        return chunk[1] < len(lines) and not lines[chunk[1]].strip()


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_main_test(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, test.comparators[0]]
    return any(isinstance(s, ast.Name) and s.id == "__name__" for s in sides) and any(
        isinstance(s, ast.Constant) and s.value == "__main__" for s in sides
    )


def _is_meant_as_guard(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    texts = {part.value for part in ast.walk(test) if isinstance(part, ast.Constant)}
    if {"__main__", "__mp_main__"} <= texts and isinstance(test.ops[0], ast.In):
        return True
    is_asked = isinstance(test.left, ast.Call) and last_name(test.left.func) == "parent_process"
    return is_asked and isinstance(test.ops[0], ast.Is | ast.Eq) and texts == {None}
