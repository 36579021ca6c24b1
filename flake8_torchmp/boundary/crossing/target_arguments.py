"""Functions that workers are given, and the arguments that are given with them: whether the two fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.tables.apis import PRIMITIVES
from flake8_torchmp.boundary.tables.ecosystem import same_network
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import is_static, parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import dotted, last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    Function,
    Instance,
    Method,
    ModuleValue,
    Partial,
    Result,
    Source,
    Text,
    Value,
)

from .crossings import Call, Crossings

KEEPING = frozenset("staticmethod classmethod no_grad inference_mode enable_grad record".split())
"""Decorators after which a function takes what it took before."""
SPREADING = frozenset(("Pool.starmap", "Pool.starmap_async"))
MAPPING = frozenset(("Pool.map", "Pool.map_async", "Pool.imap", "Pool.imap_unordered"))
"""What calls its function with one argument, whatever that is."""


PATHS = frozenset(f"os.path.{name}" for name in "abspath basename dirname expanduser join realpath".split()) | {
    "pathlib.Path",
}
"""Calls that give one path, of which a target would get the letters."""


NAMESPACES = frozenset(
    "argparse.Namespace argparse.ArgumentParser().parse_args types.SimpleNamespace torch.device".split()
)
NUMBERS = frozenset(
    "builtins.int builtins.float builtins.bool builtins.len builtins.round builtins.abs os.cpu_count os.getpid "
    "torch.cuda.device_count torch.distributed.get_world_size torch.distributed.get_rank".split()
)
LAYERS = ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
"""Those of torch.nn that can be spread out."""
NO_ITERABLES = frozenset(
    "object abc.ABC typing.Generic typing.Protocol torch.nn.Module torch.nn.modules.Module".split()
)
"""Classes whose objects cannot be spread out, unless a class that derives from them says how."""


def _is_layer(value: Result) -> bool:
    """`torch.nn.Linear(2, 1)`"""
    module, _, name = value.name.rpartition(".")
    return module == "torch.nn" and name[:1].isupper() and name not in LAYERS


class BadArguments(NamedTuple):
    kind: str
    """comma, called, group, fit"""
    node: ast.expr
    """What is wrong: the arguments, the function, or the whole call."""
    node_module: Module
    text: str
    call: Call
    without_rank: Function | None = None
    """The function that `spawn` gives the rank before the arguments that it takes."""


class Given(NamedTuple):
    """What a target is called with."""

    positional: int
    keywords: frozenset[str]


class TargetArguments:
    def __init__(self, evaluator: Evaluator, crossings: Crossings) -> None:
        self.evaluator = evaluator
        self.crossings = crossings

    def of(self, module: Module) -> Iterator[BadArguments]:
        for call in self.crossings.calls(module):
            if call.api.kind == "loader" or call.api.parameters[0].role == "object":
                continue
            found = self._judge(call)
            if found is not None:
                yield found

    def _judge(self, call: Call) -> BadArguments | None:
        group = call.arguments.get(0) if call.api.kind == "process" else None
        if group is not None and any(isinstance(v, Function | Method | Partial) for v in self.evaluator.of(group)):
            return BadArguments("group", group.node, group.frame.module, dotted(group.node) or "the function", call)
        for parameter in call.api.parameters:
            source = call.arguments.get(parameter.position, parameter.keyword)
            if source is None:
                continue
            if parameter.role == "function" and self._is_called(source):
                name = dotted(source.node.func) if isinstance(source.node, ast.Call) else ""
                return BadArguments("called", source.node, source.frame.module, name or "a function", call)
            if parameter.keyword in ("args", "initargs") and (_is_count(call, source) or self._is_no_tuple(source)):
                return BadArguments("comma", source.node, source.frame.module, f"{parameter.keyword}=", call)
        if call.api.kind in ("process", "spawn", "task"):
            return self._judge_fit(call)
        return None

    # f(x) for f

    def _is_called(self, source: Source) -> bool:
        """Whether a function of the project is called that gives nothing which could be called again."""
        if not isinstance(source.node, ast.Call):
            return False
        frame = source.frame
        callees = self.evaluator.values(source.node.func, frame)
        if not all(isinstance(callee, Function | Method) for callee in callees):
            return False
        for callee in callees:
            function = callee.function if isinstance(callee, Method) else callee
            assert isinstance(function, Function)
            scope = function.scope
            if isinstance(scope.node, ast.Lambda) or scope.is_generator or _is_decorated(scope.node):
                return False
            if _is_abstract(scope.node) or any(not _is_no_callable(r.value) for r in scope.returns):
                return False
        return True

    # (x) for (x,)

    def _is_no_tuple(self, source: Source) -> bool:
        node = source.node
        if isinstance(node, ast.Tuple | ast.List | ast.Starred):
            return False
        if isinstance(node, ast.Name) and self._counts(node, source):
            return True
        may_map = isinstance(node, ast.Name | ast.Attribute | ast.Dict)
        return all(
            self._is_single(value) or (may_map and self._is_mapping(value)) for value in self.evaluator.of(source)
        )

    def _counts(self, node: ast.Name, source: Source) -> bool:
        """The variable of `for rank in range(n)`."""
        scope = self.evaluator.scope_binding(node.id, source.frame.module.scope_of(node))
        bindings = scope.bindings[node.id] if scope is not None else []
        return bool(bindings) and all(
            binding.kind == "for"
            and isinstance(binding.value, ast.Call)
            and (dotted(binding.value.func), binding.path) in (("range", ()), ("enumerate", (0,)))
            for binding in bindings
        )

    def _is_single(self, value: Value) -> bool:
        if isinstance(value, Constant):
            return not isinstance(value.value, str | bytes | None) or (
                isinstance(value.value, str) and len(value.value) > 1
            )
        if isinstance(value, Instance):
            methods = ("__iter__", "__getitem__")
            known = NO_ITERABLES.issuperset(classes.library_bases(self.evaluator, value.cls))
            return known and not any(classes.find_method(self.evaluator, value.cls, name) for name in methods)
        if isinstance(value, Result):
            network, name = same_network(self.evaluator, value), mp_name(value.callee)
            if network is not None:
                return self._is_single(network)
            is_known = value.name in PATHS | NAMESPACES | NUMBERS or _is_layer(value)
            return is_known or name == "cpu_count" or name in PRIMITIVES - {"Array"}
        return isinstance(value, Text | Function | Class | Method | Partial | ModuleValue)

    def _is_mapping(self, value: Value) -> bool:
        """A dict, of which a target would get the keys."""
        if not isinstance(value, Collection) or value.kind != "dict":
            return False
        return not value.complete or any(True for _ in self.evaluator.items(value))

    # what fits

    def _judge_fit(self, call: Call) -> BadArguments | None:
        parameter = call.api.parameters[0]
        target = call.arguments.get(parameter.position, parameter.keyword)
        given = self._given(call)
        if target is None or given is None:
            return None
        values = self.evaluator.of(target)
        is_unbound = self._is_read_of_class(target)
        problems = {self._misfit(value, given, is_unbound=is_unbound) for value in values}
        if len(problems) == 1 and (problem := problems.pop()):
            is_plain = len(values) == 1 and not is_unbound
            without_rank = self._without_rank(values[0], given, call) if is_plain else None
            return BadArguments("fit", call.node, call.module, problem, call, without_rank)
        return None

    def _without_rank(self, value: Value, given: Given, call: Call) -> Function | None:
        if call.api.kind != "spawn" or not isinstance(value, Function) or value.is_lambda:
            return None
        takes = [p for p in parameters(value.node).values() if p.kind == "positional"]
        return value if len(takes) == given.positional - 1 and not self._has_number_first(call) else None

    def _has_number_first(self, call: Call) -> bool:
        """Whether the arguments begin with a number, which may be meant as the rank."""
        source = call.arguments.get(1, "args")
        firsts = [
            value
            for given in (self.evaluator.of(source) if source is not None else ())
            if isinstance(given, Collection)
            for entry in given.entries[:1]
            for value in self.evaluator.of(entry.source)
        ]
        return any(isinstance(value, Constant) and isinstance(value.value, int) for value in firsts)

    def _given(self, call: Call) -> Given | None:
        arguments = call.arguments
        if arguments.is_open:
            return None
        if call.api.name == "run_in_executor":
            return Given(len(arguments.positional) - 2, frozenset())
        if call.api.name in MAPPING:
            return Given(1, frozenset())
        if call.api.name in SPREADING:
            return self._spread(arguments.get(1, "iterable"))
        if call.api.name.endswith("Executor.map"):
            return Given(len(arguments.positional) - 1, frozenset())
        if call.api.name.endswith(".submit"):
            return Given(len(arguments.positional) - 1, frozenset(arguments.keywords) - {"fn"})
        leading = 1 if call.api.kind == "spawn" else 0
        index = {"process": 3, "spawn": 1}.get(call.api.kind, 1)
        count = self._count(arguments.get(index, "args"))
        if count is None:
            return None
        keywords: frozenset[str] | None = frozenset()
        if call.api.kind != "spawn":
            options = arguments.get(index + 1, "kwargs" if call.api.kind == "process" else "kwds")
            keywords = self._names(options)
        return Given(count + leading, keywords) if keywords is not None else None

    def _spread(self, tasks: Source | None) -> Given | None:
        """What `starmap` calls its function with, where all its tasks are tuples of one length."""
        lists = self.evaluator.of(tasks) if tasks is not None else ()
        counts = {self._count(source) for value in lists for _, source in self.evaluator.items(value)}
        count = counts.pop() if len(counts) == 1 and all(isinstance(value, Collection) for value in lists) else None
        return Given(count, frozenset()) if count is not None else None

    def _count(self, source: Source | None) -> int | None:
        if source is None:
            return 0
        counts = {
            len(value.entries)
            if isinstance(value, Collection) and value.complete and value.kind in ("tuple", "list") and not value.extras
            else None
            for value in self.evaluator.of(source)
        }
        return counts.pop() if len(counts) == 1 else None

    def _names(self, source: Source | None) -> frozenset[str] | None:
        if source is None:
            return frozenset()
        values = self.evaluator.of(source)
        if len(values) != 1 or not isinstance(values[0], Collection) or not values[0].complete or values[0].extras:
            return None
        names = [key for key, _ in self.evaluator.items(values[0])]
        return frozenset(str(name) for name in names) if all(isinstance(name, str) for name in names) else None

    def _is_read_of_class(self, target: Source) -> bool:
        """`target=Trainer.run`: the function itself, which wants an object first."""
        node = target.node
        if not isinstance(node, ast.Attribute):
            return False
        bases = self.evaluator.values(node.value, target.frame)
        return bool(bases) and all(isinstance(base, Class) for base in bases)

    def _misfit(self, value: Value, given: Given, *, is_unbound: bool = False) -> str:
        """How the arguments miss what a function takes, in words; nothing where they fit or nobody knows."""
        if isinstance(value, Partial):
            bound = value.arguments
            if bound.is_open:
                return ""
            inner = Given(len(bound.positional) + given.positional, frozenset(bound.keywords) | given.keywords)
            return self._misfit(value.callee, inner)
        taken = 0
        if isinstance(value, Instance):
            method = classes.find_method(self.evaluator, value.cls, "__call__")
            if method is None:
                return ""
            function, taken = method, 1
        elif isinstance(value, Method):
            function, taken = value.function, 1
        elif isinstance(value, Function):
            function = value
            parent = function.scope.parent
            if not is_unbound and parent is not None and parent.is_class and not is_static(function.node):
                return ""
        else:
            return ""
        if function.decorated_by is not None or self._is_changed(function):
            return ""
        return _misfit(function, Given(given.positional + taken, given.keywords), taken)

    def _is_changed(self, function: Function) -> bool:
        """Whether a decorator may change what a function takes: it does not give back what it was given."""
        module = function.scope.module
        return _is_decorated(function.node) and not all(
            isinstance(value, Function) and _gives_back(value.scope)
            for decorator in getattr(function.node, "decorator_list", ())
            for value in self.evaluator.values(decorator, self.evaluator.frame_at(decorator, module))
        )


def _gives_back(decorator: Scope) -> bool:
    """`def register(function): TABLE.append(function); return function`"""
    if not isinstance(decorator.node, ast.FunctionDef):
        return False
    given = next(iter(parameters(decorator.node)), "")
    returned = [statement.value for statement in decorator.returns]
    is_kept = len(decorator.bindings.get(given, ())) == 1
    return bool(returned) and is_kept and all(isinstance(r, ast.Name) and r.id == given for r in returned)


def _is_count(call: Call, arguments: Source) -> bool:
    """`spawn(run, args=(world_size), nprocs=world_size)`"""
    count = call.arguments.get(2, "nprocs") if call.api.kind == "spawn" else None
    return count is not None and bool(dotted(count.node)) and dotted(count.node) == dotted(arguments.node)


def _misfit(function: Function, given: Given, taken: int) -> str:
    known = parameters(function.node)
    positional = [p for p in known.values() if p.kind == "positional"]
    rest = any(p.kind == "rest" for p in known.values())
    options = any(p.kind == "options" for p in known.values())
    name = f"{function.scope.name}()" if not function.is_lambda else "the lambda"
    if given.positional > len(positional) and not rest:
        return f"{name} takes {len(positional) - taken} arguments and gets {given.positional - taken}"
    missing = [p.name for p in positional[given.positional :] if p.default is None and p.name not in given.keywords]
    missing += [
        p.name for p in known.values() if p.kind == "keyword" and p.default is None and p.name not in given.keywords
    ]
    if missing:
        return f"{name} gets nothing for {', '.join(missing)}"
    unknown = sorted(given.keywords - {p.name for p in known.values() if p.kind in ("positional", "keyword")})
    if unknown and not options:
        return f"{name} has no parameter {unknown[0]}"
    twice = sorted(given.keywords & {p.name for p in positional[: given.positional]})
    return f"{name} gets {twice[0]} twice" if twice else ""


def _is_decorated(node: ast.AST) -> bool:
    return any(
        last_name(item.func if isinstance(item, ast.Call) else item) not in KEEPING
        for item in getattr(node, "decorator_list", ())
    )


def _is_abstract(node: ast.AST) -> bool:
    """Nothing but a docstring, `...` or `raise NotImplementedError`: what it gives is up to others."""
    body = getattr(node, "body", ())
    return all(
        isinstance(item, ast.Raise | ast.Pass) or isinstance(getattr(item, "value", None), ast.Constant)
        for item in body
    )


def _is_no_callable(value: ast.expr | None) -> bool:
    return value is None or isinstance(
        value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.BinOp | ast.Compare | ast.JoinedStr | ast.ListComp
    )
