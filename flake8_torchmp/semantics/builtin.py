"""What Python's own functions and operators make of values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from . import attributes, choices, classes, command_line
from .calls import Arguments, Frame
from .given_attributes import has_been_given
from .iteration import column_of, element, entered
from .nodes import dotted, position, statement_of, up
from .received import receiver
from .records import RECORDS
from .values import (
    UNKNOWN,
    Class,
    Collection,
    Constant,
    Entry,
    External,
    Function,
    Instance,
    Member,
    Method,
    ModuleValue,
    Partial,
    Result,
    Source,
    Super,
    Text,
    Unknown,
    Value,
    along,
    as_element,
    qualified,
    with_same_elements,
)

if TYPE_CHECKING:
    from .evaluate import Evaluator

NAMES = frozenset(dir(builtins))

SAME = frozenset(
    "builtins.staticmethod builtins.classmethod builtins.property copy.copy copy.deepcopy typing.cast builtins.iter "
    "contextlib.closing contextlib.nullcontext functools.lru_cache functools.cache typing.Final".split()
)
"""Calls that give back their (last) argument, as far as we look."""

CACHES = frozenset(("functools.lru_cache", "functools.cache"))
COPIES = {
    "builtins.list": "list",
    "builtins.tuple": "tuple",
    "builtins.set": "set",
    "builtins.frozenset": "set",
    "builtins.sorted": "list",
    "builtins.reversed": "list",
    "collections.deque": "list",
    "itertools.chain": "list",
    "itertools.cycle": "list",
}
ELEMENT_OF = frozenset("builtins.next builtins.max builtins.min random.choice".split())
"""Calls that give one of the elements of their only argument."""
MAPPINGS = frozenset(("builtins.dict", "collections.OrderedDict", "types.MappingProxyType", "collections.Counter"))
ATTRIBUTES_OF = frozenset("builtins.vars dataclasses.asdict attr.asdict attrs.asdict".split())
REPLACING = frozenset("dataclasses.replace copy.replace attr.evolve attrs.evolve".split())
"""Calls that give a record like another one but for some fields."""
STACKS = frozenset(("contextlib.ExitStack()", "contextlib.AsyncExitStack()"))
ENTERING = frozenset(("enter_context", "enter_async_context"))
TAKING_APART = frozenset("split rsplit partition rpartition".split())
ANY = "*"
"""Stands for a name that only running tells."""


def result(evaluator: Evaluator, callee: External | Member, arguments: Arguments) -> Iterator[Value]:
    """What calling something that the project does not define gives."""
    name = callee.name if isinstance(callee, External) else ""
    if isinstance(callee, Member):
        yield from _method_result(evaluator, callee, arguments)
    elif name.endswith(".__new__") and arguments.positional:
        for value in evaluator.of(arguments.positional[0]):
            yield Instance(value, arguments) if isinstance(value, Class) else UNKNOWN
    elif name == "functools.partial" or name == "functools.partialmethod":
        yield from _partial(evaluator, arguments)
    elif name == "builtins.super":
        yield _super(arguments)
    elif name == "builtins.getattr":
        yield from _getattr(evaluator, arguments)
    elif isinstance(callee, External) and name == "importlib.import_module" and len(arguments.positional) == 1:
        yield from _imported(evaluator, callee, arguments)
    elif name in SAME and arguments.positional:
        for value in evaluator.of(arguments.positional[-1]):
            if name in CACHES:
                yield Result(callee, arguments) if isinstance(value, Constant) else cached(value, callee, arguments)
            else:
                yield value
    elif name == "functools.reduce" and arguments.positional:
        yield from _reduced(evaluator, callee, arguments)
    elif name in COPIES:
        yield from _copied(evaluator, COPIES[name], arguments)
    elif name in MAPPINGS:
        yield from _mapping(evaluator, arguments)
    elif name in ELEMENT_OF and len(arguments.positional) == 1:
        for value in evaluator.of(arguments.positional[0]):
            is_list = isinstance(value, Collection) and value.kind != "dict"
            yield from evaluator.elements((value,)) if is_list else (Result(callee, arguments),)
    elif name in ATTRIBUTES_OF and arguments.positional:
        for value in evaluator.of(arguments.positional[0]):
            yield as_mapping(evaluator, value, arguments)
    elif name in ("os.environ.get", "os.getenv") and (default := arguments.get(1, "default")) is not None:
        yield from (choices.as_choice(value) for value in evaluator.of(default))
        yield Result(callee, arguments)
    elif name in REPLACING and arguments.positional:
        for value in evaluator.of(arguments.positional[0]):
            yield _replaced(evaluator, value, arguments)
    elif name == "builtins.type" and len(arguments.positional) == 1:
        for value in evaluator.of(arguments.positional[0]):
            yield value.cls if isinstance(value, Instance) else UNKNOWN
    elif name in ("builtins.int", "builtins.str", "builtins.bool", "builtins.float") and len(arguments.positional) == 1:
        for value in evaluator.of(arguments.positional[0]):
            kept = isinstance(value, Constant | Text) or (name == "builtins.str" and isinstance(value, Result))
            yield value if kept else UNKNOWN
    else:
        yield Result(callee, arguments)


def cached(value: Value, cache: Value, arguments: Arguments) -> Value:
    """A function as a cache around it leaves it: found by its name where that is given to the cache."""
    holder, scope = up(arguments.call), arguments.frame.scope
    function = value.function if isinstance(value, Method) else value
    targets = holder.targets if isinstance(holder, ast.Assign) else []
    if not isinstance(function, Function) or (
        scope is function.scope.parent
        and (scope.is_class or any(dotted(target) == function.scope.name for target in targets))
    ):
        return value
    inner = function.copy()
    assert isinstance(inner, Function)
    inner.decorated_by = Result(cache, arguments)
    return along(Method(value.receiver, inner), value) if isinstance(value, Method) else inner


def _replaced(evaluator: Evaluator, value: Value, arguments: Arguments) -> Value:
    """A record with some of its fields replaced."""
    if not isinstance(value, Instance) or value.arguments is None or not classes.is_record(evaluator, value.cls):
        return UNKNOWN
    names = list(classes.fields(evaluator, value.cls))
    lists = evaluator.argument_lists
    return Instance(value.cls, lists.replaced(value.arguments, names, lists.without_first(arguments)))


def _partial(evaluator: Evaluator, arguments: Arguments) -> Iterator[Value]:
    source = arguments.get(0)
    if source is None:
        yield UNKNOWN
        return
    rest = evaluator.argument_lists.without_first(arguments)
    for value in evaluator.of(source):
        yield Partial(value, rest)


def _reduced(evaluator: Evaluator, callee: External | Member, arguments: Arguments) -> Iterator[Value]:
    """What the function gives that puts two elements together."""
    for value in evaluator.of(arguments.positional[0]):
        if isinstance(value, Function):
            yield from evaluator.returned(evaluator.frame(value.scope, None, value.closure, None))
        else:
            yield Result(callee, arguments)


def _super(arguments: Arguments) -> Value:
    frame: Frame | None = arguments.frame
    while frame is not None and not (frame.scope.is_function and frame.scope.parent and frame.scope.parent.is_class):
        frame = frame.closure
    if frame is None or frame.scope.parent is None:
        return UNKNOWN
    cls = Class(frame.scope.parent, frame.closure.closure if frame.closure else None)
    return Super(cls, receiver(frame))


def _getattr(evaluator: Evaluator, arguments: Arguments) -> Iterator[Value]:
    base, name = arguments.get(0), arguments.get(1)
    if base is None or name is None:
        yield UNKNOWN
        return
    for label in evaluator.of(name):
        if isinstance(label, Constant) and isinstance(label.value, str):
            for value in evaluator.of(base):
                function = value.function if isinstance(value, Method) else value
                default = arguments.get(2)
                if default and isinstance(function, Function) and not has_been_given(function, label.value):
                    yield from evaluator.of(default)
                    continue
                yield from evaluator.member(value, label.value, base.node, arguments.frame)
                if isinstance(value, Unknown | Result | Member):
                    yield from command_line.left_out(evaluator, arguments.call, arguments.frame)
        else:
            for value in evaluator.of(base):
                yield some_attribute(value) if isinstance(value, External) else UNKNOWN


def _imported(evaluator: Evaluator, callee: External, arguments: Arguments) -> Iterator[Value]:
    """`importlib.import_module("h5py")`"""
    module = arguments.frame.module
    for value in evaluator.of(arguments.positional[0]):
        name = value.value if isinstance(value, Constant) else None
        if not isinstance(name, str) or name.startswith("."):
            yield Result(callee, arguments)
            continue
        found = evaluator.codebase.find(name, module.path)
        yield ModuleValue(name, found[1]) if found is not None else External(name, arguments.call, module)


def some_attribute(library: External) -> External:
    """What a library has under a name that only running tells: `getattr(datasets, name)`, `datasets.__dict__[name]`."""
    return External(f"{library.name.removesuffix('.__dict__')}.{ANY}", library.node, library.module)


def _copied(evaluator: Evaluator, kind: str, arguments: Arguments) -> Iterator[Value]:
    entries: list[Entry] = []
    holders: list[Value] = []
    complete = not arguments.is_open
    for source in arguments.positional:
        values = evaluator.of(source)
        lists = [v for v in values if isinstance(v, Collection) and v.kind != "dict"]  # of a dict it takes the keys
        entries += [Entry(None, item) for _, item in together(evaluator, lists)]
        holders += lists
        if any(isinstance(value, Result) and value.name in ("builtins.map", "builtins.filter") for value in values):
            entries.append(Entry(None, element(source)))
        complete = complete and len(lists) == len(values) and all(value.complete for value in lists)
    made = Collection(kind, tuple(entries), complete, arguments.call, arguments.frame.module)
    yield with_same_elements(made, holders)


def together(evaluator: Evaluator, values: Iterable[Value]) -> list[Entry]:
    """The elements of all that something can be: lists that are made of one another hold the same."""
    entries: list[Entry] = []
    seen: set[Entry] = set()
    for value in values:
        items = [Entry(key, source) for key, source in evaluator.items(value)]
        entries += [entry for entry in items if entry not in seen]
        seen.update(items)
    return entries


def _mapping(evaluator: Evaluator, arguments: Arguments) -> Iterator[Value]:
    entries: dict[object, Entry] = {}
    complete = not arguments.is_open
    for source in arguments.positional:
        for value in evaluator.of(source):
            if isinstance(value, Collection) and value.kind == "dict":
                entries.update({key: Entry(key, item) for key, item in evaluator.items(value)})
            else:
                complete = False
                entries.update(
                    {
                        key if key is not None else id(item.node): Entry(key, item)
                        for key, item in (*_zipped(evaluator, value), *_paired(evaluator, value))
                    }
                )
    entries.update({name: Entry(name, item) for name, item in arguments.keywords.items()})
    yield Collection("dict", tuple(entries.values()), complete, arguments.call, arguments.frame.module)


def _paired(evaluator: Evaluator, value: Value) -> Iterator[tuple[object, Source]]:
    """The keys and values of `dict([("crop", crop), ("flip", flip)])`."""
    for _, item in evaluator.items(value) if isinstance(value, Collection) else ():
        for pair in evaluator.of(item):
            if isinstance(pair, Collection) and pair.kind in ("tuple", "list") and len(pair.entries) == 2:
                keys = [key.value for key in evaluator.of(pair.entries[0].source) if isinstance(key, Constant)]
                yield keys[0] if len(keys) == 1 else None, pair.entries[1].source


def _zipped(evaluator: Evaluator, value: Value) -> list[tuple[object, Source]]:
    """The keys, as far as they can be seen, and the values of `dict(zip(names, files))`."""
    if not isinstance(value, Result) or value.name != "builtins.zip" or len(value.arguments.positional) != 2:
        return []
    first, second = value.arguments.positional
    items = list(column_of(evaluator, second)) or [element(second)]
    names = [evaluator.of(name) for name in column_of(evaluator, first)]
    if len(names) != len(items) or not all(len(n) == 1 and isinstance(n[0], Constant) for n in names):
        return [(None, item) for item in items]
    return [(name.value, item) for [name], item in zip(names, items, strict=True)]  # type: ignore[attr-defined]


def as_mapping(evaluator: Evaluator, value: Value, arguments: Arguments) -> Value:
    """The attributes of a record as a dict: `vars(options)`, `asdict(config)`."""
    found: dict[object, Source] = {}
    if isinstance(value, Instance) and classes.is_record(evaluator, value.cls):
        found.update(attributes.field_sources(evaluator, value))
    elif isinstance(value, Result) and value.name.removesuffix("()") in RECORDS:
        found.update(value.arguments.keywords)
    elif options := command_line.read_all(evaluator, value, arguments):
        entries = tuple(Entry(name, source) for name, source in options.items())
        return Collection("dict", entries, False, arguments.call, arguments.frame.module)
    elif isinstance(value, External):
        return External(f"{value.name}.__dict__", value.node, value.module)
    else:
        return UNKNOWN
    found.update({e.label: e.source for e in value.added_attributes() if e.label == e.attribute})
    entries = tuple(Entry(key, source) for key, source in found.items())
    return Collection("dict", entries, True, arguments.call, arguments.frame.module)


def _method_result(evaluator: Evaluator, callee: Member, arguments: Arguments) -> Iterator[Value]:
    owner, name = callee.owner, callee.name
    if isinstance(owner, Constant):
        if name == "format":
            yield Text(str(owner.value).partition("{")[0], owner.node, owner.module)
        elif (
            name in TAKING_APART
            and isinstance(owner.value, str)
            and not choices.is_choice(owner)
            and (name.endswith("partition") or _is_unpacked(arguments.call))
        ):
            yield _taken_apart(evaluator, owner.value, name, arguments)
        else:
            yield UNKNOWN
        return
    if name in ENTERING and qualified(owner) in STACKS and arguments.positional:
        for value in evaluator.of(arguments.positional[0]):
            yield from entered(evaluator, value)
        return
    if isinstance(owner, Instance) and name in evaluator.fluent and _gives_itself(evaluator, owner, name):
        yield owner
        return
    if isinstance(owner, Instance) and name in ("_asdict", "model_dump", "dict"):
        yield as_mapping(evaluator, owner, arguments)
        return
    if is_globals(owner) and name in ("get", "pop", "__getitem__") and arguments.positional:
        yield from named_global(evaluator, owner, evaluator.of(arguments.positional[0]))
        return
    if not isinstance(owner, Collection):
        yield from command_line.left_out(evaluator, arguments.call, arguments.frame)
        yield Result(callee, arguments)
        return
    key_source = arguments.get(0)
    if name == "copy":
        yield owner
    elif name in ("get", "pop", "setdefault", "__getitem__") and key_source is not None:
        keys = [v.value for v in evaluator.of(key_source) if isinstance(v, Constant)]
        found = [item for key, item in evaluator.items(owner) if not keys or key is None or key in keys]
        for item in found:
            yield from (as_element(value, owner, keys[0] if keys else None) for value in evaluator.of(item))
        default = arguments.get(1, "default")
        if default is not None and not (keys and any(not _is_put_in_later(item, arguments) for item in found)):
            yield from evaluator.of(default)
        elif not found:
            yield UNKNOWN
    elif name in ("pop", "popleft") and owner.kind != "dict":
        yield from evaluator.elements((owner,))
    elif name == "values":
        entries = tuple(Entry(None, item) for _, item in evaluator.items(owner))
        made = Collection("list", entries, owner.complete, arguments.call, arguments.frame.module)
        yield with_same_elements(made, [owner])
    elif name in ("items", "keys"):
        yield Result(callee, arguments)
    else:
        yield UNKNOWN


def _is_put_in_later(item: Source, asked: Arguments) -> bool:
    """Whether a function puts an entry in where or behind where it asks for one.

    `options["x"] = options.get("x", default)`
    """
    if item.frame.scope is not asked.frame.scope or not isinstance(item.node, ast.expr):
        return False
    return position(statement_of(item.node)) >= position(statement_of(asked.call))


def _gives_itself(evaluator: Evaluator, owner: Instance, name: str) -> bool:
    """`network = Network().to(device)`"""
    beginnings = tuple(evaluator.fluent[name])
    return any(base.startswith(beginnings) for base in classes.library_bases(evaluator, owner.cls))


def is_globals(value: Value) -> bool:
    return isinstance(value, Result) and value.name == "builtins.globals"


def named_global(evaluator: Evaluator, table: Value, names: Iterable[Value]) -> Iterator[Value]:
    """`globals()["main"]`"""
    assert isinstance(table, Result)
    module = table.arguments.frame.module
    for name in names:
        text = name.value if isinstance(name, Constant) else None
        is_bound = isinstance(text, str) and text in module.scope.bindings
        yield from evaluator.name_in_module(str(text), module) if is_bound else (UNKNOWN,)


def _is_unpacked(call: ast.AST) -> bool:
    """`module, name = path.split(":")`; what loops over the parts is not followed from one part to the next."""
    statement = up(call)
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)


def _taken_apart(evaluator: Evaluator, text: str, name: str, arguments: Arguments) -> Value:
    """`"tasks.parity:Task".partition(":")`"""
    given = [evaluator.of(source) for source in arguments.positional]
    if arguments.keywords or not all(len(values) == 1 and isinstance(values[0], Constant) for values in given):
        return UNKNOWN
    try:
        parts = getattr(text, name)(*(value.value for [value] in given))  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return UNKNOWN
    memo, module = arguments.frame.module.memo, arguments.frame.module
    entries = []
    for index, part in enumerate(parts):
        node = memo.setdefault(("part", arguments.call, index, part), ast.Constant(part))
        entries.append(Entry(None, Source(ast.copy_location(node, arguments.call), arguments.frame)))
    return Collection("list", tuple(entries), True, arguments.call, module)


def _adds_by_library(evaluator: Evaluator, value: Instance) -> bool:
    """Whether what `+` gives is up to a base class of a library."""
    if classes.find_method(evaluator, value.cls, "__add__") is not None:
        return False
    return bool(classes.library_bases(evaluator, value.cls))


OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "__add__",
    ast.BitAnd: "__and__",
    ast.BitOr: "__or__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.LShift: "__lshift__",
    ast.MatMult: "__matmul__",
    ast.Mult: "__mul__",
    ast.RShift: "__rshift__",
}
"""By operator, the method that classes of pipelines, paths and datasets define to be put together by it."""


def _operated(evaluator: Evaluator, node: ast.BinOp, lefts: tuple[Value, ...], frame: Frame) -> Iterator[Value]:
    """What an operator gives that the class of its left side defines: `pipeline | step`."""
    name = OPERATORS.get(type(node.op), "")
    owners = [value for value in lefts if isinstance(value, Instance)]
    if not owners or not name or not evaluator.codebase.may_define(name):
        return
    right = evaluator.argument_lists.without_first(evaluator.argument_lists.operands(node, frame))
    for owner in owners:
        method = classes.find_method(evaluator, owner.cls, name)
        if method is not None:
            yield from evaluator.result(Method(owner, method), right)


def binary(evaluator: Evaluator, node: ast.BinOp, frame: Frame) -> Iterator[Value]:
    lefts = evaluator.values(node.left, frame)
    operated = tuple(_operated(evaluator, node, lefts, frame))
    if operated:
        yield from operated
        return
    if isinstance(node.op, ast.Add | ast.BitOr) and any(isinstance(v, Collection) for v in lefts):
        rights = evaluator.values(node.right, frame)
        entries = together(evaluator, lefts) + together(evaluator, rights)
        complete = all(isinstance(v, Collection) and v.complete for v in (*lefts, *rights))
        kind = next(v.kind for v in lefts if isinstance(v, Collection))
        last = {entry.key: entry for entry in entries if entry.key is not None}
        kept = tuple(e for e in entries if e.key is None or last[e.key] is e)
        yield Collection(kind, kept, complete, node, frame.module)
        return
    if isinstance(node.op, ast.Mult):
        for value in lefts:
            yield value if isinstance(value, Collection) else UNKNOWN
        return
    if isinstance(node.op, ast.Div):
        # paths: `base / "name"`
        yield Result(External("operator.truediv", node, frame.module), evaluator.argument_lists.operands(node, frame))
        return
    for value in lefts:
        if isinstance(value, Instance) and isinstance(node.op, ast.Add) and _adds_by_library(evaluator, value):
            yield Result(External("operator.add", node, frame.module), evaluator.argument_lists.operands(node, frame))
            continue
        start = value.value if isinstance(value, Constant) and isinstance(value.value, str) else None
        if isinstance(value, Text):
            start = value.start
        if start is None or not isinstance(node.op, ast.Add | ast.Mod):
            yield UNKNOWN
            continue
        rights = evaluator.values(node.right, frame) if isinstance(node.op, ast.Add) else ()
        if len(rights) == 1 and isinstance(rights[0], Constant) and isinstance(rights[0].value, str):
            joined = Constant(start + rights[0].value, node, frame.module)
            yield choices.as_choice(joined) if choices.is_choice(value) else joined
        else:
            yield Text(start.partition("%")[0] if isinstance(node.op, ast.Mod) else start, node, frame.module)
