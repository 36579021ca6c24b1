"""Makes seeds differ that are the same in every worker (TMP405).

A `worker_init_fn` adds its worker's id, what is spawned its rank, `__getitem__` the index of its sample, processes and
the initializers of pools `os.getpid()`; an `__iter__` seeds with `torch.initial_seed()`. Other functions that run for
each sample leave it to DataLoader, which has seeded its workers: the call goes. It is unsafe: what is drawn becomes
other than it was. An id that is taken as `_` is called worker_id. Declined are seeds that are no numbers or may be
None, and functions that seed twice alike.
"""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst

from flake8_torchmp.findings import Repair
from flake8_torchmp.semantics.nodes import dotted

from .change import Change, Edit, NotFixable
from .document import Document, Documents
from .outline import outline_of

MOST_RANKS = 1000
"""Beside a rank the id of a worker counts this often: worker 1 of rank 0 is not worker 0 of rank 1."""
OF_WORKER = {"loader": ("torch", "initial_seed"), "process": ("os", "getpid")}


def change(repair: Repair, documents: Documents) -> Change:
    return _Seeds(repair, documents[repair.path]).change()


class _Seeds:
    def __init__(self, repair: Repair, document: Document) -> None:
        self.document = document
        self.outline = outline_of(document)
        notes = dict(repair.notes)
        self.where, self.given = notes["where"], notes["given"]
        self.default = notes["default"]
        self.at = document.node(repair, cst.Call)
        self.call = self.outline.node(repair, ast.Call)
        self.function: Any = self._function()
        places = notes["seeds"].split()
        nodes = [node for node in ast.walk(self.function) if isinstance(node, ast.expr)]
        self.seeds = [node for node in nodes if f"{node.lineno}:{node.col_offset}:{type(node).__name__}" in places]
        self.edits: list[Edit] = []
        self.renamed = self._telling_parameter()

    def _function(self) -> Any:
        node: Any = self.call
        while not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            node = self.outline.parents[node]
        return node

    def _telling_parameter(self) -> list[Edit]:
        """The id of the worker was called `_` while nobody read it."""
        if self.given.strip("_") or not self.given or self.where != "loader":
            return []
        names = [n for n in ast.walk(self.function) if isinstance(n, ast.arg) and n.arg == self.given]
        if len(names) != 1 or any(isinstance(n, ast.Name) and n.id == self.given for n in ast.walk(self.function)):
            return []
        self.given = self.document.fresh("worker_id")
        start = self.outline.start(names[0])
        return [Edit(self.document.path, start, start + len(names[0].arg), self.given)]

    def change(self) -> Change:
        change = self._change()
        return change._replace(edits=(*self.renamed, *change.edits))

    def _change(self) -> Change:
        if self.default:
            return self._given_to_helper()
        if not self.seeds:
            raise NotFixable("the seed is not found")
        if self.where == "sample":
            self._drop()
            return Change(tuple(self.edits), False, "the seeding is left to DataLoader")
        part = self.given or self._of_worker()
        for seed in self.seeds:
            node = self._bound(seed)
            text = part if self.where == "loader" and not self.given else self._with(node, part)
            edit = Edit(self.document.path, self.outline.start(node), self.outline.end(node), text)
            if edit not in self.edits:
                self.edits.append(edit)
        return Change(tuple(self.edits), False, f"the seed takes {part}")

    def _given_to_helper(self) -> Change:
        """The call says what it left to a default."""
        if not self.given:
            raise NotFixable("the seed is the default of a function that others call")
        name, _, value = self.default.partition("=")
        if not value.isdigit():
            raise NotFixable("the seed is no whole number")
        text = f"{name}={self.given}" if value == "0" else f"{name}={value} + {self.given}"
        arguments = [*self.call.args, *(keyword.value for keyword in self.call.keywords)]
        place = max(self.outline.end(one) for one in arguments) if arguments else self.outline.end(self.call) - 1
        edit = self.document.inserted(place, f", {text}" if arguments else text)
        return Change((edit,), False, f"the seed takes {self.given}")

    def _of_worker(self) -> str:
        module, name = OF_WORKER[self.where]
        spelling = self.document.imported(f"{module}.{name}", self.at)
        if not spelling:
            brought, self.edits = self.document.with_import(f"import {module}", self.at)
            spelling = f"{brought}.{name}"
        return f"{spelling}() % 2**32" if self.where == "loader" else f"{spelling}()"

    def _bound(self, seed: ast.expr) -> Any:
        """Where a local name gets the seed, if it is the only place."""
        if not isinstance(seed, ast.Name) or isinstance(self.function, ast.Lambda):
            return seed
        stores = [
            node
            for node in ast.walk(self.function)
            if isinstance(node, ast.Name) and node.id == seed.id and not isinstance(node.ctx, ast.Load)
        ]
        above = self.outline.parents[stores[0]] if len(stores) == 1 else None
        if isinstance(above, ast.Assign) and above in self.function.body and above.targets == stores:
            return above.value
        if stores:
            raise NotFixable(f"{seed.id} is bound in several places")
        return seed

    def _with(self, node: Any, part: str) -> str:
        """The seed and what differs; a remainder is taken of both together."""
        self._check(node)
        code = self.outline.code(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return f"({self._with(node.left, part)}) % {self.outline.code(node.right)}"
        if isinstance(node, ast.Constant) and node.value == 0:
            return part
        if self.where == "loader" and any("rank" in word for word in _words(node)):
            part = f"{MOST_RANKS} * {part}"
        plain = ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript
        if isinstance(node, plain) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)):
            return f"{code} + {part}"
        return f"({code}) + {part}"

    def _check(self, node: Any) -> None:
        if isinstance(node, ast.Constant) and (not isinstance(node.value, int) or isinstance(node.value, bool)):
            raise NotFixable("the seed is no whole number")
        name = dotted(node).rpartition(".")[2] if isinstance(node, ast.Name | ast.Attribute) else ""
        if not name:
            return
        for other in ast.walk(self.outline.tree):
            if isinstance(other, ast.Assign) and dotted(node) in {dotted(target) for target in other.targets}:
                if isinstance(other.value, ast.Constant) and not isinstance(other.value.value, int | None):
                    raise NotFixable("the seed is no whole number")
            elif isinstance(other, ast.arguments) and _may_be_none(other, name) and not self._is_asked(name):
                raise NotFixable("the seed may be None")

    def _is_asked(self, name: str) -> bool:
        node: Any = self.call
        while node is not self.function:
            node = self.outline.parents[node]
            if isinstance(node, ast.If) and name in _words(node.test):
                return True
        return False

    def _drop(self) -> None:
        if len(self.seeds) != len({ast.dump(self.outline.parents[seed]) for seed in self.seeds}):
            raise NotFixable("it seeds twice alike, so that the same is drawn again")
        for seed in self.seeds:
            call = self.outline.parents[seed]
            statement: Any = self.outline.parents[call]
            if isinstance(call, ast.keyword):
                statement = self.outline.parents[statement]
            if not isinstance(statement, ast.Expr):
                raise NotFixable("the seeding is part of an expression")
            block = self.outline.block(statement)
            above: Any = self.outline.parents[statement]
            if len(block) == 1 and isinstance(above, ast.If) and not above.orelse:
                statement, block = above, self.outline.block(above)
            if len(block) == 1 or not self.outline.alone_on_its_lines(statement):
                raise NotFixable("nothing else is in its block")
            begin = self.outline.line_start(self.outline.start(statement))
            end = self.document.line_after(self.outline.end(statement))
            self.edits.append(Edit(self.document.path, begin, end, ""))


def _words(node: ast.AST) -> list[str]:
    return [dotted(part).rpartition(".")[2] for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)]


def _may_be_none(arguments: ast.arguments, name: str) -> bool:
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[::-1], arguments.defaults[::-1], strict=False)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    return any(a.arg == name and isinstance(d, ast.Constant) and d.value is None for a, d in pairs)
