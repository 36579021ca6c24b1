"""Local functions and classes, and those under the guard, move to module level: before and after."""

from __future__ import annotations

from textwrap import dedent

import pytest
from changing import changed, reason

PAIRS: dict[str, tuple[str, bool, str, str]] = {
    "a class whose header needs imports of the guard": (
        "Squares",
        False,
        """
        import sys

        if __name__ == "__main__":
            import torch  # takes long

            # and this
            from torch.utils.data import (
                DataLoader,
                Dataset,
            )

            # Squares them.
            class Squares(Dataset):
                def __getitem__(self, index):
                    return torch.tensor(index * index)

            print(DataLoader(Squares()), sys.argv)
        """,
        """
        import sys
        import torch  # takes long
        # and this
        from torch.utils.data import (
            DataLoader,
            Dataset,
        )


        # Squares them.
        class Squares(Dataset):
            def __getitem__(self, index):
                return torch.tensor(index * index)


        if __name__ == "__main__":
            print(DataLoader(Squares()), sys.argv)
        """,
    ),
    "a closed function with comments and a docstring": (
        "collate",
        True,
        '''
        import torch


        def main(loader):
            # Puts them
            # on top of each other.
            @torch.no_grad()
            def collate(rows):
                """Stacks.

                All of them.
                """
                text = """a
            b"""
                return rows, text  # done

            return loader(collate)
        ''',
        '''
        import torch


        # Puts them
        # on top of each other.
        @torch.no_grad()
        def collate(rows):
            """Stacks.

            All of them.
            """
            text = """a
            b"""
            return rows, text  # done


        def main(loader):
            return loader(collate)
        ''',
    ),
    "annotated captures, and a star": (
        "fill",
        False,
        """
        from functools import partial
        import torch


        def main(spawn, size: int, out: torch.Tensor, *rest):
            def fill(rank: int, *more: int, **options: int) -> None:
                out[rank] = size

            spawn(fill, 3)
        """,
        """
        from functools import partial
        import torch


        def fill(rank: int, *more: int, size: int, out: torch.Tensor, **options: int) -> None:
            out[rank] = size


        def main(spawn, size: int, out: torch.Tensor, *rest):
            spawn(partial(fill, size=size, out=out), 3)
        """,
    ),
    "used twice": (
        "seed",
        False,
        """
        from functools import partial


        def main(spawn, start):
            def seed(rank):
                return start + rank

            spawn(seed)
            spawn(seed)
        """,
        """
        from functools import partial


        def _seed(rank, *, start):
            return start + rank


        def main(spawn, start):
            seed = partial(_seed, start=start)

            spawn(seed)
            spawn(seed)
        """,
    ),
    "a recursive function": (
        "count",
        False,
        """
        from functools import partial


        def main(spawn, leaf):
            def count(tree):
                return sum(map(count, tree)) + count(tree[0]) if tree else leaf

            spawn(count)
        """,
        """
        from functools import partial


        def count(tree, *, leaf):
            return sum(map(partial(count, leaf=leaf), tree)) + count(tree[0], leaf=leaf) if tree else leaf


        def main(spawn, leaf):
            spawn(partial(count, leaf=leaf))
        """,
    ),
    "a class and its base": (
        "Odd",
        False,
        """
        def main(loader, n):
            class Base(Dataset):
                size = 3

            class Odd(Base):
                def __init__(self, k):
                    super().__init__()
                    self.k = k

                def __len__(self):
                    return n + sum(n for _ in range(self.k))

            return loader(Odd(k=3))
        """,
        """
        class Base(Dataset):
            size = 3


        class Odd(Base):
            def __init__(self, k, *, n):
                super().__init__()
                self.n = n
                self.k = k

            def __len__(self):
                return self.n + sum(self.n for _ in range(self.k))


        def main(loader, n):
            return loader(Odd(k=3, n=n))
        """,
    ),
    "under the guard": (
        "Jobs",
        True,
        """
        import torch
        if __name__ == "__main__":

            class Jobs:
                pass

            # Go.
            run(Jobs)
        else:
            print("imported")
        """,
        """
        import torch


        class Jobs:
            pass


        if __name__ == "__main__":
            # Go.
            run(Jobs)
        else:
            print("imported")
        """,
    ),
    "the object of a method, and an argument": (
        "work",
        False,
        """
        from functools import partial


        class Trainer:
            def run(self, spawn, size):
                def work(rank):
                    return self.step(rank, size)

                spawn(work)
        """,
        """
        from functools import partial


        class Trainer:
            def run(self, spawn, size):
                spawn(partial(self._work, size=size))

            def _work(self, rank, *, size):
                return self.step(rank, size)
        """,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_it_moves(name: str) -> None:
    at, is_safe, before, after = PAIRS[name]
    result = changed("local_to_module", dedent(before).lstrip(), at)
    assert result.text == dedent(after).lstrip()
    assert result.is_safe == is_safe


REFUSED = {
    "rebinds count": """
        def main(spawn):
            count = 0
            def f():
                nonlocal count
                count += 1
            spawn(f)
        """,
    "outside of its methods": """
        def main(n):
            class f:
                size = n
            return f()
        """,
    "bound again later": """
        def main(spawn, n):
            def f():
                return n
            spawn(f)
            n = 3
        """,
    "makes its own __init__": """
        def main(n):
            @dataclass
            class f:
                x: int
                def get(self):
                    return n
            return f(1)
        """,
    "needs the local import of torch": """
        import os
        if __name__ == "__main__":
            os.environ["CUDA_VISIBLE_DEVICES"] = "1"
            import torch
            class f(torch.utils.data.Dataset):
                pass
            print(f())
        """,
    "header needs base": """
        def main(base):
            class f(base):
                pass
            return f()
        """,
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_would_mean_something_else_is_refused(why: str) -> None:
    assert why in reason("local_to_module", REFUSED[why], "f")


@pytest.mark.parametrize("name", PAIRS)
def test_line_ends_stay(name: str) -> None:
    at, _, before, after = PAIRS[name]
    text = dedent(before).lstrip().replace("\n", "\r\n")
    assert changed("local_to_module", text, at).text == dedent(after).lstrip().replace("\n", "\r\n")
