"""Paths: which expressions are relative path literals, and which of them get opened."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.tables.file_functions import (
    KEEPING_METHODS,
    LABELLED_BY_FILE,
    LISTERS,
    LISTING_METHODS,
    OPENED_KEYWORDS,
    OPENERS,
    OPENING_METHODS,
    PASSING,
    PASSING_METHODS,
    PATH_CLASSES,
    PATH_PARAMETERS,
)
from flake8_torchmp.semantics.choices import is_choice
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, last_name
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Hop,
    Member,
    Result,
    Source,
    Text,
    Value,
)

from .path_flow import PathFlow, names_of_openers

_NAMING = re.compile(r"[\w.]")
_STAND_IN = re.compile(
    r"(?i)(?:dummy|placeholder|unused|none|null|tbd)(?:[_ -](?:string|str|path|file|dir|name))?$"
    r"|(?:\./)?(?:(?:the|your|some)[/_ -])?path[/_ -](?:to|of)(?![a-z])|(?:\./)?your[/_ -]"
)
"""What stands for a path that the user has to fill in."""
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]|^\\\\|^[a-z][a-z0-9+.-]*:")


class Literal(NamedTuple):
    """A relative path that the program spells out."""

    node: ast.expr
    module: Module
    text: str
    way: tuple[Hop, ...]
    kind: str = "text"
    """What it makes: a text, the `beginning` of one, a `path` that can be resolved, a `pure` one without files."""


def is_relative(text: str) -> bool:
    """Whether a text can be a path that begins at the current folder.

    `???`, `dummy_path` and `path/to/images` name no file, `a.tar::b.tar` two.
    """
    if not _NAMING.search(text) or _DRIVE.match(text) or _STAND_IN.match(text) or "::" in text:
        return False
    return not text.startswith(("/", "~", "$", "{", "%", "<", ":"))


class Paths:
    def __init__(self, evaluator: Evaluator, outline: Evaluator) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self._parameters: dict[tuple[Place, str], bool] = {}
        self._opened: dict[int, list[tuple[ast.Call, Literal]]] = {}

    def forget(self) -> None:
        self._opened.clear()

    def _literals(self, value: Value, depth: int, evaluator: Evaluator) -> Iterator[Literal]:
        if type(value) is Constant or (isinstance(value, Constant) and evaluator is self.outline):
            if isinstance(value.value, str) and is_relative(value.value):
                yield Literal(value.node, value.module, value.value, value.way)
        elif isinstance(value, Text):
            if is_relative(value.start) and ("/" in value.start or value.start.startswith(".")):
                _, starts = self._starts(value.node, value.module, value.start, evaluator)
                if evaluator.asks_callers and starts and all(map(is_choice, starts)):
                    return  # the user says where
                yield Literal(value.node, value.module, value.start + "…", value.way)
        elif isinstance(value, Collection) and value.kind != "dict" and depth < 2:
            for _, source in evaluator.items(value):
                for part in evaluator.of(source):
                    yield from self._literals(part, depth + 1, evaluator)
            if not value.complete and isinstance(value.node, ast.Call):
                yield from self._copied(value.node.args[:1], value, depth, evaluator)
        elif isinstance(value, Result) and _lists(value) and depth < 6:
            for part in self._listed(value, evaluator):
                for literal in self._literals(part, depth + 1, evaluator):
                    yield literal._replace(way=literal.way + value.way)
        elif isinstance(value, Result) and depth < 6:
            inner = self._base_of(value)
            if isinstance(inner, Source):
                for part in evaluator.of(inner):
                    for literal in self._literals(part, depth + 1, evaluator):
                        yield self._widened(literal, value)
            elif inner is not None:
                for literal in self._literals(inner, depth + 1, evaluator):
                    yield self._widened(literal, value)

    def _copied(self, copied: list[ast.expr], value: Collection, depth: int, evaluator: Evaluator) -> Iterator[Literal]:
        """`sorted(folder.glob("*.png"))`: the paths in it begin where the folder is."""
        for node in copied:
            for part in evaluator.values(node, evaluator.frame_at(node, value.module)):
                if isinstance(part, Result) and _lists(part):
                    for literal in self._literals(part, depth + 1, evaluator):
                        yield literal._replace(way=literal.way + value.way)

    @staticmethod
    def _listed(value: Result, evaluator: Evaluator) -> tuple[Value, ...]:
        """The folder or pattern by which files are listed."""
        if isinstance(value.callee, Member):
            return (value.callee.owner,)
        source = value.arguments.get(0, "pathname")
        return evaluator.of(source) if source is not None else ()

    @staticmethod
    def _widened(literal: Literal, value: Result) -> Literal:
        """`Path("data")` rather than the text inside it, where both stand in the same expression."""
        call = value.arguments.call
        if isinstance(call, ast.expr) and any(part is literal.node for part in ast.walk(call)):
            literal = literal._replace(node=call, kind=_kind(value, literal.kind))
        return literal._replace(way=literal.way + value.way)

    def _base_of(self, value: Result) -> Source | Value | None:
        """What a path is built on: as relative as it is."""
        callee = value.callee
        if isinstance(callee, External):
            if callee.name in PATH_CLASSES | PASSING | {"operator.truediv", "os.path.expanduser"}:
                return value.arguments.get(0)
            return None
        if isinstance(callee, Member) and callee.name in PASSING_METHODS:
            return callee.owner
        return None

    def opened_in(self, scope: Scope) -> list[tuple[ast.Call, Literal]]:
        """The relative path literals that a function opens."""
        known = self._opened.get(id(scope))
        if known is None:
            known = list(self._find_opened(scope, self.outline))
            if known:
                known = self.evaluator.alone(lambda: list(self._find_opened(scope, self.evaluator)))
            self._opened[id(scope)] = known
        return known

    def _find_opened(self, scope: Scope, evaluator: Evaluator) -> Iterator[tuple[ast.Call, Literal]]:
        assert isinstance(scope.node, FUNCTIONS)
        names = names_of_openers(scope.module)
        for node in body_nodes(scope.node, nested=False):
            if isinstance(node, ast.Call) and last_name(node.func) in names:
                source = _opened(node, scope.module, evaluator)
                for value in evaluator.of(source) if source is not None else ():
                    if isinstance(value, Collection) and not self._holds_only_literals(value, evaluator):
                        continue  # which of them it is, is not known
                    for literal in self._literals(value, 0, evaluator):
                        yield node, literal

    def _holds_only_literals(self, value: Collection, evaluator: Evaluator) -> bool:
        elements = [source for _, source in evaluator.items(value)]
        return not value.complete or all(
            any(self._literals(part, 1, evaluator)) for source in elements for part in evaluator.of(source)
        )

    def relative_literals(self, source: Source) -> Iterator[Literal]:
        """The relative path literals that an expression can be, whole or as its beginning."""
        for value in self.evaluator.of(source):
            for literal in self._literals(value, 0, self.evaluator):
                yield from self._beginnings(literal) or [literal]

    def _beginnings(self, literal: Literal, depth: int = 0) -> list[Literal]:
        """The paths with which a text that is put together begins, where they are spelled out elsewhere.

        `f"{root}/train"` and `root + "/train"` are as relative as the `"data/"` that `root` is, and that alone is to be
        changed; a word that is no path, such as the `"cifar"` of `f"{name}/train"`, is none by itself.
        """
        first, starts = self._starts(literal.node, literal.module, literal.text, self.evaluator)
        is_named = bool(PATH_PARAMETERS.search(last_name(first)))
        found: list[Literal] = []
        for value in starts if depth < 3 else ():
            for inner in self._literals(value, 0, self.evaluator):
                if is_named or "/" in inner.text or inner.text.startswith("."):
                    found += self._beginnings(inner, depth + 1) or [inner._replace(kind="beginning")]
        return found

    @staticmethod
    def _starts(
        node: ast.expr, module: Module, text: str, evaluator: Evaluator
    ) -> tuple[ast.expr, list[Constant | Text]]:
        """What a text that is put together begins with, and what that can be, as far as the text shows it."""
        first = _first_part(node)
        if first is node or isinstance(first, ast.Constant):
            return first, []
        values = evaluator.values(first, evaluator.frame_at(first, module))
        texts = [value for value in values if isinstance(value, Text | Constant)]
        return first, [v for v in texts if text.startswith(v.start if isinstance(v, Text) else str(v.value))]

    # parameters that are paths

    def is_path_parameter(self, cls: Class, name: str) -> bool:
        """Whether what a class is made with under a name is opened, unresolved, by its methods."""
        key = (cls.scope.place, name)
        if key not in self._parameters:
            self._parameters[key] = PathFlow(self.outline, cls).opens(name)
        return self._parameters[key]

    @staticmethod
    def is_path_of_library(dataset: str, index: int | None, name: str) -> bool:
        """Datasets of libraries take their root first, some their labels after it; other paths say so by name."""
        is_positional = index == 0 or (index == 1 and dataset in LABELLED_BY_FILE)
        return is_positional or name == "annFile" or bool(PATH_PARAMETERS.search(name))


def is_asked_for_first(node: ast.Call, literal: Literal) -> bool:
    """`if os.path.isfile(NOTES): read(NOTES)`: a file that the user may have in the current folder, or not."""
    opened = node.args[:1] or [node.func.value if isinstance(node.func, ast.Attribute) else node.func]
    for place in (*opened, *(hop.node for hop in literal.way)):
        for fact in facts_at(place):
            if fact.holds and _asks_for(fact.test, place):
                decided = next((above for above in ancestors(fact.test) if isinstance(above, ast.If)), fact.test)
                return not any(isinstance(part, ast.Raise) for part in ast.walk(decided))
    return False


def _asks_for(test: ast.expr, path: ast.AST) -> bool:
    if not isinstance(test, ast.Call) or last_name(test.func) not in ("isfile", "exists", "is_file"):
        return False
    asked = test.args[0] if test.args else getattr(test.func, "value", test)
    return ast.dump(asked) == ast.dump(path)


def _first_part(node: ast.expr) -> ast.expr:
    """What a text that is put together begins with: `root` of `f"{root}/{name}"` and of `root + "/" + name`."""
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            node = node.left
        elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.FormattedValue):
            node = node.values[0].value
        else:
            return node


def _lists(value: Result) -> bool:
    """Whether a result lists paths that are as relative as what it was asked with."""
    if isinstance(value.callee, Member):
        return value.callee.name in LISTING_METHODS
    return isinstance(value.callee, External) and value.callee.name in LISTERS


def _kind(value: Result, kind: str) -> str:
    """What an operation on a path of some kind makes."""
    callee = value.callee
    if isinstance(callee, Member):
        return kind if callee.name in KEEPING_METHODS else "text"
    if isinstance(callee, External) and callee.name in PATH_CLASSES:
        return "pure" if "Pure" in callee.name else "path"
    if isinstance(callee, External) and callee.name == "operator.truediv":
        return "path" if kind == "text" else kind
    return "text"


def _opened(node: ast.Call, module: Module, evaluator: Evaluator) -> Source | None:
    """The path that a call opens, if it opens one."""
    frame = evaluator.frame_at(node, module)
    for callee in evaluator.values(node.func, frame):
        arguments = evaluator.arguments(node, frame)
        if isinstance(callee, External) and callee.name in OPENERS:
            given = (arguments.get(None, keyword) for keyword in OPENED_KEYWORDS)
            return arguments.get(0, "file") or next((source for source in given if source is not None), None)
        if isinstance(callee, Member) and callee.name in OPENING_METHODS and isinstance(node.func, ast.Attribute):
            return Source(node.func.value, frame)
    return None
