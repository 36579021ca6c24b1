"""Finds MODULE:OBJECT, and makes of it a loader that can be asked."""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import random
import sys
from collections.abc import Iterator
from typing import Any

BATCH = 4
"""Samples of a batch, where a dataset is given and no loader."""


class CannotRunError(Exception):
    """There is nothing to examine: what was named is not there, or not a loader."""


class NotMadeError(Exception):
    """The object is there, and calling it raises."""


class Patient:
    def __init__(self, loader: Any, is_own: bool) -> None:
        from torch.utils.data import IterableDataset

        self.loader = loader
        self.is_own = is_own
        """Whether the loader is the user's, not one made around a dataset."""
        self.dataset = loader.dataset
        self.is_iterable = isinstance(self.dataset, IterableDataset)
        self.collates = loader.batch_size is not None or loader.batch_sampler is not None

    def batches(self) -> Iterator[list[Any]]:
        """The keys of each batch, as the loader's own sampler gives them."""
        if self.collates:
            for batch in self.loader.batch_sampler:
                yield list(batch)
        else:
            for key in self.loader.sampler:
                yield [key]

    def keys(self, most: int) -> list[Any]:
        """So many keys, each once: those of the first batches, then some from all over the dataset."""
        keys: dict[str, Any] = {}
        length = self._length()
        wanted = most if length is None or length <= most else most // 2 + 1
        for key in itertools.islice(itertools.chain.from_iterable(self.batches()), most):
            if len(keys) < wanted:
                keys.setdefault(repr(key), key)
        if length is not None and all(isinstance(key, int) for key in keys.values()):
            step = max(1, length // max(1, most))
            for key in [length - 1, *range(0, length, step)]:
                if len(keys) < most:
                    keys.setdefault(repr(key), key)
        return list(keys.values())

    def _length(self) -> int | None:
        """Of a dataset that has all numbers up to its length as keys, as far as one can see."""
        from torch.utils.data import RandomSampler, SequentialSampler

        is_plain = isinstance(self.loader.sampler, RandomSampler | SequentialSampler)
        try:
            return len(self.dataset) if is_plain else None
        except TypeError:
            return None

    def with_workers(self, workers: int, method: str) -> Any:
        """The user's loader, with so many workers under a start method."""
        loader = self.loader
        loader.multiprocessing_context = None
        loader.num_workers = workers
        if workers:
            loader.prefetch_factor = loader.prefetch_factor or 2
            loader.multiprocessing_context = method
        else:
            loader.timeout = 0
        return loader


def find(target: str) -> Any:
    """The object that MODULE:OBJECT or path/to/file.py:OBJECT names."""
    where, _, name = target.rpartition(":")
    module = _imported(where)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise CannotRunError(f"{where} has no {name}: {_offer(module)}")
        found = getattr(found, part)
    return found


def _imported(where: str) -> Any:
    if where.endswith(".py") or os.sep in where:
        path = os.path.abspath(where)
        if not os.path.isfile(path):
            raise CannotRunError(f"{where}: no such file")
        folder, name = os.path.split(path)
        parts = [name.removesuffix(".py")]
        while os.path.exists(os.path.join(folder, "__init__.py")):
            folder, name = os.path.split(folder)
            parts.insert(0, name)
        sys.path.insert(0, folder)
        return importlib.import_module(".".join(parts))
    sys.path.insert(0, os.getcwd())
    return importlib.import_module(where)


def _offer(module: Any) -> str:
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    guarded = "what stands under `if __name__ == '__main__'` is not defined when it is imported"
    return f"it has {', '.join(names[:12]) or 'nothing of its own'}; {guarded}"


def admit(found: Any) -> Patient:
    """A patient, from a loader, a dataset, or a function that returns one."""
    from torch.utils.data import DataLoader, Dataset

    if not isinstance(found, DataLoader | Dataset) and callable(found):
        try:
            inspect.signature(found).bind()
        except TypeError as error:
            raise CannotRunError(f"{_name(found)} cannot be called without arguments: {error}") from None
        except ValueError:  # it is built in, and has no signature
            pass
        try:
            found = found()
        except BaseException as error:
            raise NotMadeError from error
    if isinstance(found, DataLoader):
        return Patient(found, is_own=True)
    looks_like_one = hasattr(found, "__getitem__") and hasattr(found, "__len__")
    if isinstance(found, Dataset) or (looks_like_one and not isinstance(found, str | bytes | dict)):
        try:
            return Patient(DataLoader(found, batch_size=BATCH), is_own=False)
        except BaseException as error:
            raise NotMadeError from error
    raise CannotRunError(f"{_name(type(found))} is neither a DataLoader nor a Dataset")


def _name(thing: Any) -> str:
    return str(getattr(thing, "__qualname__", repr(thing)))


def seed(number: int) -> None:
    """The same beginning for every run that is compared."""
    import torch

    random.seed(number)
    torch.manual_seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number)
