"""Options of a command line as values: what argparse and click give when the user says nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .calls import parameters
from .choices import Choice, as_choice
from .module import Module
from .nodes import body_nodes, last_name, up
from .scopes import Scope
from .values import UNKNOWN, Function, Member, Method, Result, Source, Value

if TYPE_CHECKING:
    from .calls import Arguments, Frame
    from .evaluate import Evaluator

PARSED = ("parse_args", "parse_known_args", "parse_intermixed_args")
MOST_HELPERS = 3
"""How often a parser is handed on from one helper to the next."""


ASKING = frozenset("get pop setdefault".split())


def left_out(evaluator: Evaluator, call: ast.AST, frame: Frame) -> Iterator[Value]:
    """The text that `config.get("method", "fork")` gives where an unseen configuration says nothing."""
    default = _default_asked_for(call) if isinstance(call, ast.Call) else None
    if isinstance(default, ast.Constant) and isinstance(default.value, str):
        yield from map(as_choice, evaluator.values(default, frame))


def _default_asked_for(call: ast.Call) -> ast.expr | None:
    if isinstance(call.func, ast.Attribute) and call.func.attr in ASKING:
        named = [keyword.value for keyword in call.keywords if keyword.arg in ("default", "fallback")]
        return call.args[1] if len(call.args) == 2 else next(iter(named), None)
    is_getattr = isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) == 3
    return call.args[2] if is_getattr else None


def option(evaluator: Evaluator, base: Value, name: str) -> list[Value] | None:
    """What `args.name` is, if `args` was parsed from a command line; None if it was not."""
    modules = _parsing_modules(evaluator, base)
    if not modules:
        return None
    found: list[Value] = []
    for module in modules:
        found += _declared(evaluator, module, name)
    return found or [UNKNOWN]


def read_all(evaluator: Evaluator, parsed: Value, arguments: Arguments) -> dict[str, Source]:
    """The options by their names, where `vars(args)` or `args.__dict__` makes a dict of them."""
    node: Any = arguments.call
    known: dict[str, ast.Attribute] | None = getattr(node, "_torchmp_options", None)
    if known is None:
        modules = _parsing_modules(evaluator, parsed)
        holder: Any = node.value if isinstance(node, ast.Attribute) else next(iter(getattr(node, "args", ())), None)
        names = [name for module in modules for name in _options(module)] if holder is not None else []
        known = node._torchmp_options = {}
        for name in names:
            known[name] = ast.copy_location(ast.Attribute(holder, name, ast.Load()), node)
            known[name]._torchmp_up = node  # type: ignore[attr-defined]
    return {name: Source(read, arguments.frame) for name, read in known.items()}


def _parsing_modules(evaluator: Evaluator, base: Value) -> list[Module]:
    """The modules that declare options, if a value was parsed from a command line."""
    if isinstance(base, Member) and base.is_element:
        base = base.owner  # `args, _ = parser.parse_known_args()`
    if not isinstance(base, Result) or not isinstance(base.callee, Member) or base.callee.name not in PARSED:
        return []
    made = [base.arguments]
    parser = base.callee.owner
    while isinstance(parser, Member | Result):
        if isinstance(parser, Result):
            made.append(parser.arguments)
            parser = parser.callee
        else:
            parser = parser.owner
    modules = {arguments.frame.module.path: arguments.frame.module for arguments in made}
    for arguments in made:
        for module in _modules_given_parser(evaluator, arguments):
            modules.setdefault(module.path, module)
    return list(modules.values())


def _modules_given_parser(evaluator: Evaluator, arguments: Arguments) -> list[Module]:
    """Where else options are declared: `add_loader_options(parser)`, on the parser that a call asks or makes."""
    call, module = arguments.call, arguments.frame.module
    parser = _parser_of(call)
    if parser is None:
        return []
    scope = module.scope_of(call).enclosing_function() or module.scope
    key = (id(call), "options declared for it")
    return evaluator.once(key, lambda: list(_given(evaluator, scope, parser, MOST_HELPERS)), [])


def _parser_of(call: ast.AST) -> str | None:
    """The name of the parser that is asked to parse, or that is made."""
    asked = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    if isinstance(asked, ast.Name) and last_name(call.func) in PARSED:  # type: ignore[attr-defined]
        return asked.id
    around = up(call)
    target = around.targets[0] if isinstance(around, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else None


def _given(evaluator: Evaluator, scope: Scope, parser: str, depth: int) -> Iterator[Module]:
    """The modules of the functions that a function hands its parser, and that they hand it on to."""
    for call in body_nodes(scope.node):
        if not isinstance(call, ast.Call) or not _takes(call, parser):
            continue
        for callee in evaluator.values(call.func, evaluator.frame_at(call, scope.module)):
            function = callee.function if isinstance(callee, Method) else callee
            if not isinstance(function, Function):
                continue
            yield function.scope.module
            inner = _parameter_for(call, parser, function.scope, isinstance(callee, Method))
            if depth and inner is not None:
                yield from _given(evaluator, function.scope, inner, depth - 1)


def _takes(call: ast.Call, name: str) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(one, ast.Name) and one.id == name for one in given)


def _parameter_for(call: ast.Call, name: str, function: Scope, is_bound: bool) -> str | None:
    """What a function calls the argument that a call names."""
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.Name) and keyword.value.id == name:
            return keyword.arg
    place = next(n for n, one in enumerate(call.args) if isinstance(one, ast.Name) and one.id == name)
    names = list(parameters(function.node))[is_bound:]  # type: ignore[arg-type]
    return names[place] if place < len(names) else None


def _declared(evaluator: Evaluator, module: Module, name: str) -> Iterator[Value]:
    for call in _options(module).get(name, ()):
        yield from _default(evaluator, module, call)
    for call in module.calls.get("set_defaults", ()):
        for keyword in call.keywords:
            if keyword.arg == name:
                for value in evaluator.values(keyword.value, evaluator.frame_at(call, module)):
                    yield as_choice(value)


def _options(module: Module) -> dict[str, list[ast.Call]]:
    """The calls that declare options, by the name that each gets."""
    key = ("options",)
    if key not in module.memo:
        found: dict[str, list[ast.Call]] = {}
        for call in module.calls.get("add_argument", ()):
            for name in _destinations(call):
                found.setdefault(name, []).append(call)
        module.memo[key] = found
    known: dict[str, list[ast.Call]] = module.memo[key]
    return known


def _destinations(call: ast.Call) -> list[str]:
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return [str(keyword.value.value)]
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = [flag for flag in flags if flag.startswith("--") or not flag.startswith("-")] or flags
    return [flag.lstrip("-").replace("-", "_") for flag in long[:1]]


def _default(evaluator: Evaluator, module: Module, call: ast.Call) -> Iterator[Value]:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    action = keywords.get("action")
    if "default" in keywords:
        for value in evaluator.values(keywords["default"], evaluator.frame_at(call, module)):
            yield as_choice(value)
    elif isinstance(action, ast.Constant) and action.value in ("store_true", "store_false"):
        yield Choice(action.value == "store_false", action, module)
    else:
        yield UNKNOWN
