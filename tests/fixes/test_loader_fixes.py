from __future__ import annotations

import pytest
from fixes.mending import mended_text

DATASET = """\
import glob
import os
from pathlib import Path
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Files(Dataset):
    def __init__(self, root):
        self.files = {listing}

    def __getitem__(self, index):
        return self.files[index]
"""

SORTED = {
    "os.listdir(root)  # é": "sorted(os.listdir(root))  # é",
    "[f for f in os.listdir(root) if f]": "[f for f in sorted(os.listdir(root)) if f]",
    'list(Path(root).rglob("*.png"))': 'sorted(Path(root).rglob("*.png"))',
    'glob.glob(root + "/*") + glob.glob(root)': 'sorted(glob.glob(root + "/*")) + sorted(glob.glob(root))',
    "[e.path for e in os.scandir(root)]": "[e.path for e in sorted(os.scandir(root), key=os.fspath)]",
}


@pytest.mark.parametrize("listing", SORTED)
def test_listing_is_sorted(listing: str) -> None:
    after = mended_text(DATASET.format(listing=listing))
    assert after == DATASET.format(listing=SORTED[listing])
    assert mended_text(after) == after


def test_listings_of_one_folder_stay_in_step() -> None:
    before = (
        "[f for f in os.listdir(root)]\n        names, count = os.listdir(root), len(os.listdir(root))\n"
        "        self.labels = [count, self.table(names)]"
    )
    after = before.replace("in os.listdir(root)", "in sorted(os.listdir(root))")
    after = after.replace("= os.listdir(root)", "= sorted(os.listdir(root))")
    assert mended_text(DATASET.format(listing=before)) == DATASET.format(listing=after)


def test_a_listing_that_is_compared_stays_as_the_other() -> None:
    before = "os.listdir(root)\n        assert os.listdir(root) == os.listdir(root + '_labels')"
    assert mended_text(DATASET.format(listing=before)) == DATASET.format(listing=f"sorted({before[:16]}){before[16:]}")


WALKED = {
    "[os.path.join(x[0], f) for x in os.walk(root) for f in x[2]]": (
        "[os.path.join(x[0], f) for x in sorted(os.walk(root)) for f in sorted(x[2])]"
    ),
    "[os.path.join(d, f) for d, _, names in os.walk(root) for f in names]": (
        "[os.path.join(d, f) for d, _, names in sorted(os.walk(root)) for f in sorted(names)]"
    ),
    "[]\n        for place, _, names in os.walk(root):  # all\n            # each\n"
    "            for f in names:\n                self.files.append(os.path.join(place, f))": (
        "[]\n        for place, dirs, names in os.walk(root):  # all\n"
        "            dirs.sort()\n            names.sort()\n            # each\n"
        "            for f in names:\n                self.files.append(os.path.join(place, f))"
    ),
    "[]\n        with os.scandir(root) as entries:\n"
    "            for e in entries:\n                self.files.append(e)": (
        "[]\n        with os.scandir(root) as entries:\n"
        "            for e in sorted(entries, key=lambda entry: entry.name):\n                self.files.append(e)"
    ),
}


@pytest.mark.parametrize("listing", WALKED)
def test_walk_and_entries_are_sorted(listing: str) -> None:
    after = mended_text(DATASET.format(listing=listing))
    assert after == DATASET.format(listing=WALKED[listing])
    assert mended_text(after) == after


@pytest.mark.parametrize("walk", ["os.walk(root, False)", "os.walk(root, topdown=False)", "os.fwalk(root)"])
def test_walk_that_sorting_would_not_order_is_left(walk: str) -> None:
    names = "d, _, names, _" if "fwalk" in walk else "d, _, names"
    text = DATASET.format(listing=f"[]\n        for {names} in {walk}:\n            self.files += names")
    assert mended_text(text, unsafe=True) == text


LOADER = "from torch.utils.data import DataLoader\n"

DROPPED = {
    "DataLoader([1], prefetch_factor=2)\n": "DataLoader([1])\n",
    "DataLoader([1], prefetch_factor=2, num_workers=0)  # a\n": "DataLoader([1], num_workers=0)  # a\n",
    "DataLoader(\n    [1],\n    timeout=(30),\n    batch_size=2,  # b\n)\n": (
        "DataLoader(\n    [1],\n    batch_size=2,  # b\n)\n"
    ),
    "DataLoader(\n    [1],\n    persistent_workers=True,  # c\n)\n": "DataLoader(\n    [1],\n    # c\n)\n",
    "DataLoader(\n    [1],\n    persistent_workers=True,  # type: ignore\n)\n": "DataLoader(\n    [1],\n)\n",
    "DataLoader(\n    [1],\n    # d\n    # e\n    persistent_workers=True\n)\n": (
        "DataLoader(\n    [1],\n    # d\n    # e\n)\n"
    ),
    "DataLoader(\n    [1],\n    # f\n    timeout=3,\n    batch_size=2,\n)\n": (
        "DataLoader(\n    [1],\n    # f\n    batch_size=2,\n)\n"
    ),
    "DataLoader([1],  # g\n           timeout=3)\n": "DataLoader([1],  # g\n           )\n",
    "DataLoader([1], timeout=3,\n           batch_size=2)\n": "DataLoader([1],\n           batch_size=2)\n",
    "DataLoader([1], timeout=3,  # h\n           batch_size=2)\n": "DataLoader([1],  # h\n           batch_size=2)\n",
    "DataLoader(timeout=3,\n           dataset=[1])\n": "DataLoader(dataset=[1])\n",
}


OPTIONS_OF_ALL = {
    "OPTIONS = dict(\n    batch_size=2,\n    timeout=4,  # seconds\n)\n": (
        "OPTIONS = dict(\n    batch_size=2,\n    # seconds\n)\n"
    ),
    'OPTIONS = {"num_workers": 0, "timeout": 3}\n': 'OPTIONS = {"num_workers": 0}\n',
    'OPTIONS = {"num_workers": 0, "timeout": 3, "prefetch_factor": 2}\n': 'OPTIONS = {"num_workers": 0}\n',
    'OPTIONS = {"timeout": 3, "prefetch_factor": 2, "num_workers": 0}\n': 'OPTIONS = {"num_workers": 0}\n',
}


@pytest.mark.parametrize("before", OPTIONS_OF_ALL)
def test_option_of_a_dict_goes_where_no_loader_has_workers(before: str) -> None:
    calls = "one = DataLoader([1], **OPTIONS)\ntwo = DataLoader([2], shuffle=True, **OPTIONS)\n"
    assert mended_text(LOADER + before + calls) == LOADER + OPTIONS_OF_ALL[before] + calls
    others = calls.replace("shuffle=True", "num_workers=4")
    assert '{**OPTIONS, "' in mended_text(LOADER + 'OPTIONS = {"timeout": 3}\n' + others)
    assert 'OPTIONS = {"timeout": 3}\n' in mended_text(LOADER + 'OPTIONS = {"timeout": 3}\n' + others)


@pytest.mark.parametrize("before", DROPPED)
def test_option_is_dropped(before: str) -> None:
    after = mended_text(LOADER + before)
    assert after == LOADER + DROPPED[before]
    assert mended_text(after) == after


def test_options_that_make_a_line_too_long_get_lines_of_their_own() -> None:
    head = LOADER + "\n\ndef make(data, workers=0):\n    return DataLoader(data, batch_size=32, shuffle=True,\n"
    below = " " * len("    return DataLoader(")
    before = f"{below}num_workers=workers, persistent_workers=True, prefetch_factor=2, timeout=30)\n"
    after = (
        f"{below}num_workers=workers,\n{below}persistent_workers=workers > 0,\n"
        f"{below}prefetch_factor=2 if workers > 0 else None,\n{below}timeout=30 if workers > 0 else 0)\n"
    )
    assert mended_text(head + before, unsafe=True) == head + after


CHOSEN = LOADER + "\n\ndef make(data, workers=0):\n    return DataLoader(data, num_workers=workers, {option})\n"
FITTED = {
    "prefetch_factor=2": "prefetch_factor=2 if workers > 0 else None",
    "persistent_workers=True": "persistent_workers=workers > 0",
    "timeout=30": "timeout=30 if workers > 0 else 0",
    "prefetch_factor=4 if workers > 0 else 2": "prefetch_factor=4 if workers > 0 else None",
}


@pytest.mark.parametrize("option", FITTED)
def test_option_depends_on_the_count(option: str) -> None:
    text = CHOSEN.format(option=option)
    assert mended_text(text) == text
    after = mended_text(text, unsafe=True)
    assert after == CHOSEN.format(option=FITTED[option])
    assert mended_text(after, unsafe=True) == after


CHOSEN_COUNTS = {
    "0 if a.debug else 2": ("not a.debug", "None if a.debug else 4"),
    "2 if cuda else 0": ("bool(cuda)", "4 if cuda else None"),
    "0 if n < 9 else 2": ("not (n < 9)", "None if n < 9 else 4"),
}


@pytest.mark.parametrize("count", CHOSEN_COUNTS)
def test_option_is_chosen_as_the_count_is(count: str) -> None:
    persistent, prefetched = CHOSEN_COUNTS[count]
    text = LOADER + "\n\ndef make(data, a, cuda, n):\n    return DataLoader(data, num_workers={}, {}={})\n"
    for option, value, fitted in (("persistent_workers", "True", persistent), ("prefetch_factor", "4", prefetched)):
        after = mended_text(text.format(count, option, value), unsafe=True)
        assert after == text.format(count, option, fitted)
    drawn = text.format(count.replace("0", "draw()"), "timeout", "3")
    assert mended_text(drawn, unsafe=True) == drawn


def test_option_stays_for_those_who_name_a_count() -> None:
    text = CHOSEN.format(option="persistent_workers=True") + "\n\nloader = make([1])\n"
    after = CHOSEN.format(option="persistent_workers=workers > 0") + "\n\nloader = make([1])\n"
    assert mended_text(text) == after
    text = f"{LOADER}\n\nclass Loader(DataLoader):\n    def __init__(self, data, workers=0, **kw):\n"
    text += "        kw.setdefault('persistent_workers', True)\n"
    text += "        super().__init__(data, num_workers=workers, **{given})\n\n\nloader = Loader([1])\n"
    kept = '{**kw, "persistent_workers": workers > 0}'
    assert mended_text(text.replace("{given}", "kw")) == text.replace("{given}", kept)


def test_count_that_is_no_name_is_left() -> None:
    text = CHOSEN.format(option="timeout=30").replace("num_workers=workers", "num_workers=workers * 1")
    assert mended_text(text, unsafe=True) == text


SHARED = f"""\
{LOADER}
OPTIONS = dict(persistent_workers=True, timeout=9)


def make(data, workers=0):
    train = DataLoader(data, num_workers=2, **OPTIONS)
    return train, DataLoader(data, {{given}})
"""
OVERRIDDEN = {
    "num_workers=0, **OPTIONS": 'num_workers=0, **{**OPTIONS, "persistent_workers": False, "timeout": 0}',
    "**{**OPTIONS, 'batch_size': 2,}": ('**{**OPTIONS, \'batch_size\': 2, "persistent_workers": False, "timeout": 0,}'),
    "num_workers=workers, **OPTIONS": (
        'num_workers=workers, **{**OPTIONS, "persistent_workers": workers > 0, '
        '"timeout": OPTIONS["timeout"] if workers > 0 else 0}'
    ),
}


@pytest.mark.parametrize("given", OVERRIDDEN)
def test_shared_option_is_set_for_one_loader(given: str) -> None:
    text = SHARED.format(given=given)
    is_safe = "workers=workers" not in given
    assert (mended_text(text) != text) is is_safe
    after = mended_text(text, unsafe=True)
    assert after == SHARED.format(given=OVERRIDDEN[given])
    assert mended_text(after, unsafe=True) == after


@pytest.mark.parametrize("given", ["num_workers=workers * 1, **OPTIONS", "**OPTIONS, **{'batch_size': 2}"])
def test_shared_option_is_left(given: str) -> None:
    text = SHARED.format(given=given)
    assert mended_text(text, unsafe=True) == text


OWN_COUNTS = {
    '{"num_workers": workers, "prefetch_factor": 4}': (
        '{"num_workers": workers, "prefetch_factor": 4 if workers > 0 else None}'
    ),
    "dict(\n        num_workers=a.n,\n        # kept\n        persistent_workers=True,  # always\n    )": (
        "dict(\n        num_workers=a.n,\n        # kept\n        persistent_workers=a.n > 0,  # always\n    )"
    ),
}


@pytest.mark.parametrize("options", OWN_COUNTS)
def test_option_of_a_dict_depends_on_its_count(options: str) -> None:
    text = f"{LOADER}from types import SimpleNamespace\na = SimpleNamespace(n=0)\n\n\ndef make(data, workers=0):\n"
    text += '    options = {}\n    options["shuffle"] = True\n    return DataLoader(data, **options)\n\n\n'
    text += "def other():\n    options = 3\n\n\nmake([1])\n"
    text = text.replace("options = {}", "options = {given}")
    after = mended_text(text.replace("{given}", options), unsafe=True)
    assert after == text.replace("{given}", OWN_COUNTS[options])
    assert mended_text(after, unsafe=True) == after
