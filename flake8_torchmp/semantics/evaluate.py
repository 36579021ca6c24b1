"""What an expression can be: candidates in source order, each with the way it took.

Evaluation is by need. A function's body is read in a frame: as one call runs it, or as any call of the project might.
What cannot be seen is UNKNOWN; it never turns into a guess.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from . import (
    attributes,
    builtin,
    changes,
    choices,
    classes,
    command_line,
    expressions,
    iteration,
    names,
    received,
    records,
)
from .answers import DEEPEST, SMALL, Answers
from .argument_lists import ArgumentLists
from .callers import Callers, Deferred
from .calls import (
    Arguments,
    Frame,
    has_receiver,
    is_class_method,
    is_manager,
    is_plain,
)
from .codebase import Codebase
from .decisions import asks_for_entry, decidable_facts, may_be_decided, truth_of_entry
from .flow import Condition, reaching
from .module import Module
from .narrowing import passed_tests, question_of_type
from .nodes import COMPREHENSIONS, up
from .pouring import only_fills_up
from .scopes import Binding, Scope
from .values import (
    INSIDE,
    UNKNOWN,
    Class,
    Collection,
    Constant,
    External,
    Function,
    Hop,
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
    truth_of,
)

Values = tuple[Value, ...]

MOST_CANDIDATES = 24
DEEPEST_CALL = 7
_UNSEEN: Values = (UNKNOWN,)


class Evaluator(Answers):
    def __init__(
        self,
        codebase: Codebase,
        deferred: Mapping[str, Deferred],
        fluent: Mapping[str, frozenset[str]],
        *,
        asks_callers: bool = True,
    ) -> None:
        self.codebase = codebase
        self.fluent = fluent
        """Methods that give back their object, and how the names of the libraries' classes begin that have them."""
        self.asks_callers = asks_callers
        """Whether what a parameter can be is asked of the callers; if not, answers are cheap and see less."""
        self._deferred = deferred
        super().__init__(SMALL if asks_callers else sys.maxsize)
        self.forget()

    def forget(self) -> None:
        super().forget()
        self._frames: dict[tuple[Any, ...], Frame] = {}
        self.argument_lists = ArgumentLists(self)
        self._additions: dict[tuple[Any, ...], changes.Additions] = {}
        self.callers = Callers(self, self._deferred)

    # frames

    def frame(self, scope: Scope, arguments: Arguments | None, closure: Frame | None, receiver: Value | None) -> Frame:
        held: tuple[Any, ...] = ()
        if receiver is not None:
            held = (receiver.key, *map(id, receiver.additions))
        key = (id(scope), id(arguments), id(closure), held)
        frame = self._frames.get(key)
        if frame is None:
            if receiver is not None and receiver.way:  # by which way it came first must not be seen
                receiver = receiver.copy()
                receiver.way = ()
            frame = self._frames[key] = Frame(scope, arguments, closure, receiver)
        return frame

    def frame_of(self, scope: Scope) -> Frame:
        """The frame for a scope of which nothing is known but its place."""
        while isinstance(scope.node, COMPREHENSIONS):
            assert scope.parent is not None
            scope = scope.parent
        closure = self.frame_of(scope.parent) if scope.parent is not None else None
        return self.frame(scope, None, closure, None)

    def frame_at(self, node: ast.AST, module: Module) -> Frame:
        return self.frame_of(module.scope_of(node))

    def contexts(self, scope: Scope, depth: int = 3, most: int = 24) -> list[Frame]:
        """The frames in which a function may run: one for each chain of callers in the project, or the open one."""
        while isinstance(scope.node, COMPREHENSIONS):
            assert scope.parent is not None
            scope = scope.parent
        open_frame = self.frame_of(scope)
        if not scope.is_function or depth == 0:
            return [open_frame]
        found: list[Frame] = []
        callers = self.callers.of(scope)
        for index, (arguments, receiver) in enumerate(callers):
            share = -((len(found) - most) // (len(callers) - index))  # one that is called a lot must not hide the rest
            is_known = arguments.frame.arguments is not None
            for outer in [arguments.frame] if is_known else self.contexts(arguments.frame.scope, depth - 1, share):
                if outer.depth + 1 >= DEEPEST_CALL or self._is_running(scope, outer):
                    continue
                inner = self._arguments_in(outer, arguments)
                function_closure = outer.of(scope.parent) if scope.parent is not None else None
                if isinstance(arguments.call, ast.Call | ast.Attribute) and outer is not arguments.frame:
                    receiver = self.callers.receiver(arguments.call, scope, outer) or receiver
                made = self.frame(scope, inner, function_closure or open_frame.closure, receiver)
                if made not in found:
                    found.append(made)
            if len(found) >= most:
                break
        if found:
            return found[:most]
        return self._by_construction(scope, open_frame)[:most]

    def _arguments_in(self, outer: Frame, arguments: Arguments) -> Arguments | None:
        """The arguments of a call as another frame of its function has them; reading a property has none."""
        if isinstance(arguments.call, ast.Attribute) and not self.callers.is_deferred(arguments.call):
            return None
        if outer is arguments.frame:
            return arguments
        inner = self.arguments(arguments.call, outer)
        has_object = len(arguments.positional) < len(self.arguments(arguments.call, arguments.frame).positional)
        return self.argument_lists.without_first(inner) if has_object else inner  # of `Base.__init__(self, x)`

    def _by_construction(self, scope: Scope, open_frame: Frame) -> list[Frame]:
        """A method that nobody calls runs on the objects that the project makes."""
        if not has_receiver(scope) or is_class_method(scope.node) or scope.name == "__init__":
            return [open_frame]
        assert scope.parent is not None and scope.parent.parent is not None
        made = [
            self.frame(scope, None, open_frame.closure, Instance(cls, arguments))
            for cls, arguments in self.callers.constructions(scope.parent)
        ]
        return made or [open_frame]

    # values

    def values(self, node: ast.expr, frame: Frame) -> Values:
        """What an expression can be in a frame; never empty."""
        key = (id(node), id(frame))
        if not self.asks_callers and not self._running:
            self.start_afresh()
        known: Values | None = self._known_for_good(key)
        if known is not None:
            return known
        is_told = isinstance(node, ast.Constant)
        if not is_told and (self._depth >= DEEPEST or self._is_tired()):
            return self._cut_off(_UNSEEN)
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return _UNSEEN
        self._depth += 1
        try:
            return self._anew(key, lambda: _distinct(handler(self, node, frame)) or _UNSEEN, _UNSEEN, not is_told)
        finally:
            self._depth -= 1

    def of(self, source: Source) -> Values:
        return self.values(source.node, source.frame)

    # names

    def _name(self, node: ast.Name, frame: Frame) -> Iterator[Value]:
        module = frame.module
        use_scope = module.scope_of(node)
        for value in self.lookup(node.id, node, use_scope, frame):
            yield value.after(Hop(node, module, node.id))

    def lookup(self, name: str, use: ast.AST, use_scope: Scope, frame: Frame) -> Iterator[Value]:
        scope = self.scope_binding(name, use_scope)
        if scope is None:
            yield from names.from_star(self, name, use_scope.module)
            return
        inner = self.frame_in(scope, frame)
        tests = passed_tests(name, use, scope) if scope is use_scope else ()
        for binding in reaching(scope.bindings[name], use, scope, use_scope):
            if binding.kind == "augmented" and len(scope.bindings[name]) > 1:
                continue
            if self.never(binding.node, inner):
                continue
            for value in self.bound(binding, inner):
                if not (tests and any(test.excludes(value, binding) for test in tests)):
                    yield self.as_left(value, name, scope, use, inner)
                elif choices.is_choice(value):
                    yield UNKNOWN  # what a user gives instead

    def as_left(self, value: Value, name: str, scope: Scope, use: ast.AST, frame: Frame) -> Value:
        """A variable's value with what is put on it, and without what is surely taken out before a use."""
        if isinstance(value, Collection | Instance | Result | Class | Member):
            additions = changes.additions(self, name, scope, frame)
            value = value.with_additions(additions) if additions is not None else value
        if isinstance(value, Collection):
            taken = changes.taken_out(self, name, scope, value.node, use)
            value = value.without(taken) if taken else value
        return value

    def scope_binding(self, name: str, scope: Scope) -> Scope | None:
        """The scope whose variable a name is."""
        current: Scope | None = scope
        if name in scope.global_names:
            return scope.module.scope if name in scope.module.scope.bindings else None
        while current is not None:
            if name in current.bindings and (not current.is_class or current is scope):
                return current
            current = current.parent
        return None

    def frame_in(self, scope: Scope, frame: Frame) -> Frame:
        """The frame for a scope, seen from a frame inside it."""
        while isinstance(scope.node, COMPREHENSIONS):
            assert scope.parent is not None
            scope = scope.parent
        return frame.of(scope) or self.frame_of(scope)

    def name_in_module(self, name: str, module: Module) -> Values:
        """What a module offers under a name, once it has been imported."""
        key = (id(module.scope), name)
        return self.once(key, lambda: _distinct(names.offered(self, name, module)) or _UNSEEN, _UNSEEN)

    def bound(self, binding: Binding, frame: Frame) -> Iterator[Value]:
        """What a binding gives its name."""
        kind, value = binding.kind, binding.value
        if kind in ("assign", "walrus", "match") and value is not None and not binding.path:
            yield from self.values(value, frame)
        elif kind in ("assign", "unpack", "walrus") and value is not None:
            yield from self.unpacked(self.values(value, frame), binding.path)
        elif kind == "parameter":
            yield from received.values_of(self, binding.name, frame)
        elif kind == "def":
            yield from names.defined(self, binding.node, frame)
        elif kind == "class":
            yield Class(frame.module.scopes[binding.node], frame)
        elif kind == "import":
            yield from names.imported(self, binding.node, frame.module)
        elif kind == "from":
            yield from names.imported_from(self, binding.node, frame.module)
        elif kind == "for" and value is not None:
            for element in self.elements(self.values(value, frame)):
                yield from self.unpacked((element,), binding.path)
        elif kind == "with" and value is not None:
            yield from self.unpacked(self.given(value, frame), binding.path)
        else:
            yield UNKNOWN

    def given(self, node: ast.expr, frame: Frame) -> Values:
        """What an expression gives the name or attribute that it is for: what `with` enters, it binds."""
        values = self.values(node, frame)
        return self.entered(values) if isinstance(up(node), ast.withitem) else values

    def entered(self, values: Values) -> Values:
        """What `with` binds."""
        return tuple(given for value in values for given in iteration.entered(self, value))

    def unpacked(self, values: Values, path: tuple[int, ...]) -> Values:
        for index in path:
            found: list[Value] = []
            for value in values:
                if (
                    isinstance(value, Collection)
                    and 0 <= index < len(value.entries)
                    and value.kind in ("tuple", "list")
                ):
                    found += (along(inner, value) for inner in self.of(value.entries[index].source))
                elif isinstance(value, Collection) and (sources := iteration.at_any_place(self, value)):
                    found += (along(inner, value) for source in sources for inner in self.of(source))
                elif isinstance(value, Result) and value.name.removesuffix("()") in iteration.ITERATORS:
                    found += iteration.iterated(self, value)
                elif isinstance(value, Result):
                    found.append(Member(value, INSIDE))
                else:
                    found.append(UNKNOWN)
            values = _distinct(iter(found))
        return values

    # calls

    def arguments(self, call: ast.AST, frame: Frame) -> Arguments:
        """The arguments of a call (or of class keywords), spread out."""
        return self.argument_lists.of(call, frame)

    def _call(self, node: ast.Call, frame: Frame) -> Iterator[Value]:
        for callee in self.values(node.func, frame):
            if isinstance(callee, Unknown):
                yield from command_line.left_out(self, node, frame)
                yield UNKNOWN
                continue
            for value in self.result(callee, self.arguments(node, frame)):
                if isinstance(callee, Member) and isinstance(callee.owner, Collection):
                    yield value.after(Hop(node, frame.module, f".{callee.name}()"))
                else:
                    yield value

    def result(self, callee: Value, arguments: Arguments) -> Iterator[Value]:
        """What calling a value gives."""
        if isinstance(callee, Function | Method):
            inner = self.enter(callee, arguments)
            if inner is None:
                yield UNKNOWN
                return
            if inner.scope.is_generator and (is_plain(inner.scope.node) or is_manager(inner.scope.node)):
                yield Result(callee, arguments)
                return
            for value in self.returned(inner):
                yield value.after(Hop(arguments.call, arguments.frame.module, f"{inner.scope.name}()"))
        elif isinstance(callee, Class):
            yield Instance(callee, arguments)
        elif isinstance(callee, Partial):
            yield from self.result(callee.callee, self.argument_lists.joined(callee.arguments, arguments))
        elif isinstance(callee, Instance):
            found = [m for m in attributes.attribute(self, callee, "__call__") if isinstance(m, Method)]
            for method in found:
                yield from self.result(method, arguments)
            if not found:
                yield UNKNOWN
        elif isinstance(callee, External | Member):
            yield from builtin.result(self, callee, arguments)
        elif records.is_made_class(callee):
            yield Result(callee, arguments)
        elif isinstance(callee, Result) and callee.name in builtin.CACHES and arguments.positional:
            yield from (builtin.cached(value, callee, arguments) for value in self.of(arguments.positional[0]))
        else:
            yield UNKNOWN

    def enter(self, callee: Value, arguments: Arguments) -> Frame | None:
        """The frame in which a call runs a function; None where calls go too deep to follow."""
        function = callee.function if isinstance(callee, Method) else callee
        assert isinstance(function, Function)
        receiver = callee.receiver if isinstance(callee, Method) else None
        outer = arguments.frame
        if outer.depth + 1 >= DEEPEST_CALL or self._is_running(function.scope, outer):
            return None
        if receiver is None and has_receiver(function.scope) and arguments.positional:
            # `Base.method(self, x)`: the object is the first argument
            receiver = self.of(arguments.positional[0])[0]
            arguments = self.argument_lists.without_first(arguments)
        return self.frame(function.scope, arguments, function.closure, receiver)

    @staticmethod
    def _is_running(scope: Scope, frame: Frame) -> bool:
        current: Frame | None = frame
        while current is not None:
            if current.scope is scope:
                return True
            current = current.arguments.frame if current.arguments is not None else None
        return False

    def returned(self, frame: Frame) -> Values:
        """What a function returns in a frame."""
        return self.once((id(frame), "returned"), lambda: _distinct(self._returns(frame)) or _UNSEEN, _UNSEEN)

    def _returns(self, frame: Frame) -> Iterator[Value]:
        scope = frame.scope
        if isinstance(scope.node, ast.Lambda):
            yield from self.values(scope.node.body, frame)
            return
        if scope.is_generator or isinstance(scope.node, ast.AsyncFunctionDef) or not scope.returns:
            yield UNKNOWN
            return
        for statement in scope.returns:
            if statement.value is not None and not self.never(statement, frame):
                yield from self.values(statement.value, frame)

    # attributes, elements

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Iterator[Value]:
        for base in self.values(node.value, frame):
            settled = list(attributes.settled_before(self, base, node, frame)) if isinstance(base, Instance) else []
            added = [inner for additions in base.additions if (inner := additions.of_attribute(node.attr)) is not None]
            for value in settled or self.member(base, node.attr, node, frame):
                for inner in added if isinstance(value, Instance) else ():
                    value = value.with_additions(inner)
                yield value.after(Hop(node, frame.module, f".{node.attr}"))

    def member(self, base: Value, name: str, node: ast.AST, frame: Frame) -> Iterator[Value]:
        if isinstance(base, ModuleValue):
            yield from self._module_member(base, name, frame)
        elif isinstance(base, External):
            yield External(f"{base.name}.{name}", node, frame.module)
        elif name == "__dict__":
            yield builtin.as_mapping(self, base, self.argument_lists.no_arguments(node, frame))
        elif isinstance(base, Instance | Class | Super):
            yield from attributes.attribute(self, base, name)
        elif isinstance(base, Constant) and name == "value":
            yield base  # a member of an Enum
        elif isinstance(base, Unknown | Text) or (isinstance(base, Constant) and not isinstance(base.value, str)):
            yield UNKNOWN
        else:
            stored = base.added_attributes(name)
            for extra in changes.latest(stored, node, frame) if len(stored) > 1 else stored:
                yield from self.of(extra.source)
            if stored:
                return
            option = command_line.option(self, base, name)
            if option is not None:
                yield from option
                return
            kept = base.arguments.keywords if isinstance(base, Result) and records.keeps_arguments(base) else {}
            if name in kept:
                yield from self.of(kept[name])
            else:
                yield Member(base, name)

    def _module_member(self, base: ModuleValue, name: str, frame: Frame) -> Iterator[Value]:
        module = self.codebase.module(base.path) if base.path else None
        if module is not None:
            yield from self.name_in_module(name, module)
            return
        found = self.codebase.find(f"{base.name}.{name}", frame.module.path)
        yield ModuleValue(found[0], found[1]) if found is not None else UNKNOWN

    def items(self, value: Value) -> Iterator[tuple[object, Source]]:
        """The elements of a collection with their keys, those that were added later included."""
        there: set[object] = set()
        if isinstance(value, Collection):
            for entry in value.entries:
                there.add(entry.key)
                yield entry.key, entry.source
        for extra in value.added_items():
            if extra.kind == "entry":
                if extra.label not in there or not only_fills_up(extra):
                    yield extra.label or None, extra.source
            elif extra.kind == "element":
                yield None, extra.source
            elif extra.kind == "elements":
                for added in self.of(extra.source):
                    for key, source in self._plain_items(added):
                        if key not in there or not extra.is_default:
                            yield key, source

    @staticmethod
    def _plain_items(value: Value) -> Iterator[tuple[object, Source]]:
        """The elements that a collection was made with: what was added to it later could lead in circles."""
        for entry in value.entries if isinstance(value, Collection) else ():
            yield entry.key, entry.source
        for extra in value.added_items():
            if extra.kind in ("entry", "element"):
                yield extra.label or None, extra.source

    def elements(self, values: Values) -> Iterator[Value]:
        """What a loop over some values gives."""
        for value in values:
            if isinstance(value, Collection):
                seen = False
                for key, source in self.items(value):
                    seen = True
                    if value.kind == "dict":
                        yield Constant(key, source.node, source.frame.module) if key is not None else UNKNOWN
                    else:
                        yield from (along(inner, value) for inner in self.of(source))
                if not seen or not (value.complete or isinstance(value.node, COMPREHENSIONS)):
                    yield UNKNOWN
            elif isinstance(value, Result):
                yield from iteration.iterated(self, value)
            else:
                yield UNKNOWN

    def additions(self, key: tuple[Any, ...], made: Callable[[], changes.Changed]) -> changes.Additions:
        """What is put on the object of a variable or attribute, in one frame."""
        if key not in self._additions:
            self._additions[key] = changes.Additions(self, made())
        return self._additions[key]

    # conditions

    def truth(self, test: ast.expr, frame: Frame) -> bool | None:
        """Whether a test is known to hold; what a user can choose is never known."""
        if isinstance(test, ast.BoolOp):
            parts = [self.truth(part, frame) if may_be_decided(part) else None for part in test.values]
            decides = isinstance(test.op, ast.Or)
            return decides if decides in parts else None if None in parts else not decides
        if isinstance(test, ast.Subscript):
            return truth_of_entry(self, test, frame) if asks_for_entry(test) else None
        if isinstance(test, ast.Call):
            asked = question_of_type(test, frame.module)
            given = self.values(test.args[0], frame) if asked is not None else ()
            said = {asked(value) if asked and not choices.is_choice(value) else None for value in given}
            return said.pop() if len(said) == 1 else None
        values = self.values(test, frame) if isinstance(test, _DECIDABLE) else ()
        known = {truth_of(value) for value in values if not choices.is_choice(value)}
        if len(known) == 1 and len(values) >= 1 and not any(choices.is_choice(value) for value in values):
            return known.pop()
        return None

    def never(self, node: ast.AST, frame: Frame) -> bool:
        """Whether a node is known not to run in a frame."""
        if frame.arguments is None and not (isinstance(frame.receiver, Instance) and frame.receiver.arguments):
            return False
        tests = decidable_facts(node, frame.module)
        return bool(tests) and self.kept((id(node), id(frame), "never"), lambda: self._is_excluded(tests, frame))

    def _is_excluded(self, tests: list[Condition], frame: Frame) -> bool:
        for test, holds in tests:  # noqa: SIM110 - asked too often for a generator
            if self.truth(test, frame) is (not holds):
                return True
        return False

    # classes

    def mro(self, cls: Class) -> tuple[Value, ...]:
        """A class and its bases in order: classes of the project, and names of libraries."""
        return self.once((id(cls.scope), "mro"), lambda: classes.linearize(self, cls), (cls,))


def _distinct(values: Iterator[Value]) -> Values:
    first = next(values, None)
    second = next(values, None) if first is not None else None
    if first is None or second is None:
        return () if first is None else (first,)
    found: dict[tuple[Any, ...], Value] = {first.key: first}
    for value in chain((second,), values):
        key = value.key
        known = found.get(key)
        if known is None or (value.additions and not known.additions):
            found[key] = value
            if len(found) >= MOST_CANDIDATES:
                break
    return tuple(found.values())


_DECIDABLE = (ast.Name, ast.Attribute, ast.Constant, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Compare)


_HANDLERS: dict[type, Callable[[Any, Any, Frame], Iterator[Value]]] = {
    ast.Name: Evaluator._name,
    ast.Attribute: Evaluator._attribute,
    ast.Call: Evaluator._call,
    **expressions.HANDLERS,
}
