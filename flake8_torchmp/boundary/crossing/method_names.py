"""Where a program names a start method: the text, wherever it stands, and the call that it gets to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.circumstances.guards import mentions_platform
from flake8_torchmp.boundary.circumstances.methods import ALL, CONTEXT_CLASSES, mp_name
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.findings import Step
from flake8_torchmp.semantics.calls import Frame
from flake8_torchmp.semantics.comments import words_about
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.narrowing import survives
from flake8_torchmp.semantics.nodes import dotted, last_name, up
from flake8_torchmp.semantics.values import Constant, External, Source

from .crossings import Crossings

FEWEST_WORDS = 6
"""A comment of fewer words gives no reason."""
NAMES_OF_OTHERS = frozenset(name.rpartition(".")[2] for name in apis.METHOD_KEYWORDS)


class MethodName(NamedTuple):
    method: str
    node: ast.AST
    """The text that names it."""
    module: Module
    call: ast.Call
    call_module: Module
    frame: Frame
    text: str
    way: tuple[Step, ...]
    passed: tuple[tuple[ast.AST, Module], ...]
    """The expressions that it passes on its way."""
    is_exception: bool
    """Whether a test of more than the platform picks this of several for one call, or its author says why this one."""


class MethodNames:
    def __init__(self, evaluator: Evaluator, crossings: Crossings) -> None:
        self.evaluator = evaluator
        self.crossings = crossings

    def of(self, module: Module) -> Iterator[MethodName]:
        seen: set[tuple[int, int]] = set()
        for call, frame, source, text in self._arguments(module):
            if self.evaluator.never(call, frame):
                continue
            values = [v for v in self.evaluator.of(source) if not isinstance(v, Constant) or _comes_along(v)]
            named = {value.value for value in values if isinstance(value, Constant) and value.value in ALL}
            for value in values:
                if isinstance(value, Constant) and isinstance(value.value, str):
                    key = (id(value.node), id(call))
                    if key not in seen:
                        seen.add(key)
                        is_exception = (len(named) > 1 or _is_one_arm(value.node)) and _is_picked(value.node, call)
                        is_exception = is_exception or _is_meant(value) or _is_one_of_all(call, module)
                        yield self._named(value, call, frame, text, is_exception)
        yield from self._by_classes(module)

    def _by_classes(self, module: Module) -> Iterator[MethodName]:
        """`ForkContext()`, `ForkProcess(…)`: classes that stand for a method, where there is one to find."""
        for name, method in CONTEXT_CLASSES.items():
            for call in module.calls_of(name) if method == "fork" else ():
                frame = self.evaluator.frame_at(call, module)
                if any(isinstance(v, External) and mp_name(v) == name for v in self.evaluator.values(call.func, frame)):
                    step = Step(module.path, call.lineno, f"{name}()")
                    yield MethodName(method, call, module, call, module, frame, f"{name}()", (step,), (), False)

    def _arguments(self, module: Module) -> Iterator[tuple[ast.Call, Frame, Source, str]]:
        for name in ("set_start_method", "get_context"):
            for call in module.calls_of(name):
                for frame in self.evaluator.contexts(module.scope_of(call)):
                    self.evaluator.steps = 0
                    if any(mp_name(v) == name for v in self.evaluator.values(call.func, frame)):
                        source = self.evaluator.arguments(call, frame).get(0, "method")
                        if source is not None:
                            yield call, frame, source, f"{name}()"
        yield from self._given_to_others(module)
        for found in self.crossings.calls(module):
            keyword = {"loader": "multiprocessing_context", "spawn": "start_method"}.get(found.api.kind, "")
            index = 11 if found.api.kind == "loader" else 5
            source = found.arguments.get(index, keyword) if keyword else None
            if source is not None and found.api.name != "spawn":
                yield found.node, found.frame, source, f"{found.api.name}({keyword}=)"

    def _given_to_others(self, module: Module) -> Iterator[tuple[ast.Call, Frame, Source, str]]:
        for name in NAMES_OF_OTHERS:
            for call in module.calls_of(name):
                for frame in self.evaluator.contexts(module.scope_of(call)):
                    self.evaluator.steps = 0
                    for callee in self.evaluator.values(call.func, frame):
                        if isinstance(callee, External) and callee.name in apis.METHOD_KEYWORDS:
                            keyword, index = apis.METHOD_KEYWORDS[callee.name]
                            source = self.evaluator.arguments(call, frame).get(index, keyword)
                            if source is not None:
                                yield call, frame, source, f"{name}({keyword}=)"

    def _named(self, value: Constant, call: ast.Call, frame: Frame, text: str, is_exception: bool) -> MethodName:
        passed = tuple((hop.node, hop.module) for hop in value.way)
        steps = [Step(hop.module.path, getattr(hop.node, "lineno", 1), hop.text) for hop in value.way]
        steps.append(Step(frame.module.path, call.lineno, text))
        return MethodName(
            str(value.value),
            value.node,
            value.module,
            call,
            frame.module,
            frame,
            text,
            tuple(steps),
            passed,
            is_exception,
        )


def _comes_along(value: Constant) -> bool:
    """Whether no test on its way keeps a text from the call."""
    return survives(value.value, [value.node, *(hop.node for hop in value.way)])


def _is_meant(named: Constant) -> bool:
    """Whether fork is named for macOS alone, where it has to be asked for, or with a reason."""
    if named.value != "fork" or not isinstance(named.node, ast.expr):
        return False
    if any(fact.holds and _asks_for_mac(fact.test) for fact in facts_at(named.node)):
        return True
    words = words_about(named.node, named.module.lines)
    return len(words) >= FEWEST_WORDS and any(
        word.lower().strip("'") in ("fork", "forking", "forked") for word in words
    )


def _is_one_arm(node: ast.AST) -> bool:
    """`"fork" if backend == "gloo" else "spawn"`"""
    choice = up(node)
    arms = (choice.body, choice.orelse) if isinstance(choice, ast.IfExp) else ()
    return any(arm is not node and isinstance(arm, ast.Constant) and arm.value in ALL for arm in arms)


def _is_one_of_all(call: ast.Call, module: Module) -> bool:
    """Whether a context only gives the base of a class, and another method's gives that of another one."""
    based = [one for one in module.calls_of("get_context") if _is_for_class(one, module)]
    return any(one is call for one in based) and len({ast.unparse(one) for one in based}) > 1


def _is_for_class(call: ast.Call, module: Module) -> bool:
    """`context = get_context("spawn")`, and then nothing but `class Spawned(context.Process)`."""
    holder = up(call)
    target = holder.targets[0] if isinstance(holder, ast.Assign) else None
    uses = module.loads(target.id) if isinstance(target, ast.Name) else [call]
    return bool(uses) and all(isinstance(up(up(use) or use), ast.ClassDef) for use in uses)


def _asks_for_mac(test: ast.AST) -> bool:
    """`sys.platform == "darwin"`, `torch.backends.mps.is_available()`"""
    if isinstance(test, ast.Call):
        return "mps" in dotted(test.func).replace("_", ".").split(".") and last_name(test.func).endswith("available")
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return any(isinstance(c, ast.Constant) and str(c.value).lower() == "darwin" for c in test.comparators)


def _is_picked(node: ast.AST, call: ast.Call) -> bool:
    """Whether a text stands under a test, not of the platform, that the call itself does not stand under."""
    shared = {ast.unparse(fact.test) for fact in facts_at(call)}
    tests = [fact.test for fact in facts_at(node) if ast.unparse(fact.test) not in shared]
    return any(not mentions_platform(test) for test in tests)
