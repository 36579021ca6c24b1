"""TMP601 none-sample: a dataset can return None, and its loader collates with torch's default function

## What happens
`default_collate` puts tensors, arrays, numbers, texts and containers of them together. A None, as a sample or inside
one, is none of these, and the loader raises TypeError for the whole batch: "default_collate: batch must contain
tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>". If the None is not the first of its batch
the error is even stranger, such as "'NoneType' object has no attribute 'numel'".

It is found late: the None comes from a handler for broken files, from a label that only the test split lacks, or from a
method that falls off its end for a mode that nobody thought of.

Return a sample or raise; where some samples have to be left out, leave them out of the index, or give the loader a
`collate_fn` that drops what is None.

## Fails
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        try:
            return torch.tensor(float(self.rows[index]))
        except ValueError:
            return None


if __name__ == "__main__":
    for batch in DataLoader(Rows(["n/a", "1.5", "2.5"]), batch_size=3, num_workers=1):
        print(batch)
```
```text
TypeError: default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>
```

## Works
```python
import torch
from torch.utils.data import DataLoader, Dataset, default_collate


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        try:
            return torch.tensor(float(self.rows[index]))
        except ValueError:
            return None


def collate(samples):
    return default_collate([sample for sample in samples if sample is not None])


if __name__ == "__main__":
    for batch in DataLoader(Rows(["n/a", "1.5", "2.5"]), batch_size=3, num_workers=1, collate_fn=collate):
        print(batch)
```

## What it does not see
- Datasets whose loader the project does not show, or shows with arguments that cannot be read.
- Datasets of which any loader has a `collate_fn` of its own, or no batches: they count as thought of.
- None that a transform, a parameter or an attribute brings, and entries of a dict that somebody else may fill. Of
  `table.get(key)` only where the keys are seen, and one that is asked for is not among them.
- Whether a test of the data ever holds: only what the dataset is made with is compared with the tests on the way.

## How to silence it
Write `# noqa: TMP601` on the line that is reported. For a file or a folder use flake8's per-file-ignores in setup.cfg,
for the project `extend-ignore = TMP601` there, or their counterparts in the tool's own table of pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.failures.missing_samples import missing_samples
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.boundary.tables import apis
from flake8_torchmp.boundary.working import samples
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.values import Function, Instance

from . import rule


@rule("TMP601", "none-sample")
def none_sample(module: Module, model: Model) -> Iterator[Finding]:
    for crossing in model.crossings.of(module):
        if crossing.parameter.role != "dataset" or not samples.is_collating(crossing, model.crossings):
            continue
        for instance in samples.given_to(model.evaluator, crossing.values):
            method = _sampling(model, instance)
            if method is None:
                continue
            frame = model.evaluator.frame(method.scope, None, method.closure, instance)
            for missing in list(missing_samples(model.evaluator, method, frame)):
                if not samples.are_all_collated_by_default(model.loaders, instance.cls.scope):
                    break
                name = f"{instance.cls.scope.name}.{method.scope.name}"
                message = (
                    f"{name} can give None ({missing.text}), which its loader's default collate function refuses: "
                    "return a sample or raise, or filter in a collate_fn"
                )
                way = [Step(module.path, crossing.call.lineno, crossing.text)]
                yield model.finding("TMP601", message, missing.node, missing.module, way)


def _sampling(model: Model, instance: Instance) -> Function | None:
    """The method that gives a dataset's samples."""
    bases = classes.library_bases(model.outline, instance.cls)
    name = "__iter__" if any(base in apis.ITERABLE_DATASETS for base in bases) else "__getitem__"
    return classes.find_method(model.outline, instance.cls, name)
