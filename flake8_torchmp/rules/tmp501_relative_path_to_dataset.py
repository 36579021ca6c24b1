"""TMP501 relative-path-to-dataset: a dataset is given a relative path

## What happens
A relative path means whatever the current folder of a process is at the moment when it opens the file. A dataset opens
its files late and elsewhere: in its workers, after the program has changed into the run's own folder (Hydra and many
launchers do), in a rank that another launcher started, under a scheduler that starts jobs in the home folder. Then the
file is missing, or worse, another file of the same name is read, or a data set is downloaded anew.

The start method plays no role: forked, spawned and forkserved workers all begin in the folder that their parent has
when they start. Making the path absolute in the parent, while the folder is still the right one, or building
it from `__file__`, ends all doubt.

The rule reports the literal, where it is written, that reaches the dataset's parameter: plain, as `Path("...")`, as
`os.path.join("...", ...)`, a module's constant, the default of the parameter or what the dataset takes where it is
given None, an entry of the settings that it reads by key. Of a text that is put together, such as `root + "/train"`, it
reports the path that `root` is. It says nothing if the dataset's `__init__` makes the path absolute.

## Fails
```python
import os
from pathlib import Path

from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, root):
        self.root = root

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return Path(self.root, f"{index}.txt").read_text()


def main():
    os.makedirs("data/train", exist_ok=True)
    for i in range(2):
        Path("data/train", f"{i}.txt").write_text(f"text {i}")
    texts = Texts("data/train")
    os.makedirs("runs/first", exist_ok=True)
    os.chdir("runs/first")
    print(list(DataLoader(texts, batch_size=2, num_workers=1)))


if __name__ == "__main__":
    main()
```
```text
FileNotFoundError: [Errno 2] No such file or directory: 'data/train/0.txt'
```

## Works
```python
import os
from pathlib import Path

from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, root):
        self.root = root

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return Path(self.root, f"{index}.txt").read_text()


def main():
    os.makedirs("data/train", exist_ok=True)
    for i in range(2):
        Path("data/train", f"{i}.txt").write_text(f"text {i}")
    texts = Texts(os.path.abspath("data/train"))
    os.makedirs("runs/first", exist_ok=True)
    os.chdir("runs/first")
    print(list(DataLoader(texts, batch_size=2, num_workers=1)))


if __name__ == "__main__":
    main()
```

## What it does not see
- Paths from the command line, the environment or a configuration file.
- Whether the program is always started in the same folder: a relative path is reported although it works then. Only
  where the module goes to its own folder first (`os.chdir(os.path.dirname(__file__))`) is it settled.
- Texts that stand for a path which the user has to fill in: `"path/to/images"`.
- What a parameter means, if neither its name nor its use says that it is a path: texts such as `split="train/clean"`,
  keys in an HDF5 file or `image/png` are left alone.
- Tests, which run in one folder: files that say so by their name.

## How to silence it
Write `# noqa: TMP501` on the line of the literal. Examples that always run in one folder are best named in
per-file-ignores of setup.cfg; `extend-ignore = TMP501` there switches the rule off. Dataset classes that the tool does
not know by themselves are named by `torchmp-dataset-bases`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchmp.boundary.circumstances.own_folder import goes_to_own_folder
from flake8_torchmp.boundary.files.joining import counts_parts, handing_function, only_joins
from flake8_torchmp.boundary.model import Model
from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.semantics.module import Module

from . import rule


@rule("TMP501", "relative-path-to-dataset", fix="safe or unsafe")
def relative_path_to_dataset(module: Module, model: Model) -> Iterator[Finding]:
    if model.is_test(module):
        return
    for given in model.dataset_arguments(module):
        for literal in model.paths.relative_literals(given.source):
            if literal.module is not module and model.is_test(literal.module):
                continue
            if goes_to_own_folder(literal.module) or goes_to_own_folder(given.module):
                continue
            message = (
                f'relative path "{literal.text}" goes to the dataset {given.dataset} ({given.parameter}=) and resolves '
                "against whatever folder the process is in when it opens it: make it absolute, "
                "e.g. with os.path.abspath()"
            )
            way = [
                Step(literal.module.path, literal.node.lineno, f'"{literal.text}"'),
                Step(given.module.path, given.line, f"{given.dataset}({given.parameter}=)"),
            ]
            repair = None
            if literal.kind != "pure":
                shared = "yes" if model.codebase.importers(literal.module.path) else "no"
                is_text = literal.kind == "beginning"
                notes = {"kind": literal.kind, "is_shared": shared, "joins": "no" if is_text else "yes"}
                if given.cls is not None:
                    may_join = literal.text.endswith("/") and not is_text
                    is_joined = may_join and only_joins(model.evaluator, given.cls, given.parameter, given.module)
                    notes["joins"] = f"{given.dataset} {handing_function(given)}".strip() if is_joined else "no"
                    notes["counts_parts"] = "yes" if counts_parts(model.evaluator, given.cls) else "no"
                repair = model.repair("absolute_path", literal.node, literal.module, **notes)
            yield model.finding("TMP501", message, literal.node, literal.module, way, repair=repair)
