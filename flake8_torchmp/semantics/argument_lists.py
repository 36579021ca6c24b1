"""What calls are given: spread out, joined with what a partial holds, put in the place of a record's fields."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import changes
from .calls import Arguments, Frame
from .flow import block_of, conditions
from .nodes import ancestors, last_name, statement_of, up
from .values import Collection, Source, Unknown, Value

if TYPE_CHECKING:
    from .evaluate import Evaluator


class ArgumentLists:
    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._given: dict[tuple[int, int], Arguments] = {}
        self._derived: dict[tuple[int, int], tuple[Arguments, Arguments, Arguments]] = {}

    def of(self, call: ast.AST, frame: Frame) -> Arguments:
        """The arguments of a call (or of class keywords), spread out; of an operator its sides."""
        key = (id(call), id(frame))
        known = self._given.get(key)
        if known is not None:
            return known
        if isinstance(call, ast.BinOp | ast.AugAssign):
            return self.operands(call, frame)
        if not self._evaluator.callers.is_deferred(call):
            assert isinstance(call, ast.Call)
            if not _is_spread(call):
                made = self._given[key] = Arguments(call, frame)
                made.positional = [Source(argument, frame) for argument in call.args]
                made.keywords = {keyword.arg: Source(keyword.value, frame) for keyword in call.keywords if keyword.arg}
                return made
        unseen = Arguments(call, frame)
        unseen.open_positional = unseen.open_keywords = True
        return self._evaluator.once((*key, "arguments"), lambda: self._gathered(call, frame), unseen)

    def _gathered(self, call: ast.AST, frame: Frame) -> Arguments:
        deferred = self._evaluator.callers.deferred(call, frame)
        if deferred is not None:
            return deferred
        assert isinstance(call, ast.Call)
        made = Arguments(call, frame)
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                self._spread(argument.value, made)
            elif made.open_positional:
                continue
            else:
                made.positional.append(Source(argument, frame))
        for keyword in call.keywords:
            if keyword.arg is not None:
                made.keywords[keyword.arg] = Source(keyword.value, frame)
            else:
                self._spread_keywords(keyword.value, made)
        return made

    def joined(self, bound: Arguments, later: Arguments) -> Arguments:
        """The arguments that a partial and its call give together."""
        key = (id(bound), id(later))
        if key not in self._derived:
            self._derived[key] = bound.before(later), bound, later
        return self._derived[key][0]

    def replaced(self, made: Arguments, names: Sequence[str], later: Arguments) -> Arguments:
        """The arguments of a record of which a call replaces some fields; `names` are those of its fields."""
        key = (-id(made), id(later))
        if key not in self._derived:
            both = Arguments(later.call, later.frame)
            both.keywords = {**dict(zip(names, made.positional, strict=False)), **made.keywords, **later.keywords}
            both.open_positional, both.open_keywords = made.open_positional, made.open_keywords
            self._derived[key] = both, made, later
        return self._derived[key][0]

    def without_first(self, arguments: Arguments) -> Arguments:
        """The arguments that are left for the function which was the first."""
        key = (id(arguments), -1)
        if key not in self._derived:
            rest = Arguments(arguments.call, arguments.frame)
            rest.positional, rest.keywords = arguments.positional[1:], arguments.keywords
            rest.loose = arguments.loose
            rest.open_positional, rest.open_keywords = arguments.open_positional, arguments.open_keywords
            self._derived[key] = rest, arguments, arguments
        return self._derived[key][0]

    def operands(self, node: ast.BinOp | ast.AugAssign, frame: Frame) -> Arguments:
        """The two sides of an operator, as the arguments of a call."""
        key = (id(node), id(frame))
        if key not in self._given:
            made = self._given[key] = Arguments(node, frame)
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            made.positional = [Source(side, frame) for side in sides]
        return self._given[key]

    def no_arguments(self, node: ast.AST, frame: Frame) -> Arguments:
        """For a call that somebody else makes without arguments."""
        return self._given.setdefault((id(node), -id(frame)), Arguments(node, frame))

    def _spread(self, node: ast.expr, made: Arguments) -> None:
        for value in self._evaluator.values(node, made.frame)[:1]:
            if not isinstance(value, Collection) or value.kind == "dict":
                continue
            sources = [source for _, source in self._evaluator.items(value)]
            if value.complete and not value.added_items():
                made.positional += sources
                return
            made.loose += sources
        made.open_positional = True

    def _spread_keywords(self, node: ast.expr, made: Arguments) -> None:
        others: set[str] = set()
        for value in self._evaluator.values(node, made.frame):
            if not isinstance(value, Collection):
                made.open_keywords = True
                made.keywords.update(self._put_into(value, node, made.frame))
                continue
            own: set[str] = set()
            for key, source in self._evaluator.items(value):
                if isinstance(key, str):
                    changed = any(additions.of_element(key) is not None for additions in value.additions)
                    changed = changed or key in others or (key in own and _may_stay_away(source, node))
                    own.add(key)
                    made.keywords[key] = Source(_looked_up(node, key, made.frame), made.frame) if changed else source
                else:
                    made.open_keywords = True
            others |= own
            made.open_keywords = made.open_keywords or not value.complete

    def _put_into(self, value: Value, node: ast.expr, frame: Frame) -> dict[str, Source]:
        """What is put into options that come from elsewhere: `options["collate_fn"] = pad`."""
        evaluator = self._evaluator
        scope = evaluator.scope_binding(node.id, frame.module.scope_of(node)) if isinstance(node, ast.Name) else None
        if isinstance(value, Unknown) and scope is not None and isinstance(node, ast.Name):
            unseen = Collection("dict", (), False, node, frame.module)
            value = evaluator.as_left(unseen, node.id, scope, node, evaluator.frame_in(scope, frame))
        found = {key: source for key, source in evaluator.items(value) if isinstance(key, str)}
        if isinstance(node, ast.Subscript | ast.Attribute):
            found |= dict(changes.entries_put_into(evaluator, node, frame))
        return found


def _is_spread(call: ast.Call) -> bool:
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def _may_stay_away(added: Source, use: ast.AST) -> bool:
    """Whether an entry is put in on some ways to a use alone: `if pad: options["collate_fn"] = pad`."""
    node, module = added.node, added.frame.module
    holder = up(node)
    if isinstance(holder, ast.Call) and last_name(holder.func) == "setdefault":
        return True
    if module.scope_of(node).enclosing_function() is not module.scope_of(use).enclosing_function():
        return any(True for _ in conditions(node))
    on_the_way = {id(item) for item in (use, *ancestors(use))}
    return not any(id(item) in on_the_way for item in block_of(statement_of(node)))


def _looked_up(node: ast.expr, key: str, frame: Frame) -> ast.expr:
    """`options["loader"]` for what `**options` gives as `loader`, with all that is put into it."""
    memo_key = ("entry of", node, key)
    if memo_key not in frame.module.memo:
        text: Any = ast.copy_location(ast.Constant(key), node)
        made: Any = ast.copy_location(ast.Subscript(node, text, ast.Load()), node)
        text._torchmp_up, made._torchmp_up = made, up(node)
        text._torchmp_scope = made._torchmp_scope = frame.module.scope_of(node)
        frame.module.memo[memo_key] = made
    known: ast.expr = frame.module.memo[memo_key]
    return known
