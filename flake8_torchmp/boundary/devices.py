"""Where code uses CUDA: calls that put something on the GPU or need its context, and values that may name it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchmp.semantics.calls import Frame
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import conditions, facts_at
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, body_nodes, last_name, up
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Constant, External, Result, Source, Text, Value

HARMLESS = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "is_available is_initialized device_count manual_seed manual_seed_all empty_cache is_bf16_supported "
        "amp.autocast amp.GradScaler amp.custom_fwd amp.custom_bwd nvtx.range_push nvtx.range_pop nvtx.range"
    ).split()
)
"""Learned from torch/cuda/__init__.py and random.py of 2.13: they initialise nothing, or are put off until something
else does."""


def cuda_uses(evaluator: Evaluator, scope: Scope, frame: Frame) -> Iterator[tuple[ast.Call, Value | None]]:
    """The calls of a function that use CUDA, with the device that may be CUDA where one is given."""
    assert isinstance(scope.node, FUNCTIONS)
    for node in body_nodes(scope.node):
        evaluator.steps = 0  # what is hard to follow must not hide the rest
        if not isinstance(node, ast.Call) or _is_in_parent_alone(node) or evaluator.never(node, frame):
            continue
        name = last_name(node.func)
        given = _device_given(evaluator, node, name, frame)
        if given is not None:
            for value in evaluator.of(given):
                if can_be_cuda(evaluator, value) and not _follows_its_input(node):
                    yield node, value
                    break
        elif (
            (name == "cuda" and isinstance(node.func, ast.Attribute)) or _is_of_cuda(evaluator, node, frame)
        ) and not _follows_its_input(node):
            yield node, None


def _device_given(evaluator: Evaluator, node: ast.Call, name: str, frame: Frame) -> Source | None:
    """The device of `x.to(device)` and `torch.zeros(2, device=device)`, also in a dict: `torch.zeros(2, **options)`."""
    inner = evaluator.frame_in(frame.module.scope_of(node), frame)
    for keyword in node.keywords:
        if keyword.arg in ("device", "map_location"):
            return Source(keyword.value, inner) if name != "device" else None
    is_default = name == "set_default_device" or (name == "device" and isinstance(up(node), ast.withitem))
    if (is_default or (name == "to" and isinstance(node.func, ast.Attribute))) and node.args:
        return Source(node.args[0], inner)
    is_spread = any(keyword.arg is None for keyword in node.keywords)
    return evaluator.arguments(node, inner).keywords.get("device") if is_spread else None


def _is_of_cuda(evaluator: Evaluator, node: ast.Call, frame: Frame) -> bool:
    """Whether a call is of `torch.cuda`, and more than a question."""
    if not isinstance(node.func, ast.Attribute | ast.Name) or b"cuda" not in frame.module.data:
        return False
    inner = evaluator.frame_in(frame.module.scope_of(node), frame)
    return any(
        isinstance(value, External) and value.name.startswith("torch.cuda.") and value.name not in HARMLESS
        for value in evaluator.values(node.func, inner)
    )


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


def can_be_cuda(evaluator: Evaluator, value: Value, depth: int = 0) -> bool:
    if isinstance(value, Constant):
        if isinstance(value.value, str):
            return value.value.startswith("cuda")
        return isinstance(value.value, int) and not isinstance(value.value, bool)
    if isinstance(value, Text):
        return value.start.startswith("cuda")
    if isinstance(value, Result) and depth < 3:
        if value.name == "torch.device":
            source = value.arguments.get(0, "device") or value.arguments.get(0, "type")
            return source is not None and any(can_be_cuda(evaluator, v, depth + 1) for v in evaluator.of(source))
        return value.name == "torch.cuda.current_device"
    return False
