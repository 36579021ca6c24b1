"""Lambdas become named functions: the texts before and after, and what is refused."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from changing import changed, reason
from fixes.mending import mended_text

SAFE: dict[str, tuple[str, str, str]] = {
    "a text instead of a comment, and a name that is taken": (
        "lambda row: row // 2",
        """
        import torch
        '''Halves
        rows.'''
        # for now
        class Halves(Dataset):
            def __init__(self, _half):
                self._half = lambda row: row // 2
        """,
        """
        import torch


        def _half_2(row):
            return row // 2


        '''Halves
        rows.'''
        # for now
        class Halves(Dataset):
            def __init__(self, _half):
                self._half = _half_2
        """,
    ),
    "a name from what is done, not from the form of its result": (
        "lambda row: pad(row.unsqueeze(0), 4).squeeze().float()",
        """
        def main(data):
            steps = [Lambda(lambda row: pad(row.unsqueeze(0), 4).squeeze().float())]
        """,
        """
        def _pad(row):
            return pad(row.unsqueeze(0), 4).squeeze().float()


        def main(data):
            steps = [Lambda(_pad)]
        """,
    ),
    "the only argument, on lines of its own": (
        "lambda row: row.view(1, row.size(0))",
        """
        def main(data):
            steps = [
                Lambda(
                    lambda row: row.view(1, row.size(0))
                ),  # (T) -> (1, T)
            ]
        """,
        """
        def _view(row):
            return row.view(1, row.size(0))


        def main(data):
            steps = [
                Lambda(_view),  # (T) -> (1, T)
            ]
        """,
    ),
    "a function of a class": (
        "lambda rows: Batch.of(rows)",
        """
        class Batch:
            @staticmethod
            def of(rows):
                return rows[0]

        def main(data):
            return DataLoader(data, num_workers=1, collate_fn=lambda rows: Batch.of(rows))
        """,
        """
        class Batch:
            @staticmethod
            def of(rows):
                return rows[0]

        def main(data):
            return DataLoader(data, num_workers=1, collate_fn=Batch.of)
        """,
    ),
    "a method that a class has for its objects": (
        "lambda rows: Batch.of(rows)",
        """
        class Batch:
            def of(rows):
                return rows[0]


        def main(data):
            return DataLoader(data, num_workers=1, collate_fn=lambda rows: Batch.of(rows))
        """,
        """
        class Batch:
            def of(rows):
                return rows[0]


        def _collate_fn(rows):
            return Batch.of(rows)


        def main(data):
            return DataLoader(data, num_workers=1, collate_fn=_collate_fn)
        """,
    ),
    "comments around a name of its own": (
        "lambda rows: rows[0]",
        """
        import torch


        def main(data):
            # The first is enough.
            collate = lambda rows: rows[0]  # all are alike
            return DataLoader(data, num_workers=1, collate_fn=collate)
        """,
        """
        import torch


        # The first is enough.
        def collate(rows):  # all are alike
            return rows[0]


        def main(data):
            return DataLoader(data, num_workers=1, collate_fn=collate)
        """,
    ),
    "the field of a dataclass": (
        "lambda step: 0.9 * step",
        """
        @dataclass
        class Schedule:
            base: float
            factor: Callable = lambda step: 0.9 * step  # of the rate
        """,
        """
        def _factor(step):
            return 0.9 * step


        @dataclass
        class Schedule:
            base: float
            factor: Callable = _factor  # of the rate
        """,
    ),
    "an attribute of a local class": (
        "lambda: 3",
        """
        def main():
            class Options:
                seed = lambda: 3
            return Options
        """,
        """
        def _seed():
            return 3


        def main():
            class Options:
                seed = _seed
            return Options
        """,
    ),
    "the default of an option": (
        "lambda rows: torch.stack(rows)[0]",
        """
        def main(options):
            options.setdefault("collate_fn", lambda rows: torch.stack(rows)[0])
        """,
        """
        def _collate_fn(rows):
            return torch.stack(rows)[0]


        def main(options):
            options.setdefault("collate_fn", _collate_fn)
        """,
    ),
    "an argument by keyword": (
        "lambda rows: torch.stack(rows)[0]",
        """
        import torch
        from torch.utils.data import DataLoader


        def main(data):
            return DataLoader(data, num_workers=1, collate_fn=lambda rows: torch.stack(rows)[0])  # quick
        """,
        """
        import torch
        from torch.utils.data import DataLoader


        def _collate_fn(rows):
            return torch.stack(rows)[0]


        def main(data):
            return DataLoader(data, num_workers=1, collate_fn=_collate_fn)  # quick
        """,
    ),
    "several lines and a comment": (
        "lambda row: {…",
        """
        LIMIT = 3
        # The steps.
        steps = Compose(
            Rename("a"),
            lambda row: {  # by name
                **row,
                'text': '''a
          b''',
            },
        )
        """,
        """
        LIMIT = 3


        def _step(row):
            return {  # by name
                **row,
                'text': '''a
          b''',
            }


        # The steps.
        steps = Compose(
            Rename("a"),
            _step,
        )
        """,
    ),
    "a body in parentheses over lines": (
        "lambda x: (…",
        """
        def build(Options):
            return Options(
                scale=lambda x: (
                    x
                    + 1
                ),
            )
        """,
        """
        def _scale(x):
            return (
                x
                + 1
            )


        def build(Options):
            return Options(
                scale=_scale,
            )
        """,
    ),
    "a name at module level": (
        "lambda power, floor=1: 10 * max(power, floor)",
        """
        import math
        to_db = lambda power, floor=1: 10 * max(power, floor)  # decibels
        print(to_db(3))
        """,
        """
        import math


        def to_db(power, floor=1):  # decibels
            return 10 * max(power, floor)


        print(to_db(3))
        """,
    ),
    "a static method": (
        "lambda rows: rows[0]",
        """
        class Collate:
            size = 3
            stack = staticmethod(lambda rows: rows[0])
        """,
        """
        class Collate:
            size = 3

            @staticmethod
            def stack(rows):
                return rows[0]
        """,
    ),
    "a default argument": (
        "lambda data: data",
        """
        class Objects:
            def __init__(self, decode=lambda data: data):
                self.decode = decode
        """,
        """
        def _decode(data):
            return data


        class Objects:
            def __init__(self, decode=_decode):
                self.decode = decode
        """,
    ),
    "a name that is used twice in a function": (
        "lambda step: 0.5**step",
        """
        def main(spawn, train):
            schedule = lambda step: 0.5**step
            print(schedule(1))
            spawn(train, args=(schedule,))
        """,
        """
        def schedule(step):
            return 0.5**step


        def main(spawn, train):
            print(schedule(1))
            spawn(train, args=(schedule,))
        """,
    ),
    "one of the branches of a choice": (
        "lambda: 1",
        """
        class Graphs(Dataset):
            def __init__(self, kind):
                if kind == Kind.UNIFORM:
                    self.weight = lambda: 1
                elif kind == "by-size":
                    self.weight = lambda: 2
                else:
                    self.weight = lambda: 3
        """,
        """
        def _weight_uniform():
            return 1


        def _weight_by_size():
            return 2


        def _weight():
            return 3


        class Graphs(Dataset):
            def __init__(self, kind):
                if kind == Kind.UNIFORM:
                    self.weight = _weight_uniform
                elif kind == "by-size":
                    self.weight = _weight_by_size
                else:
                    self.weight = _weight
        """,
    ),
    "the default of a field": (
        "lambda step: 0.9 * step",
        """
        @dataclass
        class Schedule:
            factor: Callable = field(default=lambda step: 0.9 * step)
        """,
        """
        def _factor(step):
            return 0.9 * step


        @dataclass
        class Schedule:
            factor: Callable = field(default=_factor)
        """,
    ),
    "one argument among others": (
        "lambda row: row + 1",
        """
        def main(data):
            source = Mapper(data, lambda row: row + 1)
            return source
        """,
        """
        def _task(row):
            return row + 1


        def main(data):
            source = Mapper(data, _task)
            return source
        """,
    ),
    "one part of what is no list": (
        "lambda x: x / 255.0",
        """
        class Pipeline:
            def __init__(self):
                self.pipeline = Sequential(Module(lambda x: x / 255.0), Flip(0.5))
        """,
        """
        def _pipeline_step(x):
            return x / 255.0


        class Pipeline:
            def __init__(self):
                self.pipeline = Sequential(Module(_pipeline_step), Flip(0.5))
        """,
    ),
    "one of the steps that a function returns": (
        "lambda row: row + 1",
        """
        def build(_transform):
            return [_transform, Lambda(lambda row: row + 1)]
        """,
        """
        def _transform_2(row):
            return row + 1


        def build(_transform):
            return [_transform, Lambda(_transform_2)]
        """,
    ),
    "a name with its type": (
        "lambda n: n * n",
        """
        square: Callable[[int], "Count"] = lambda n: n * n
        """,
        """
        def square(n: int) -> "Count":
            return n * n
        """,
    ),
    "one that is put into a list beside another": (
        "lambda row: row + 1",
        """
        def main(data, _step):
            steps = [_step]
            steps.append(lambda row: row + 1)
            return steps
        """,
        """
        def _step_2(row):
            return row + 1


        def main(data, _step):
            steps = [_step]
            steps.append(_step_2)
            return steps
        """,
    ),
    "a name that means something else at module level": (
        "lambda step: 0.5**step",
        """
        schedule = None


        def main(spawn, train):
            schedule = lambda step: 0.5**step
            spawn(train, args=(schedule,))
        """,
        """
        schedule = None


        def _schedule(step):
            return 0.5**step


        def main(spawn, train):
            spawn(train, args=(_schedule,))
        """,
    ),
    "its arguments handed on": (
        "lambda batch: collate(batch)",
        """
        def collate(batch, pad=0):
            return batch


        def main(loader):
            return loader(collate_fn=(lambda batch: collate(batch)))
        """,
        """
        def collate(batch, pad=0):
            return batch


        def main(loader):
            return loader(collate_fn=collate)
        """,
    ),
    "under the main guard": (
        "lambda x: SCALE * x",
        """
        SCALE = 2
        if __name__ == "__main__":
            # All of them.
            print(pool.map(lambda x: SCALE * x, [1]))
        """,
        """
        SCALE = 2


        def _task(x):
            return SCALE * x


        if __name__ == "__main__":
            # All of them.
            print(pool.map(_task, [1]))
        """,
    ),
}

UNSAFE: dict[str, tuple[str, str, str]] = {
    "the object of a method handed on, by whatever name": (
        "lambda batch: collate(batch, this)",
        """
        def collate(batch, owner):
            return batch


        class Trainer:
            def loader(this, loader):
                return loader(collate_fn=lambda batch: collate(batch, this))
        """,
        """
        def collate(batch, owner):
            return batch


        class Trainer:
            def loader(this, loader):
                return loader(collate_fn=this._collate_fn)

            def _collate_fn(this, batch):
                return collate(batch, this)
        """,
    ),
    "captured names": (
        "lambda x: x * scale + shift",
        """
        import functools
        from torch import nn


        def build(shift, Options):
            scale = 2
            return Options(transform=lambda x: x * scale + shift)
        """,
        """
        import functools
        from torch import nn


        def _transform(x, *, shift, scale):
            return x * scale + shift


        def build(shift, Options):
            scale = 2
            return Options(transform=functools.partial(_transform, shift=shift, scale=scale))
        """,
    ),
    "a default of a loop": (
        "lambda x, p=p: x**p",
        """
        def build(powers):
            return [(lambda x, p=p: x**p) for p in powers]
        """,
        """
        from functools import partial


        def _task(x, *, p):
            return x**p


        def build(powers):
            return [partial(_task, p=p) for p in powers]
        """,
    ),
    "a local function that it calls": (
        "lambda rows: pad(rows, size)",
        """
        from functools import partial


        def main(loader, size, fill):
            def pad(rows, width):
                return [fill] * width

            return loader(collate_fn=lambda rows: pad(rows, size))
        """,
        """
        from functools import partial


        def pad(rows, width, *, fill):
            return [fill] * width


        def _collate_fn(rows, *, size, fill):
            return pad(rows, size, fill=fill)


        def main(loader, size, fill):
            return loader(collate_fn=partial(_collate_fn, size=size, fill=fill))
        """,
    ),
    "the object of a method": (
        "lambda: open(self.path)",
        """
        class Lines:
            def __init__(self, path):
                self.path = path
                self.open = lambda: open(self.path)

            def __len__(self):
                return 3
        """,
        """
        class Lines:
            def __init__(self, path):
                self.path = path
                self.open = self._open

            def _open(self):
                return open(self.path)

            def __len__(self):
                return 3
        """,
    ),
    "a guarded global": (
        "lambda x: scale * x",
        """
        from functools import partial

        if __name__ == "__main__":
            scale = 2
            print(pool.map(lambda x: scale * x, [1]))
        """,
        """
        from functools import partial


        def _task(x, *, scale):
            return scale * x


        if __name__ == "__main__":
            scale = 2
            print(pool.map(partial(_task, scale=scale), [1]))
        """,
    ),
    "data of the object, for a task": (
        "lambda x: x * self.scale",
        """
        from functools import partial


        class Trainer:
            def run(self, pool):
                return pool.map(lambda x: x * self.scale, [1])
        """,
        """
        from functools import partial


        def _task(x, *, scale):
            return x * scale


        class Trainer:
            def run(self, pool):
                return pool.map(partial(_task, scale=self.scale), [1])
        """,
    ),
    "a local import": (
        "lambda x: np.abs(x)",
        """
        def main(pool):
            import numpy as np

            return pool.map(lambda x: np.abs(x), [1])
        """,
        """
        def _abs(x):
            import numpy as np

            return np.abs(x)


        def main(pool):
            import numpy as np

            return pool.map(_abs, [1])
        """,
    ),
}

DIRECT: dict[str, Any] = {"direct": "yes"}


@pytest.mark.parametrize("name", SAFE)
def test_what_captures_nothing_is_safe(name: str) -> None:
    at, before, after = SAFE[name]
    result = changed("lambda_to_function", dedent(before).lstrip(), at, **DIRECT)
    assert result.text == dedent(after).lstrip()
    assert result.is_safe


@pytest.mark.parametrize("name", UNSAFE)
def test_what_captures_is_filled_in(name: str) -> None:
    at, before, after = UNSAFE[name]
    notes = {} if "method" in name else DIRECT
    result = changed("lambda_to_function", dedent(before).lstrip(), at, **notes)
    assert result.text == dedent(after).lstrip()
    assert result.is_safe == (name == "a local import")


REFUSED = {
    "bound again later": (
        "lambda x: x * scale",
        "def build(steps):\n    scale = 1\n    steps.append(lambda x: x * scale)\n    scale = 2\n",
    ),
    "in each round of the loop": (
        "lambda x: x * scale",
        "def build(steps):\n    for scale in [1, 2]:\n        steps.append(lambda x: x * scale)\n",
    ),
    "super()": (
        "lambda x: super().call(x)",
        "class A(B):\n    def build(self):\n        self.f = lambda x: super().call(x)\n",
    ),
    "locals()": ("lambda x: locals()", "def build(pool):\n    return pool.map(lambda x: locals(), [1])\n"),
}


def test_what_a_cache_keeps_would_not_be_found_by_its_name() -> None:
    for call in ("functools.lru_cache(9)", "functools.cache"):
        text = f"import functools\nload = Tiles({call}(lambda k: k + 1))\n"
        assert "cached function" in reason("lambda_to_function", text, "lambda k: k + 1", **DIRECT)


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_mean_something_else_is_refused(name: str) -> None:
    at, text = REFUSED[name]
    assert name in reason("lambda_to_function", text, at)


def test_line_ends_stay() -> None:
    text = "def main(pool):\r\n    return pool.map(lambda x: x + 1, [1])\r\n"
    result = changed("lambda_to_function", text, "lambda x: x + 1", **DIRECT).text
    assert result.startswith("def _task(x):\r\n    return x + 1\r\n\r\n\r\ndef main")
    assert "\n" not in result.replace("\r\n", "")


def test_tabs_stay() -> None:
    text = "def main(pool):\n\treturn pool.map(lambda x: x + 1, [1])\n"
    assert "def _task(x):\n\treturn x + 1\n" in changed("lambda_to_function", text, "lambda x: x + 1", **DIRECT).text


DATASET = """\
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, train, shift):
        self.shift = shift
        self.steps = {steps}

    def __getitem__(self, index):
        return self.steps[0](index)


loader = DataLoader(Rows(flag, 1), num_workers=2)
"""


def test_lambdas_that_do_the_same_become_one_function() -> None:
    before = DATASET.format(steps="[lambda x: x + 1, lambda x: x + 1, lambda x: x + 2]")
    after = mended_text(before, only="TMP301")
    assert after.count("def _step(x):\n    return x + 1\n") == 1
    assert "self.steps = [_step, _step, _step_2]" in after
    again = after.replace("_step_2]", "_step_2, lambda x: x + 1]")
    assert mended_text(again, only="TMP301") == after.replace("_step_2]", "_step_2, _step]")


def test_methods_of_one_class_have_names_of_their_own() -> None:
    before = DATASET.format(steps="[(lambda x: x + self.shift) if train else (lambda x: x - self.shift)]")
    after = mended_text(before, unsafe=True, only="TMP301")
    assert after.count("    def _step(self, x):") == after.count("    def _step_2(self, x):") == 1
    assert "[self._step if train else self._step_2]" in after


def test_what_allows_a_lambda_goes_with_it() -> None:
    before = (
        "from torch.utils.data import DataLoader\n\n\nfirst = lambda rows: rows[0]  # noqa: E731\n\n\n"
        "loader = DataLoader([1], num_workers=2, collate_fn=first)\n"
    )
    assert "\n\ndef first(rows):\n    return rows[0]\n" in mended_text(before, only="TMP301")


def test_what_hands_captures_on_is_a_partial() -> None:
    before = (
        "from torch.utils.data import DataLoader\n\n\ndef collate(rows, pad, *, width=0):\n    return rows\n\n\n"
        "def make(data, fill, width):\n"
        "    return DataLoader(data, num_workers=2, collate_fn=lambda rows: {})\n"
    )
    after = mended_text(before.format("collate(rows, fill, width=width)"), unsafe=True, only="TMP301")
    assert after.endswith("collate_fn=partial(collate, pad=fill, width=width))\n")
    assert after.startswith("from functools import partial\n\nfrom torch")
    for call in ("collate(rows, fill + 1)", "collate(fill, rows)", "collate(rows, rows)", "collate(rows, *fill)"):
        after = mended_text(before.format(call), unsafe=True, only="TMP301")
        assert "partial(collate" not in after and "\n\n\ndef _" in after


BRANCHES = """\
import numpy as np
from torch.utils.data import DataLoader, Dataset
{functions}

class Draws(Dataset):
    def __init__(self, kind):
        if kind == "one":
            self.draw = {one}
        elif kind == "own":
            self.draw = lambda: kind
        else:
            self.draw = {other}

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.draw()


if __name__ == "__main__":
    list(DataLoader(Draws({kind}), num_workers=1))
"""


@pytest.mark.parametrize("kind", ["'one'", "input()"])
def test_lambdas_of_other_branches_go_along(kind: str) -> None:
    lambdas = {"one": "lambda: 1", "other": "lambda: np.random.uniform()", "functions": ""}
    after = mended_text(BRANCHES.format(kind=kind, **lambdas))
    functions = "\n\ndef _draw_one():\n    return 1\n\n\ndef _draw():\n    return np.random.uniform()\n"
    assert after == BRANCHES.format(kind=kind, one="_draw_one", other="_draw", functions=functions)
