"""What is the same in every worker: constants, what the parent made once, parameters that all are given alike."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.crossing.alike_arguments import are_alike, given_to_processes
from flake8_torchmp.boundary.crossing.bound_parameters import bound_by, left_out
from flake8_torchmp.boundary.tables import random_sources
from flake8_torchmp.boundary.working.worker_datasets import is_own_dataset
from flake8_torchmp.boundary.working.workers import WorkerFunction, Workers
from flake8_torchmp.semantics import classes, stores
from flake8_torchmp.semantics.calls import is_property, parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import ancestors, dotted, last_name
from flake8_torchmp.semantics.scopes import Scope
from flake8_torchmp.semantics.values import Class, Constant, External, Function, Instance

from .torch_seeds import seed_given_to_torch


class Sameness:
    def __init__(self, outline: Evaluator, workers: Workers) -> None:
        self.outline = outline
        self.workers = workers

    def is_same(self, node: ast.AST, worker: WorkerFunction, fixed: frozenset[str], depth: int = 0) -> bool:
        if depth > 12:
            return False
        if isinstance(node, ast.Constant):
            return node.value is not None
        if isinstance(node, ast.Name):
            return self._is_same_name(node, worker, fixed, depth)
        if isinstance(node, ast.Attribute):
            return self._is_same_attribute(node, worker, fixed)
        if isinstance(node, ast.Call):
            return self._is_same_call(node, worker, fixed, depth)
        if isinstance(node, ast.Subscript):  # `seeds[rank]` is another one for each
            return all(self.is_same(part, worker, fixed, depth + 1) for part in (node.value, node.slice))
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp | ast.BoolOp | ast.Compare):
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            tests = [node.test] if isinstance(node, ast.IfExp) else []
            return all(self.is_same(part, worker, fixed, depth + 1) for part in parts if part not in tests)
        return False

    def _is_same_name(self, name: ast.Name, worker: WorkerFunction, fixed: frozenset[str], depth: int) -> bool:
        module = worker.scope.module
        scope = self.outline.scope_binding(name.id, module.scope_of(name))
        if scope is None:
            return False
        if scope.is_module:
            values = self.outline.values(name, self.outline.frame_at(name, module))
            bound_inside = any(
                module.scope_of(b.node).enclosing_function() is not None for b in scope.bindings[name.id]
            )
            return not bound_inside and all(isinstance(v, Constant) and v.value is not None for v in values)
        if scope.enclosing_function() is not worker.scope:
            return not scope.is_class  # of the function around: made in the parent, once
        return all(
            name.id in fixed
            if b.kind == "parameter"
            else b.kind in ("assign", "augmented", "walrus")
            and b.value is not None
            and self.is_same(b.value, worker, fixed, depth + 1)
            for b in scope.bindings[name.id]
        )

    def _is_same_attribute(self, node: ast.Attribute, worker: WorkerFunction, fixed: frozenset[str]) -> bool:
        if is_own_dataset(node.value, worker.scope.module):
            return self._is_left_alone(node.attr, worker)
        parts = dotted(node).split(".")
        if len(parts) < 2 or parts[-1] == "value":
            return False
        if parts[0] == receiver_name(worker.scope) and worker.scope.parent is not None:
            return self._is_same_on_object(parts[1], worker)
        module = worker.scope.module
        scope = self.outline.scope_binding(parts[0], module.scope_of(node))
        if scope is None:
            return False
        if not scope.is_module:
            is_around = scope.enclosing_function() is not worker.scope
            return is_around or (parts[0] in fixed and self._is_left_alone(parts[-1], worker))
        if all(b.kind == "assign" for b in scope.bindings[parts[0]]):
            return parts[-1].endswith("seed") or _is_constant(self.outline, node, module)
        return _is_constant(self.outline, node, module)

    def _is_same_on_object(self, name: str, worker: WorkerFunction) -> bool:
        """An attribute that the parent sets, and no worker."""
        if isinstance(worker.receiver, Instance) and worker.kind == "process":
            return self._is_same_in_processes(name, worker.receiver.cls)
        if not isinstance(worker.receiver, Instance) or worker.kind not in ("dataset", "collate", "initializer"):
            return False
        stored = False
        for cls in classes.project_classes(self.outline, worker.receiver.cls):
            for change, method in stores.by_attribute(cls).get(name, ()):
                stored = True
                if method.name != "__init__" and self.workers.runs(method):
                    return False
                if any(isinstance(n, ast.Call) and not _is_plain(n) for n in ast.walk(change.value or ast.Pass())):
                    return False
            stored = stored or any(b.kind == "assign" for b in cls.scope.bindings.get(name, ()))
            stored = stored or name in classes.fields(self.outline, cls)
        return stored and not self._is_set_by_initializer(name, worker)

    def _is_left_alone(self, name: str, worker: WorkerFunction) -> bool:
        """Whether no worker code of a module sets, or works out, an attribute of that name."""
        module = worker.scope.module
        functions = [f for f in module.functions if self.workers.runs(module.scopes[f])]
        stored = [c.node for changes in module.changes.values() for c in changes if c.name == name]
        return not any(getattr(f, "name", "") == name and is_property(f) for f in module.functions) and not any(
            ancestor in functions for node in stored for ancestor in ancestors(node)
        )

    def _is_same_in_processes(self, name: str, cls: Class) -> bool:
        """An attribute that each object gets alike: a constant, or a parameter that is one everywhere."""
        stored = [
            pair
            for item in classes.project_classes(self.outline, cls)
            for pair in stores.by_attribute(item).get(name, ())
        ]
        if not self.workers.crossings.is_process(cls) or len(stored) != 1 or stored[0][1].name != "__init__":
            return False
        value, init = stored[0][0].value, stored[0][1]
        return value is not None and self.is_same_for_objects(value, init, cls)

    def is_same_for_objects(self, node: ast.expr, init: Scope, cls: Class) -> bool:
        """Whether what an `__init__` works out is one for all objects of a class that the project makes."""
        if isinstance(node, ast.List | ast.Tuple | ast.BinOp):
            parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node.left, node.right]
            return all(self.is_same_for_objects(part, init, cls) for part in parts)
        if not isinstance(node, ast.Name):
            return isinstance(node, ast.Constant) and node.value is not None
        parameter = parameters(init.node).get(node.id)  # type: ignore[arg-type]
        if parameter is None:
            return False
        index = parameter.index - 1 if parameter.index is not None else None
        seeds: set[object] = set()
        constructions = self.workers.evaluator.callers.constructions(cls.scope)
        for _, arguments in constructions:
            source = arguments.get(index, parameter.name)
            if len(constructions) == 1 and source is not None and are_alike([source.node], arguments.call):
                return True
            values = self.workers.evaluator.of(source) if source is not None else ()
            default = parameter.default.value if isinstance(parameter.default, ast.Constant) else None
            given = [v.value if isinstance(v, Constant) else None for v in values] if source is not None else [default]
            seeds |= {None} if arguments.is_open or not given else set(given)
        return len(seeds) == 1 and None not in seeds

    def _is_set_by_initializer(self, name: str, worker: WorkerFunction) -> bool:
        codebase = self.outline.codebase
        for path in codebase.users([worker.scope.module.path]):
            if b"worker_init_fn" not in codebase.data(path):
                continue
            module = codebase.module(path)
            for change in [c for changes in module.changes.values() for c in changes] if module is not None else ():
                assert module is not None
                function = module.scope_of(change.node).enclosing_function()
                is_named = change.kind == "attribute" and change.name == name
                if is_named and function is not None and self.workers.sets_up(function):
                    return True
        return False

    def _is_same_call(self, call: ast.Call, worker: WorkerFunction, fixed: frozenset[str], depth: int) -> bool:
        module = worker.scope.module
        values = self.outline.values(call.func, self.outline.frame_at(call, module))
        of_loader = worker.kind in ("dataset", "collate", "helper") or "worker_init_fn" in worker.reached_from
        for value in values:
            if isinstance(value, Function) and self._gives_same(value, worker, depth):
                continue
            name = value.name if isinstance(value, External) else ""
            if name in random_sources.SEEDS_OF_TORCH:
                given = seed_given_to_torch(self.outline, call, worker.scope)
                if given is not None and self.is_same(given, worker, fixed, depth + 1):
                    continue
            if name not in random_sources.SAME_IN_LOADER or (name.startswith("torch.") and not of_loader):
                return False
        parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        return bool(values) and all(self.is_same(part, worker, fixed, depth + 1) for part in parts)

    def _gives_same(self, function: Function, worker: WorkerFunction, depth: int) -> bool:
        """Whether a function without parameters, such as `get_rank()`, gives the same in all workers."""
        scope = function.scope
        if parameters(function.node) or scope.is_generator or not scope.returns:
            return False
        inner = worker._replace(scope=scope, receiver=None)
        return all(r.value is not None and self.is_same(r.value, inner, frozenset(), depth + 1) for r in scope.returns)

    def shared_parameters(self, module: Module) -> dict[Scope, frozenset[str]]:
        """Of functions that set workers up: the parameters that are the same in each of them."""
        found: dict[Scope, frozenset[str]] = {}
        for crossing in self.workers.crossings.of(module):
            if crossing.parameter.keyword not in ("worker_init_fn", "initializer"):
                continue
            for hanging in crossing.hanging:
                for function, names in bound_by(hanging.value):
                    own = set(parameters(function.node))
                    if crossing.parameter.keyword == "initializer":
                        names = own
                    elif not names and isinstance(hanging.value, Function):
                        names = set(left_out(function))
                    found[function.scope] = found.get(function.scope, frozenset()) | frozenset(names)
        for target, alike in given_to_processes(self.workers.crossings.of(module)):
            found[target] = found.get(target, alike) & alike
        return found


def _is_constant(evaluator: Evaluator, node: ast.expr, module: Module) -> bool:
    values = evaluator.values(node, evaluator.frame_at(node, module))
    return all(isinstance(v, Constant) and v.value is not None for v in values)


def _is_plain(call: ast.Call) -> bool:
    return last_name(call.func) in ("int", "abs", "len", "getattr", "get", "hash")
