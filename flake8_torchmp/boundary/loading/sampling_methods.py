"""Which dataset's sample methods a function is part of: those that the method calls, and readers beside the class."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.nodes import body_nodes
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import Class

from .datasets import Datasets

SAMPLE_METHODS = ("__getitem__", "__getitems__", "__iter__", "__next__", "get")


class SamplingMethods:
    def __init__(self, evaluator: Evaluator, outline: Evaluator, datasets: Datasets) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self.datasets = datasets
        self._callers: dict[Place, tuple[str, str]] = {}

    def around(self, scope: Scope) -> tuple[str, str]:
        """The dataset class and the sample method that a function of it is part of, or nothing."""
        owner = scope.enclosing_class()
        cls = Class(owner, self.outline.frame_of(owner.parent)) if owner is not None and owner.parent else None
        if owner is None or cls is None or not self.datasets.is_dataset(cls):
            return self._dataset_calling(scope.enclosing_function())
        inside = classes.method_around(scope, owner)
        if inside is None or not classes.own(cls, inside.name):
            return "", ""
        family = classes.project_classes(self.outline, cls)
        pending = [name for name in SAMPLE_METHODS if any(classes.own(item, name) for item in family)]
        roots = {name: name for name in pending}
        while pending:
            name = pending.pop()
            for item in family:
                for node in classes.own(item, name):
                    if item.scope.module.scopes[node] is inside:
                        return owner.name, roots[name]
                    for part in body_nodes(node):
                        called = part.attr if isinstance(part, ast.Attribute) else ""
                        if called and called not in roots and any(classes.own(other, called) for other in family):
                            roots[called] = roots[name]
                            pending.append(called)
        return "", ""

    def _dataset_calling(self, function: Scope | None) -> tuple[str, str]:
        """The dataset class and the sample method that call a function, such as a reader's, or nothing."""
        if function is None or isinstance(function.node, ast.Lambda):
            return "", ""
        if function.place not in self._callers:
            self._callers[function.place] = "", ""
            for arguments, _ in self.evaluator.callers.of(function):
                if isinstance(arguments.call, ast.Call):
                    found = self.around(arguments.frame.module.scope_of(arguments.call))
                    if found[0]:
                        self._callers[function.place] = found
                        break
        return self._callers[function.place]
