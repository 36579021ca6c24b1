"""What tests of a variable say about what is in it: whether it is still there where the variable is read."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from .calls import receiver_name
from .flow import Condition, conditions, earlier, facts
from .nodes import ancestors, dotted, last_name, listed_constants, position
from .scopes import Binding, Scope
from .values import Class, Collection, Constant, Function, Instance, Method, Result, Text, Value

if TYPE_CHECKING:
    from .module import Module


def survives(value: object, way: Sequence[ast.AST]) -> bool:
    """Whether a constant can come along a way, by the tests of the variables that it passes."""
    return not any(_is_kept_away(value, node, way) for node in way if isinstance(node, ast.Name | ast.Attribute))


def _is_kept_away(value: object, use: ast.Name | ast.Attribute, way: Iterable[ast.AST]) -> bool:
    name = dotted(use)
    if any(
        truth_where(fact.test, name, value) is (not fact.holds)
        for condition in conditions(use)
        for fact in facts(condition)
    ):
        return True
    return any(
        isinstance(statement, ast.If)
        and truth_where(statement.test, name, value) is True
        and _sets(statement.body, name)
        and not any(statement in ancestors(node) for node in way)
        for statement in earlier(use)
    )


def _sets(block: list[ast.stmt], name: str) -> bool:
    targets = [target for statement in block if isinstance(statement, ast.Assign) for target in statement.targets]
    spread = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return any(dotted(target) == name for target in spread)


def truth_where(test: ast.expr, name: str, value: object) -> bool | None:
    """What a test says where a variable has a value; None where it asks for something else."""
    if dotted(test) == name:
        return bool(value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth_where(test.operand, name, value)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = {truth_where(part, name, value) for part in test.values}
        decides = isinstance(test.op, ast.Or)
        return decides if decides in parts else None if None in parts else not decides
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    sign: ast.cmpop
    (sign,), left, right = test.ops, test.left, test.comparators[0]
    if isinstance(sign, ast.In | ast.NotIn) and dotted(left) == name:
        known = listed_constants(right)
        return (value in known) is isinstance(sign, ast.In) if known is not None else None
    if dotted(right) == name:
        left, right, sign = right, left, _TURNED.get(type(sign), type(sign))()
    if dotted(left) != name or not isinstance(right, ast.Constant):
        return None
    if isinstance(sign, ast.Eq | ast.Is):
        return bool(value == right.value)
    if isinstance(sign, ast.NotEq | ast.IsNot):
        return bool(value != right.value)
    compare = _ORDERS.get(type(sign))
    if compare is None or not isinstance(value, int | float) or not isinstance(right.value, int | float):
        return None
    return compare(value, right.value)


_ORDERS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""The same order seen from the other side."""


Question = Callable[[Value], bool | None]
"""What a test says where a variable holds a value; None where it asks for something else."""


class Passed(NamedTuple):
    """A test of a variable that what is read of it has passed, and how it came out: `isinstance(x, list)`."""

    test: ast.expr
    holds: bool
    says: Question
    block: ast.If | None
    """The statement that gives the variable another value where the test holds."""

    def excludes(self, value: Value, binding: Binding) -> bool:
        """Whether a value that a binding gave cannot have come past the test."""
        came_before = binding.kind == "parameter" or position(binding.node) < position(self.test)
        if not came_before or (self.block is not None and self.block in ancestors(binding.node)):
            return False
        return self.says(value) is (not self.holds)


def facts_of_attributes(facts: list[Condition], scope: Scope) -> list[Condition]:
    """What tests of parameters say of the attributes that keep them: `self.method` where `method` was asked for."""
    module = scope.module
    kept = {
        change.value.id: ast.Attribute(ast.Name(dotted(change.target)), change.name)
        for change in module.changes.get(receiver_name(scope), ())
        if change.kind == "attribute" and isinstance(change.value, ast.Name)
        if module.scope_of(change.node) is scope and dotted(change.target) == receiver_name(scope)
    }
    return [
        Condition(ast.Compare(kept[fact.test.left.id], fact.test.ops, fact.test.comparators), fact.holds)
        for fact in facts
        if isinstance(fact.test, ast.Compare) and isinstance(fact.test.left, ast.Name) and fact.test.left.id in kept
    ]


def passed_tests(name: str, use: ast.AST, scope: Scope) -> list[Passed]:
    """The tests of a variable's type, and those that replace what is in it, on the way to where it is read."""
    module = scope.module
    is_rebound, is_tested = len(scope.bindings[name]) > 1, name in _names_of_known_type(scope)
    if not is_rebound and not is_tested:
        return []
    key = ("passed", use)
    if key not in module.memo:
        passed: list[Passed] = []
        if is_tested:
            asked = [fact for condition in conditions(use) for fact in _spelled_out(condition, scope)]
            asked = [fact for fact in asked if _asks_for_kind(fact.test, name)]
            passed += [Passed(fact.test, fact.holds, _question(fact.test, name), None) for fact in asked]
        if is_rebound:
            ifs = (statement for statement in earlier(use) if isinstance(statement, ast.If))
            ifs = (item for item in ifs if _sets(item.body, name))
            passed += [Passed(item.test, False, _question(item.test, name), item) for item in ifs]
        module.memo[key] = passed
    known: list[Passed] = module.memo[key]
    return known


def _spelled_out(condition: Condition, scope: Scope) -> Iterator[Condition]:
    """What holds, where a test is kept in a variable, too: `is_factory = callable(optimizer)`."""
    for fact in facts(condition):
        bindings = scope.bindings.get(fact.test.id, []) if isinstance(fact.test, ast.Name) else []
        kept = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
        yield from facts(Condition(kept, fact.holds)) if isinstance(kept, ast.Call | ast.BoolOp) else (fact,)


def _asks_for_kind(test: ast.expr, name: str) -> bool:
    """Whether a test, or a part of it, asks what a variable is an instance of, or whether it can be called."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    bare = [part.operand if isinstance(part, ast.UnaryOp) else part for part in parts]
    return any(_classes_asked_for(part, name) or _asks_if_callable(part, name) for part in bare)


def _asks_if_callable(test: ast.expr, name: str) -> bool:
    return isinstance(test, ast.Call) and dotted(test.func) == "callable" and [dotted(a) for a in test.args] == [name]


def _names_of_known_type(scope: Scope) -> set[str]:
    """The variables of which a scope asks what they are instances of, or whether they can be called."""
    module = scope.module
    key = ("types tested",)
    if key not in module.memo:
        asked: dict[Scope, set[str]] = {}
        for call in (*module.calls.get("isinstance", ()), *module.calls.get("callable", ())):
            if call.args:
                asked.setdefault(module.scope_of(call), set()).add(dotted(call.args[0]))
        module.memo[key] = asked
    known: set[str] = module.memo[key].get(scope, _NONE)
    return known


def _question(test: ast.expr, name: str) -> Question:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return partial(_denied, _question(test.operand, name))
    if isinstance(test, ast.BoolOp):
        return partial(_joined, [_question(part, name) for part in test.values], isinstance(test.op, ast.Or))
    if _asks_if_callable(test, name):
        return _is_callable
    classes = frozenset(_classes_asked_for(test, name))
    return partial(_is_instance, classes) if classes else partial(_compared, test, name)


def _denied(question: Question, value: Value) -> bool | None:
    inner = question(value)
    return None if inner is None else not inner


def _joined(questions: list[Question], decides: bool, value: Value) -> bool | None:
    parts = {question(value) for question in questions}
    return decides if decides in parts else None if None in parts else not decides


def _is_callable(value: Value) -> bool | None:
    kind = "function" if isinstance(value, Class | Method) else _kind(value)
    return kind == "function" if kind else None


def _compared(test: ast.expr, name: str, value: Value) -> bool | None:
    if isinstance(value, Constant):
        return truth_where(test, name, value.value)
    is_something = isinstance(value, Collection | Function | Class | Instance | Text)
    if is_something and isinstance(test, ast.Compare) and _compares_with_none(test):
        return truth_where(test, name, _SOMETHING)
    return None


def _compares_with_none(test: ast.Compare) -> bool:
    return all(isinstance(side, ast.Constant) and side.value is None for side in test.comparators)


_NONE: set[str] = set()
_SOMETHING = object()


def _classes_asked_for(test: ast.expr, name: str) -> list[str]:
    if not isinstance(test, ast.Call) or len(test.args) != 2:
        return []
    if dotted(test.func) != "isinstance" or dotted(test.args[0]) != name:
        return []
    asked = test.args[1]
    return [last_name(item) for item in (asked.elts if isinstance(asked, ast.Tuple) else _either(asked))]


def asks_for_type(test: ast.expr) -> bool:
    """`isinstance(device, list)`, of a variable."""
    name = test.args[0] if isinstance(test, ast.Call) and test.args else None
    return isinstance(name, ast.Name) and bool(_classes_asked_for(test, name.id))


def question_of_type(test: ast.Call, module: Module) -> Question | None:
    """What such a test says of a value."""
    key = ("question of type", test)
    if key not in module.memo:
        module.memo[key] = _question(test, dotted(test.args[0])) if asks_for_type(test) else None
    known: Question | None = module.memo[key]
    return known


def _either(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_either(node.left), *_either(node.right)]
    return [node]


def _is_instance(classes: frozenset[str], value: Value) -> bool | None:
    """Whether a value is of one of some classes, as far as it and they are known."""
    own = _KINDS.get(_kind(value))
    if own is None:
        return None
    if own & classes:
        return True
    is_no_function = isinstance(value, Function) and all(name[:1].isupper() for name in classes)
    return False if classes <= _KNOWN or is_no_function else None


def _kind(value: Value) -> str:
    if isinstance(value, Collection) and isinstance(value.node, _DISPLAYS):
        return value.kind
    if isinstance(value, Constant):
        return type(value.value).__name__
    if isinstance(value, Result) and isinstance(value.callee, Function | Method):
        return "generator"
    return "function" if isinstance(value, Function) else ""


_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
_SIZED = frozenset("Iterable Sized Collection Container object".split())
_KINDS: dict[str, frozenset[str]] = {
    "list": _SIZED | {"list", "Sequence", "MutableSequence", "Reversible", "List"},
    "tuple": _SIZED | {"tuple", "Sequence", "Reversible", "Tuple", "Hashable"},
    "dict": _SIZED | {"dict", "Mapping", "MutableMapping", "Reversible", "Dict"},
    "set": _SIZED | {"set", "Set", "AbstractSet", "MutableSet"},
    "generator": frozenset("Generator GeneratorType Iterator Iterable Hashable object".split()),
    "function": frozenset("Callable FunctionType LambdaType Hashable object".split()),
    "str": _SIZED | {"str", "Sequence", "Reversible", "Hashable"},
    "NoneType": frozenset("NoneType Hashable object".split()),
    "bool": frozenset("bool int Number Integral Rational Real Complex Hashable object".split()),
    "float": frozenset("float Number Real Complex Hashable object".split()),
    "int": frozenset("int Number Integral Rational Real Complex Hashable object".split()),
}
_KNOWN = frozenset().union(*_KINDS.values()) | frozenset("bytes float bool ndarray Tensor Path PathLike Module".split())
"""Classes of which it is known what is none of them."""
