"""What each kind of expression gives: displays, subscripts, operators and comparisons."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import attributes, builtin, choices
from .calls import Frame
from .module import Module
from .nodes import COMPREHENSIONS, FUNCTIONS, last_name, listed_constants, up
from .pouring import passes, sifted
from .values import (
    INSIDE,
    UNKNOWN,
    Class,
    Collection,
    Constant,
    Entry,
    External,
    Function,
    Hop,
    Instance,
    Member,
    Method,
    ModuleValue,
    Result,
    Source,
    Text,
    Unknown,
    Value,
    along,
    truth_of,
    with_same_elements,
)

if TYPE_CHECKING:
    from .evaluate import Evaluator


def _subscript(evaluator: Evaluator, node: ast.Subscript, frame: Frame) -> Iterator[Value]:
    for value in _items_at(evaluator, node, frame):
        yield value.after(Hop(node, frame.module, INSIDE))


def _items_at(evaluator: Evaluator, node: ast.Subscript, frame: Frame) -> Iterator[Value]:
    for base in evaluator.values(node.value, frame):
        if isinstance(base, External) and base.name.endswith(".__dict__"):
            yield from _named_in_library(evaluator, base, node.slice, frame)
        elif builtin.is_globals(base):
            yield from builtin.named_global(evaluator, base, evaluator.values(node.slice, frame))
        elif isinstance(base, External) and base.name == "sys.modules":
            yield _loaded(evaluator, node.slice, frame)
        elif isinstance(base, Class | External):
            yield base  # Generic[T]
        elif isinstance(base, Collection):
            yield from _element_at(evaluator, base, node.slice, frame)
        elif isinstance(base, Instance):
            for method in attributes.attribute(evaluator, base, "__getitem__"):
                if isinstance(method, Method):
                    inner = evaluator.frame(method.function.scope, None, method.function.closure, base)
                    yield from evaluator.returned(inner)
        elif isinstance(base, Result) or (isinstance(base, Member) and _is_by_name(evaluator, node.slice, frame)):
            yield Member(base, INSIDE)
        else:
            yield UNKNOWN


def _loaded(evaluator: Evaluator, name: ast.expr, frame: Frame) -> Value:
    """`sys.modules[__name__]`, the module itself."""
    names = evaluator.values(name, frame)
    is_own = all(isinstance(value, External) and value.name == "builtins.__name__" for value in names)
    return ModuleValue(frame.module.name, frame.module.path) if is_own else UNKNOWN


def _named_in_library(evaluator: Evaluator, base: External, index: ast.expr, frame: Frame) -> Iterator[Value]:
    """`datasets.__dict__[name]`."""
    for key in evaluator.values(index, frame):
        if isinstance(key, Constant) and isinstance(key.value, str):
            yield External(f"{base.name.removesuffix('.__dict__')}.{key.value}", base.node, base.module)
        else:
            yield builtin.some_attribute(base)


def _is_by_name(evaluator: Evaluator, index: ast.expr, frame: Frame) -> bool:
    """`group["signal"]`, which is a part of the same thing, unlike `signal[:]`, which is what that holds."""
    found = evaluator.values(index, frame) if isinstance(index, ast.Constant | ast.Name | ast.Attribute) else ()
    texts = [isinstance(value, Constant) and isinstance(value.value, str) for value in found]
    return isinstance(index, ast.JoinedStr) or (bool(texts) and all(texts))


def _element_at(evaluator: Evaluator, base: Collection, index: ast.expr, frame: Frame) -> Iterator[Value]:
    keys = [value.value for value in evaluator.values(index, frame) if isinstance(value, Constant)]
    key = keys[0] if len(keys) == 1 else None
    if key is not None and base.kind == "dict":
        items = list(evaluator.items(base))
        matching = [source for entry_key, source in items if entry_key == key]
        if matching and _may_be_set_anew(evaluator, base, key, matching):
            yield UNKNOWN
        matching = matching or [source for entry_key, source in items if entry_key is None]
    elif isinstance(key, int) and base.kind in ("list", "tuple") and not base.added_items():
        matching = [base.entries[key].source] if -len(base.entries) <= key < len(base.entries) else []
    else:
        if isinstance(index, ast.Slice):
            yield base
            return
        matching = [source for _, source in evaluator.items(base)]
    for source in matching:
        yield from (along(inner, base, key) for inner in evaluator.of(source))
    if not matching:
        yield UNKNOWN


def _may_be_set_anew(evaluator: Evaluator, base: Collection, key: object, known: list[Source]) -> bool:
    """Whether a setting may be one of those that somebody sets without spelling out which."""
    return _sets_unseen(evaluator, base, key) and all(
        isinstance(value, Constant) for source in known for value in evaluator.of(source)
    )


def _sets_unseen(evaluator: Evaluator, base: Collection, key: object) -> bool:
    """`config[name] = value`, `config.update(json.load(file))`."""
    for extra in base.added_items():
        value, frame = extra.source
        if extra.kind == "elements":
            if all(isinstance(values, Unknown | Result) for values in evaluator.of(extra.source)):
                return True
        elif extra.kind == "entry" and not extra.label:
            statement = up(value)
            for place in statement.targets if isinstance(statement, ast.Assign) else []:
                names = evaluator.values(place.slice, frame) if isinstance(place, ast.Subscript) else ()
                if any(not isinstance(name, Constant) or name.value == key for name in names):
                    return True
    return False


def _display(evaluator: Evaluator, node: Any, frame: Frame) -> Iterator[Value]:
    kind = type(node).__name__.lower()
    entries: list[Entry] = []
    complete = True
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluator.values(element.value, frame)
            entries += [Entry(None, source) for _, source in builtin.together(evaluator, inner)]
            complete = complete and all(isinstance(value, Collection) and value.complete for value in inner)
        else:
            entries.append(Entry(None, Source(element, frame)))
    yield Collection(kind, tuple(entries), complete, node, frame.module)


def _dict(evaluator: Evaluator, node: ast.Dict, frame: Frame) -> Iterator[Value]:
    entries: list[Entry] = []
    spread: list[Value] = []
    complete = True
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = evaluator.values(value, frame)
            spread += inner
            entries += builtin.together(evaluator, inner)
            complete = complete and all(isinstance(part, Collection) and part.complete for part in inner)
        else:
            keys = [v.value for v in evaluator.values(key, frame) if isinstance(v, Constant)]
            entries.append(Entry(keys[0] if keys else None, Source(value, frame)))
    last = {entry.key: entry for entry in entries if entry.key is not None}
    kept = [entry for entry in entries if entry.key is None or last[entry.key] is entry]
    made = Collection("dict", tuple(kept), complete, node, frame.module)
    yield with_same_elements(made, spread, has_keys=True)


def _comprehension(evaluator: Evaluator, node: Any, frame: Frame) -> Iterator[Value]:
    kind = {ast.DictComp: "dict", ast.SetComp: "set", ast.ListComp: "list"}.get(type(node), "generator")
    element = node.value if isinstance(node, ast.DictComp) else node.elt
    spelled = _spelled_out(node, frame.module) if isinstance(node, ast.DictComp) else None
    if spelled is not None:
        yield from _dict(evaluator, spelled, frame)
        return
    over = sifted(node) if isinstance(node, ast.DictComp) else None
    if over is not None:
        inner = evaluator.values(over, evaluator.frame_in(frame.module.scope_of(over), frame))
        if all(isinstance(value, Collection) for value in inner):
            entries = [entry for entry in builtin.together(evaluator, inner) if passes(node, entry.key)]
            yield with_same_elements(Collection(kind, tuple(entries), False, node, frame.module), inner, has_keys=True)
            return
    yield Collection(kind, (Entry(None, Source(element, frame)),), False, node, frame.module)


def _spelled_out(node: ast.DictComp, module: Module) -> ast.Dict | None:
    """`{"a": x["a"], "b": x["b"]}` for `{name: x[name] for name in ("a", "b")}`, the same each time."""
    memo, key = module.memo, ("spelled out", node)
    if key not in memo:
        memo[key] = _spell_out(node)
    spelled: ast.Dict | None = memo[key]
    return spelled


def _spell_out(node: ast.DictComp) -> ast.Dict | None:
    loop = node.generators[0]
    names = loop.iter.elts if isinstance(loop.iter, ast.Tuple | ast.List | ast.Set) else []
    is_plain = len(node.generators) == 1 and not loop.ifs and isinstance(loop.target, ast.Name)
    if not is_plain or not names or not all(isinstance(name, ast.Constant) for name in names):
        return None
    target: Any = loop.target
    is_nested = any(isinstance(part, (*COMPREHENSIONS, *FUNCTIONS)) for part in ast.walk(node.value))
    if last_name(node.key) != target.id or is_nested:
        return None
    values = [_with_constant(node.value, target.id, name) for name in names]
    spelled = ast.copy_location(ast.Dict(list(names), values), node)
    for part in (spelled, *values):
        part._torchmp_up = node  # type: ignore[attr-defined]
    return spelled


def _with_constant(node: ast.expr, name: str, constant: ast.expr) -> ast.expr:
    """A copy of an expression with a constant for a variable."""
    if isinstance(node, ast.Name) and node.id == name:
        return ast.copy_location(ast.Constant(constant.value), node)  # type: ignore[attr-defined]
    fields: dict[str, Any] = {}
    for field, value in ast.iter_fields(node):
        parts = [_copied(part, name, constant) for part in (value if isinstance(value, list) else [value])]
        fields[field] = parts if isinstance(value, list) else parts[0]
    made = ast.copy_location(type(node)(**fields), node)
    for part in ast.iter_child_nodes(made):
        if isinstance(part, ast.expr | ast.keyword):
            part._torchmp_up = made  # type: ignore[union-attr]
    return made


def _copied(part: object, name: str, constant: ast.expr) -> object:
    if not isinstance(part, ast.expr | ast.keyword):
        return part
    return _with_constant(part, name, constant)  # type: ignore[arg-type]


def _constant(evaluator: Evaluator, node: ast.Constant, frame: Frame) -> Iterator[Value]:
    yield Constant(node.value, node, frame.module)


def _lambda(evaluator: Evaluator, node: ast.Lambda, frame: Frame) -> Iterator[Value]:
    yield Function(frame.module.scopes[node], frame)


def _conditional(evaluator: Evaluator, node: ast.IfExp, frame: Frame) -> Iterator[Value]:
    known = evaluator.truth(node.test, frame)
    if known is not False:
        yield from evaluator.values(node.body, frame)
    if known is not True:
        yield from evaluator.values(node.orelse, frame)


def _boolean(evaluator: Evaluator, node: ast.BoolOp, frame: Frame) -> Iterator[Value]:
    stops_at = isinstance(node.op, ast.Or)
    for index, operand in enumerate(node.values):
        values = evaluator.values(operand, frame)
        if index == len(node.values) - 1:
            yield from values
            return
        for value in values:
            truth = truth_of(value)
            if truth is None or truth == stops_at:
                yield value
            elif choices.is_choice(value):
                yield UNKNOWN  # what a user gives instead
        if all(truth_of(value) == stops_at and not choices.is_choice(value) for value in values):
            return


def _binary(evaluator: Evaluator, node: ast.BinOp, frame: Frame) -> Iterator[Value]:
    yield from builtin.binary(evaluator, node, frame)


def _unary(evaluator: Evaluator, node: ast.UnaryOp, frame: Frame) -> Iterator[Value]:
    for value in evaluator.values(node.operand, frame):
        if isinstance(value, Constant) and isinstance(value.value, int | float) and isinstance(node.op, ast.USub):
            yield Constant(-value.value, node, frame.module)
        elif isinstance(node.op, ast.Not) and truth_of(value) is not None:
            opposite = Constant(not truth_of(value), node, frame.module)
            yield choices.as_choice(opposite) if choices.is_choice(value) else opposite
        else:
            yield UNKNOWN


def _compare(evaluator: Evaluator, node: ast.Compare, frame: Frame) -> Iterator[Value]:
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield from _among(evaluator, node, frame)
        return
    if len(node.ops) != 1 or type(node.ops[0]) not in COMPARISONS:
        yield UNKNOWN
        return
    compare = COMPARISONS[type(node.ops[0])]
    lefts = evaluator.values(node.left, frame)
    if compare not in _IDENTITIES and not any(isinstance(left, Constant) for left in lefts):
        yield UNKNOWN
        return
    for left in lefts:
        for right in evaluator.values(node.comparators[0], frame):
            known = _compared(compare, left, right)
            if known is None:
                yield UNKNOWN
                continue
            chosen = choices.is_choice(left) or choices.is_choice(right)
            value = Constant(known, node, frame.module)
            yield choices.as_choice(value) if chosen else value


def _among(evaluator: Evaluator, node: ast.Compare, frame: Frame) -> Iterator[Value]:
    """`mode in ("train", "val")`, `mode in MODES`."""
    lefts = evaluator.values(node.left, frame)
    is_known = any(isinstance(left, Constant) for left in lefts)
    known, later = _listed(evaluator, node.comparators[0], frame) if is_known else (None, set())
    for left in lefts:
        if known is None or not isinstance(left, Constant) or (left.value not in known and left.value in later):
            yield UNKNOWN
            continue
        value = Constant((left.value in known) is isinstance(node.ops[0], ast.In), node, frame.module)
        yield choices.as_choice(value) if choices.is_choice(left) else value


def _listed(evaluator: Evaluator, node: ast.expr, frame: Frame) -> tuple[list[object] | None, set[object]]:
    """The constants in a collection, the keys of a dict, and the keys that it may get later.

    No constants where anything else may be in it.
    """
    known = listed_constants(node)
    if known is not None or not isinstance(node, ast.Name | ast.Attribute):
        return known, set()
    values = evaluator.values(node, frame)
    if len(values) != 1 or not isinstance(values[0], Collection):
        return None, set()
    listed = list(evaluator.elements(values))
    constants = [item.value for item in listed if isinstance(item, Constant)]
    if len(constants) != len(listed):
        return None, set()
    own = {entry.key for entry in values[0].entries}
    later = {value for value in constants if value not in own} if values[0].kind == "dict" else set()
    return [value for value in constants if value not in later], later


def _walrus(evaluator: Evaluator, node: ast.NamedExpr, frame: Frame) -> Iterator[Value]:
    yield from evaluator.values(node.value, frame)


def _joined(evaluator: Evaluator, node: ast.JoinedStr, frame: Frame) -> Iterator[Value]:
    start, way, is_whole = "", tuple[Hop, ...](), True
    for part in node.values:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            start += part.value
            continue
        assert isinstance(part, ast.FormattedValue)
        inner = evaluator.values(part.value, frame)
        if len(inner) != 1 or not isinstance(inner[0], Constant) or not isinstance(inner[0].value, str):
            is_whole = False
            break
        is_plain = part.format_spec is None and part.conversion == -1
        is_whole = is_whole and is_plain and not choices.is_choice(inner[0])
        if not start:
            way = inner[0].way
        elif not is_whole:
            break
        start += inner[0].value
    text: Value = (Constant if is_whole else Text)(start, node, frame.module) if start else UNKNOWN
    for hop in way:
        text = text.after(hop)
    yield text


def _starred(evaluator: Evaluator, node: ast.Starred, frame: Frame) -> Iterator[Value]:
    yield from evaluator.elements(evaluator.values(node.value, frame))


def _compared(compare: Callable[[Any, Any], bool], left: Value, right: Value) -> bool | None:
    """What a comparison of two values says, if it can be told: constants, and objects that are not None."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        try:
            return bool(compare(left.value, right.value))
        except TypeError:
            return None
    if compare in _IDENTITIES and isinstance(right, Constant) and right.value is None:
        is_something = isinstance(left, Collection | Text) or truth_of(left) is not None
        return compare is operator.is_not if is_something else None
    return None


COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}

_IDENTITIES = (operator.is_, operator.is_not)

HANDLERS: dict[type, Callable[[Any, Any, Frame], Iterator[Value]]] = {
    ast.Subscript: _subscript,
    ast.Constant: _constant,
    ast.Lambda: _lambda,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.NamedExpr: _walrus,
    ast.JoinedStr: _joined,
    ast.Starred: _starred,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}
