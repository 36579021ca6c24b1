"""Where code uses CUDA: calls that put something on the GPU or need its context, and values that may name it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics.calls import Frame, parameters
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, dotted, last_name, root_name, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, External, Result, Source, Text, Value, along

HARMLESS = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "is_available is_initialized device_count manual_seed manual_seed_all empty_cache is_bf16_supported "
        "amp.autocast amp.GradScaler amp.custom_fwd amp.custom_bwd nvtx.range_push nvtx.range_pop nvtx.range"
    ).split()
)
"""Learned from torch/cuda/__init__.py and random.py of 2.13: they initialise nothing, or are put off until something
else does."""


CudaUse = tuple[ast.Call, Value | None]
"""A call that uses CUDA, with the device that may be CUDA where one is given."""


class CudaUses:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._known: dict[tuple[int, int], list[CudaUse]] = {}

    def forget(self) -> None:
        self._known.clear()

    def of(self, scope: Scope, frame: Frame) -> list[CudaUse]:
        """What a function uses in a frame; many files bring the same functions to workers."""
        key = (id(scope), id(frame))
        if key not in self._known:
            self._known[key] = self.evaluator.alone(lambda: list(_cuda_uses(self.evaluator, scope, frame)))
        return self._known[key]


def _cuda_uses(evaluator: Evaluator, scope: Scope, frame: Frame) -> Iterator[CudaUse]:
    assert isinstance(scope.node, FUNCTIONS)
    for node in body_nodes(scope.node):
        evaluator.steps = 0  # what is hard to follow must not hide the rest
        if not isinstance(node, ast.Call) or not _may_use(evaluator, node, frame):
            continue
        if not _is_in_parent_alone(node) and not evaluator.never(node, frame):
            yield from ((node, device) for device in devices_used(evaluator, node, frame))


def _may_use(evaluator: Evaluator, node: ast.Call, frame: Frame) -> bool:
    return _device_given(evaluator, node, frame) is not None or _is_of_cuda(evaluator, node, frame)


def devices_used(evaluator: Evaluator, node: ast.Call, frame: Frame) -> Iterator[Value | None]:
    """What names CUDA in the device that a call is given; None where it uses CUDA without being given one."""
    given = _device_given(evaluator, node, frame)
    if _follows_its_input(node):
        return
    if given is not None:
        yield from (device for value in evaluator.of(given) for device in _cuda_named(evaluator, value))
    elif _is_of_cuda(evaluator, node, frame) and not _asks_for_given_device(node, frame.module):
        yield None


def _device_given(evaluator: Evaluator, node: ast.Call, frame: Frame) -> Source | None:
    """The device of `x.to(device)` and `torch.zeros(2, device=device)`, also in a dict: `torch.zeros(2, **options)`."""
    name, inner = last_name(node.func), evaluator.frame_in(frame.module.scope_of(node), frame)
    for keyword in node.keywords:
        if keyword.arg in ("device", "map_location"):
            return Source(keyword.value, inner) if name != "device" else None
    is_default = name == "set_default_device" or (name == "device" and isinstance(up(node), ast.withitem))
    if (is_default or (name == "to" and isinstance(node.func, ast.Attribute))) and node.args:
        return Source(node.args[0], inner)
    is_spread = any(keyword.arg is None for keyword in node.keywords)
    return evaluator.arguments(node, inner).keywords.get("device") if is_spread else None


def _is_of_cuda(evaluator: Evaluator, node: ast.Call, frame: Frame) -> bool:
    """Whether it is `x.cuda()`, or a call of `torch.cuda` that is more than a question."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        return True
    root = root_name(node.func)
    scope = frame.module.scope_of(node)
    if b"cuda" not in frame.module.data or not _may_be_of_module(root, evaluator.scope_binding(root, scope)):
        return False
    inner = evaluator.frame_in(scope, frame)
    return any(
        isinstance(value, External) and value.name.startswith("torch.cuda.") and value.name not in HARMLESS
        for value in evaluator.values(node.func, inner)
    )


def _may_be_of_module(name: str, scope: Scope | None) -> bool:
    """Whether a name stands for a module or a part of one: it is imported, or another name for something."""
    if scope is None:
        return bool(name)
    return any(
        binding.kind in ("import", "from") or (binding.kind == "assign" and _is_other_name(binding.value))
        for binding in scope.bindings[name]
    )


def _is_other_name(node: ast.expr | None) -> bool:
    called = last_name(node.func) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Name | ast.Attribute | ast.IfExp) or called == "getattr"


def _is_in_parent_alone(node: ast.AST) -> bool:
    """Whether a test of the worker's info stands on the way to a node."""
    return any(
        last_name(part.func) == "get_worker_info"
        for condition in conditions(node)
        for part in ast.walk(condition.test)
        if isinstance(part, ast.Call)
    )


def _follows_its_input(node: ast.AST) -> bool:
    """Whether a node runs only where some tensor is on the GPU already."""
    return any(isinstance(f.test, ast.Attribute) and f.test.attr == "is_cuda" and f.holds for f in facts_at(node))


def _is_told_by_input(device: Value) -> bool:
    """Whether a device is made only where a device that was given is a GPU."""
    if not isinstance(device, Result):
        return False
    return _asks_for_given_device(device.arguments.call, device.arguments.frame.module)


def _asks_for_given_device(node: ast.AST, module: Module) -> bool:
    """Whether a node runs only where an argument of its function names a GPU: `if device.type == "cuda":`."""
    function = module.scope_of(node).enclosing_function()
    given = parameters(function.node) if function is not None and isinstance(function.node, FUNCTIONS) else {}
    return any(
        fact.holds
        and isinstance(fact.test, ast.Compare)
        and isinstance(fact.test.left, ast.Attribute)
        and fact.test.left.attr == "type"
        and dotted(fact.test.left.value) in given
        and isinstance(fact.test.comparators[0], ast.Constant)
        and fact.test.comparators[0].value == "cuda"
        for fact in facts_at(node)
    )


def counts_without_cuda(module: Module) -> bool:
    """`workers = 0 if torch.cuda.is_available() else 4`: its loaders have no workers where there is a GPU."""
    return any(
        isinstance(outer, ast.IfExp) and _counts_workers(outer) and _is_zero_with(call, outer)
        for call in module.calls.get("is_available", ())
        for outer in ancestors(call)
    )


def _counts_workers(node: ast.AST) -> bool:
    holder = up(node)
    names = [holder.arg or ""] if isinstance(holder, ast.keyword) else []
    names += [last_name(target) for target in holder.targets] if isinstance(holder, ast.Assign) else []
    return any("worker" in name for name in names)


def _is_zero_with(call: ast.Call, choice: ast.IfExp) -> bool:
    for zero, other in ((choice.body, choice.orelse), (choice.orelse, choice.body)):
        if isinstance(zero, ast.Constant) and zero.value == 0:
            return any(part is call for fact in facts_at(other) if not fact.holds for part in ast.walk(fact.test))
    return False


def _cuda_named(evaluator: Evaluator, value: Value, depth: int = 0) -> Iterator[Value]:
    """What names CUDA in a device, each with the whole way that it went."""
    if _names_cuda(value):
        yield value
    elif isinstance(value, Result) and value.name == "torch.device" and depth < 3 and not _is_told_by_input(value):
        source = value.arguments.get(0, "device") or value.arguments.get(0, "type")
        for inner in evaluator.of(source) if source is not None else ():
            yield from (along(named, value) for named in _cuda_named(evaluator, inner, depth + 1))


def _names_cuda(value: Value) -> bool:
    if isinstance(value, Constant):
        is_index = isinstance(value.value, int) and not isinstance(value.value, bool)
        return is_index or (isinstance(value.value, str) and value.value.startswith("cuda"))
    if isinstance(value, Text):
        return value.start.startswith("cuda")
    return isinstance(value, Result) and value.name == "torch.cuda.current_device"
