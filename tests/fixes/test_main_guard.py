"""What runs at import goes under the main guard, and start methods are set once: before and after."""

from __future__ import annotations

from textwrap import dedent

import pytest
from changing import changed, reason
from fixes.mending import mended

from flake8_torchmp.fixes.main_guard import HEADER

PAIRS: dict[str, tuple[str, str, str, str]] = {
    "a script": (
        "main_guard",
        "range(3)",
        '''
        """Trains."""
        import torch

        SIZE = 3
        torch.manual_seed(1)

        # The data.
        data = make(
            SIZE,
        )

        for epoch in range(3):  # all
            text = f"""{epoch}
          rest"""

            print(text, data)
        # the end
        print("done")
        ''',
        '''
        """Trains."""
        import torch

        SIZE = 3

        if __name__ == "__main__":
            torch.manual_seed(1)

            # The data.
            data = make(
                SIZE,
            )

            for epoch in range(3):  # all
                text = f"""{epoch}
          rest"""

                print(text, data)
            # the end
            print("done")
        ''',
    ),
    "quotes and steps as they are": (
        "main_guard",
        "range(3)",
        """
        import torch

        def first(rows):
          return rows[0]

        NAME = 'all'
        for epoch in range(3):
            print(epoch)
        """,
        """
        import torch

        def first(rows):
          return rows[0]

        NAME = 'all'

        if __name__ == '__main__':
            for epoch in range(3):
                print(epoch)
        """,
    ),
    "the step of most blocks, not of the first": (
        "main_guard",
        "train()",
        """
        import sys

        if len(sys.argv) > 1:
             print(sys.argv)

        def train():
            for epoch in range(3):
                print(epoch)

        train()
        """,
        """
        import sys

        if len(sys.argv) > 1:
             print(sys.argv)

        def train():
            for epoch in range(3):
                print(epoch)

        if __name__ == "__main__":
            train()
        """,
    ),
    "a value that nobody reads, among others": (
        "main_guard",
        "range(3)",
        """
        batch = 4
        data = make(batch)

        # The training.
        points = 1000
        rate = 0.1
        model = build(data)

        def step():
            return rate

        for epoch in range(3):
            model.step()
        """,
        """
        batch = 4
        rate = 0.1

        def step():
            return rate

        if __name__ == "__main__":
            data = make(batch)

            # The training.
            points = 1000
            model = build(data)

            for epoch in range(3):
                model.step()
        """,
    ),
    "definitions, constants that functions read, and a guard that is there": (
        "main_guard",
        "fit(model)",
        """
        import argparse

        parser = argparse.ArgumentParser()
        args = parser.parse_args()
        SIZE = 3
        model = make(SIZE)


        def step(x):
            return x * args.rate * SIZE


        fit(model)


        def last():
            return SIZE


        DEPTH = 2


        def depth():
            return DEPTH


        if __name__ == "__main__":
            # Ends.
            print(last())
        """,
        """
        import argparse

        parser = argparse.ArgumentParser()
        args = parser.parse_args()
        SIZE = 3


        def step(x):
            return x * args.rate * SIZE


        def last():
            return SIZE


        DEPTH = 2


        def depth():
            return DEPTH


        if __name__ == "__main__":
            model = make(SIZE)

            fit(model)
            # Ends.
            print(last())
        """,
    ),
    "constants at the head stay, what the run begins with goes along": (
        "main_guard",
        "range(STEPS)",
        """
        STEPS = 3
        NAMES = ["a"]


        def step(n):
            return n


        total, losses = 0, []
        RATE = 0.1

        for n in range(STEPS):
            total += step(n) * RATE
        print(NAMES, total, losses)
        """,
        """
        STEPS = 3
        NAMES = ["a"]


        def step(n):
            return n


        RATE = 0.1

        if __name__ == "__main__":
            total, losses = 0, []
            for n in range(STEPS):
                total += step(n) * RATE
            print(NAMES, total, losses)
        """,
    ),
    "texts that head the sections, and one that documents a value": (
        "main_guard",
        "range(3)",
        """
        '''Trains.'''
        import torch

        '''Settings'''
        RATE = 0.1
        '''of the optimizer'''

        '''The data'''
        data = make()

        '''The training'''
        for epoch in range(3):
            data.step(RATE)
        """,
        """
        '''Trains.'''
        import torch

        '''Settings'''
        RATE = 0.1
        '''of the optimizer'''

        if __name__ == "__main__":
            '''The data'''
            data = make()

            '''The training'''
            for epoch in range(3):
                data.step(RATE)
        """,
    ),
    "a table that gets its name several times, below a logger's level": (
        "main_guard",
        "range(3)",
        """
        import logging

        logger = logging.getLogger("rows")
        logger.setLevel(logging.WARNING)

        rows = read("rows.csv")
        rows.head()
        rows = rows.dropna()

        for row in range(3):
            print(rows[row])
        """,
        """
        import logging

        logger = logging.getLogger("rows")
        logger.setLevel(logging.WARNING)

        if __name__ == "__main__":
            rows = read("rows.csv")
            rows.head()
            rows = rows.dropna()

            for row in range(3):
                print(rows[row])
        """,
    ),
    "a model by the name of its module, and what works on it for nobody": (
        "main_guard",
        "range(3)",
        """
        import model
        import torch

        RATE = 0.1
        model = model.build(3)
        model.train()
        label = torch.zeros(model.size)
        optimizer = torch.optim.SGD(model.parameters(), RATE)

        for row in range(3):
            print(model(row))
        """,
        """
        import model
        import torch

        RATE = 0.1

        if __name__ == "__main__":
            model = model.build(3)
            model.train()
            label = torch.zeros(model.size)
            optimizer = torch.optim.SGD(model.parameters(), RATE)

            for row in range(3):
                print(model(row))
        """,
    ),
    "what is written of it, and what may change the module": (
        "main_guard",
        "range(3)",
        """
        import os


        def save(model, folder):
            model.save(folder)


        def use(folder):
            global FOLDER
            FOLDER = folder


        folder = choose()
        use(folder)
        os.makedirs(folder, exist_ok=True)
        model = build(folder)
        save(model, folder)

        for row in range(3):
            save(model.step(row), folder)
        """,
        """
        import os


        def save(model, folder):
            model.save(folder)


        def use(folder):
            global FOLDER
            FOLDER = folder


        folder = choose()
        use(folder)

        if __name__ == "__main__":
            os.makedirs(folder, exist_ok=True)
            model = build(folder)
            save(model, folder)

            for row in range(3):
                save(model.step(row), folder)
        """,
    ),
    "an import of a choice, with what it is for and without": (
        "main_guard",
        "range(3)",
        """
        options = parse()

        if options.plain:
            from plain import Logger
        else:
            from pretty import Logger

        logger = Logger(options)
        model = build(options)
        if options.half:
            from apex import amp

            model = amp.initialize(model)

        for row in range(3):
            logger.say(model(row))
        """,
        """
        options = parse()

        if options.plain:
            from plain import Logger
        else:
            from pretty import Logger

        if __name__ == "__main__":
            logger = Logger(options)
            model = build(options)
            if options.half:
                from apex import amp

                model = amp.initialize(model)

            for row in range(3):
                logger.say(model(row))
        """,
    ),
    "what gets another value behind it stays in front of that": (
        "main_guard",
        "range(3)",
        """
        folder = "rows"
        rows = read(folder)
        folder = "figures"


        def save(name):
            return folder + name


        for row in range(3):
            save(rows[row])
        """,
        """
        folder = "rows"
        rows = read(folder)
        folder = "figures"


        def save(name):
            return folder + name


        if __name__ == "__main__":
            for row in range(3):
                save(rows[row])
        """,
    ),
    "a test that is no guard": (
        "main_guard",
        "fit()",
        "import mp\n\nif mp.parent_process() is None:\n    fit()\n",
        'import mp\n\nif __name__ == "__main__":\n    fit()\n',
    ),
    "a decorator that runs its function": (
        "main_guard",
        "entry",
        "@entry\ndef main():\n    run()\n",
        'if __name__ == "__main__":\n    @entry\n    def main():\n        run()\n',
    ),
    "the start method of a script": (
        "start_method_once",
        'mp.set_start_method("spawn")',
        (
            'import mp\n\nmp.set_start_method("spawn")\n\n\ndef main():\n    pass\n\n\n'
            'if __name__ == "__main__":\n    main()\n'
        ),
        (
            "import mp\n\n\ndef main():\n    pass\n\n\n"
            'if __name__ == "__main__":\n    mp.set_start_method("spawn")\n    main()\n'
        ),
    ),
    "the start method above a guard that is an elif": (
        "start_method_once",
        'mp.set_start_method("spawn")',
        (
            'import mp\n\n# clean\nmp.set_start_method("spawn")  # keep\nQUIET = "-q" in sys.argv\n\n'
            'if QUIET:\n    pass\nelif __name__ == "__main__":\n    main()\nelse:\n    print("imported")\n'
        ),
        (
            'import mp\n\nif __name__ == "__main__":\n    # clean\n    mp.set_start_method("spawn")  # keep\n'
            'QUIET = "-q" in sys.argv\n\n'
            'if QUIET:\n    pass\nelif __name__ == "__main__":\n    main()\nelse:\n    print("imported")\n'
        ),
    ),
    "the start method in a function": (
        "start_method_once",
        "mp.set_start_method(\n        method,\n    )",
        "import mp\n\n\ndef setup(method):\n    mp.set_start_method(\n        method,\n    )\n",
        (
            "import mp\n\n\ndef setup(method):\n    if mp.get_start_method(allow_none=True) is None:\n"
            "        mp.set_start_method(\n            method,\n        )\n"
        ),
    ),
    "the start method by a name of its own": (
        "start_method_once",
        'use("spawn")',
        'from multiprocessing import set_start_method as use\n\nif True:\n    use("spawn")\n',
        (
            "from multiprocessing import get_start_method, set_start_method as use\n\n"
            'if True:\n    if get_start_method(allow_none=True) is None:\n        use("spawn")\n'
        ),
    ),
    "the start method beside other code": (
        "start_method_once",
        "mp.set_start_method(method='spawn')",
        "import mp\nif True: x = 1; mp.set_start_method(method='spawn')\n",
        "import mp\nif True: x = 1; mp.set_start_method(method='spawn', force=True)\n",
    ),
    "fork by name": (
        "another_start_method",
        "'fork'",
        "START = 'fork'  # not `fork`\n",
        "START = 'spawn'  # not `fork`\n",
    ),
    "fork on one branch": (
        "another_start_method",
        '"fork"',
        'START = "spawn" if windows else "fork"\n',
        'START = "spawn"\n',
    ),
    "fork set at import": (
        "another_start_method",
        '"fork"',
        'import mp\n\nmp.set_start_method("fork")\nif __name__ == "__main__":\n    main()\n',
        'import mp\n\nif __name__ == "__main__":\n    mp.set_start_method("spawn")\n    main()\n',
    ),
    "forkserver where there is one": (
        "available_start_method",
        '"forkserver"',
        'import torch.multiprocessing as mp\n\nmp.set_start_method("forkserver")\n',
        (
            "import torch.multiprocessing as mp\n\n"
            'mp.set_start_method("forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn")\n'
        ),
    ),
    "forkserver in a file that imports nothing": (
        "available_start_method",
        "'forkserver'",
        "START = 'forkserver'\n",
        (
            "import multiprocessing\n\n"
            "START = 'forkserver' if 'forkserver' in multiprocessing.get_all_start_methods() else 'spawn'\n"
        ),
    ),
    "a decorator without wraps": (
        "wraps_added",
        "inner",
        (
            "import functools\n\n\ndef timed(times, function):\n    def inner(*args):\n"
            "        return function(*args)\n\n    return inner\n"
        ),
        (
            "import functools\n\n\ndef timed(times, function):\n    @functools.wraps(function)\n    def inner(*args):\n"
            "        return function(*args)\n\n    return inner\n"
        ),
    ),
}
UNSAFE = {"fork by name", "fork on one branch", "fork set at import"}


@pytest.mark.parametrize("name", PAIRS)
def test_it_changes(name: str) -> None:
    codemod, at, before, after = PAIRS[name]
    result = changed(codemod, dedent(before).lstrip(), at)
    assert result.text == dedent(after).lstrip()
    assert result.is_safe == (name not in UNSAFE)


def test_what_an_imported_module_of_the_project_may_count_on_stays_above_its_import() -> None:
    loop = "for batch in DataLoader([1, 2], num_workers=1):\n    print(batch)\n"
    text = "import torch\nfrom torch.utils.data import DataLoader\ntorch.manual_seed(1)\nimport {module}\n\n" + loop
    for module in ("data", "numpy"):
        after = mended({"main.py": text.format(module=module), "data.py": "SIZE = 1\n"}).files["main.py"]
        _, guarded = after.split(f"{HEADER}\n")
        assert ("torch.manual_seed(1)" in guarded) == (module == "numpy")


def test_what_others_import_is_unsafe_and_what_they_name_stays() -> None:
    text = "import torch\n\nSUM = fit()\n"
    assert not changed("main_guard", text, "fit()", imported="runs.py").is_safe
    assert "mentions MEAN" in reason("main_guard", text.replace("SUM", "MEAN"), "fit()", imported="runs.py\nuses.py")


def test_other_code_on_the_line_is_no_place_for_a_guard() -> None:
    assert "same line" in reason("main_guard", "import torch; fit()\n", "fit()")


def test_a_library_asks_before_it_sets_the_start_method() -> None:
    text = 'import mp\n\nmp.set_start_method("spawn")\n'
    result = changed("start_method_once", text, 'mp.set_start_method("spawn")', imported="runs.py")
    assert "if mp.get_start_method(allow_none=True) is None:\n    mp.set_start_method" in result.text


@pytest.mark.parametrize(
    "text",
    [
        'START = "fork"  # faster than spawn; forking is fine here\n',
        '# Forked workers share the table.\nSTART = "fork"\n',
        'with pool(\n    "fork",\n) as it:  # forking is faster\n    it.run()\n',
    ],
)
def test_fork_for_a_reason_stays(text: str) -> None:
    assert "comment" in reason("another_start_method", text, '"fork"')


def test_cells_of_a_notebook_stay_where_they_are() -> None:
    text = "# %%\nimport torch\n# %%\nSUM = fit()\n"
    assert "cells" in reason("main_guard", text, "fit()")
