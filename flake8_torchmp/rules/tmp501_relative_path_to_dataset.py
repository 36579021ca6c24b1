"""TMP501 relative-path-to-dataset: a dataset is given a relative path
"""

from __future__ import annotations

from collections.abc import Iterator

from ..boundary.model import Model
from ..findings import Finding, Step
from ..semantics.module import Module
from . import rule


@rule("TMP501", "relative-path-to-dataset", fix="safe")
def relative_path_to_dataset(module: Module, model: Model) -> Iterator[Finding]:
    for given in model.dataset_arguments(module):
        for literal in model.paths.relative_literals(given.source):
            message = (
                f'relative path "{literal.text}" goes to the dataset {given.dataset} ({given.parameter}=) and resolves '
                "against whatever folder the process is in when it opens it: make it absolute, "
                "e.g. with os.path.abspath()"
            )
            way = [
                Step(literal.module.path, literal.node.lineno, f'"{literal.text}"'),
                Step(given.module.path, given.line, f"{given.dataset}({given.parameter}=)"),
            ]
            yield model.finding("TMP501", message, literal.node, literal.module, way)
