"""Resources that datasets keep open become properties that open them in each process."""

from __future__ import annotations

import pytest
from fixes.mending import mended_text

HEAD = """\
import os

import h5py
from torch.utils.data import Dataset


class Features(Dataset):
"""
REST = """
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.data[index]
"""
PROPERTY = '''
    @property
    def {name}(self):
        """Opened once in each process."""
        if self.__dict__.get("_opened_{bare}_by") != os.getpid():
            self._opened_{bare} = {call}
            self._opened_{bare}_by = os.getpid()
        return self._opened_{bare}
'''
DERIVED = """
    @property
    def data(self):
        return {expression}
"""
STATE = """
    def __getstate__(self):
        left_out = ("_opened_{bare}", "_opened_{bare}_by")
        return {{k: v for k, v in self.__dict__.items() if k not in left_out}}
"""


def fixed(text: str) -> str:
    assert mended_text(text) == text
    after = mended_text(text, unsafe=True)
    assert mended_text(after, unsafe=True) == after
    return after


def test_what_is_derived_goes_along() -> None:
    before = f"""{HEAD}    def __init__(self, path, key="x"):
        self.path = path
        self.file = h5py.File(path, "r")  # é
        self.data = self.file[key]
        self.count = len(self.data)
{REST}"""
    after = f"""{HEAD}    def __init__(self, path, key="x"):
        self.path = path
        self._data_key = key
        self.count = len(self.data)
{PROPERTY.format(name="file", bare="file", call='h5py.File(self.path, "r")')}"""
    after += DERIVED.format(expression="self.file[self._data_key]") + STATE.format(bare="file") + REST
    assert fixed(before) == after


def test_a_local_name_for_it() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        source = h5py.File(path)
        self.data = source.get("x")
        self.keys = list(source.keys())
{REST}"""
    after = f"""{HEAD}    def __init__(self, path):
        self._source_path = path
        self.keys = list(self._source.keys())
{PROPERTY.format(name="_source", bare="source", call="h5py.File(self._source_path)")}"""
    after += DERIVED.format(expression='self._source.get("x")') + STATE.format(bare="source") + REST
    assert fixed(before) == after


LEFT = {
    "on a condition": "        if path:\n            self.data = h5py.File(path)\n",
    "in two places": "        self.data = None\n        self.data = h5py.File(path)\n",
    "beside a reduce": "        self.data = h5py.File(path)\n\n    def __setstate__(self, state):\n        pass\n",
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str) -> None:
    text = f"{HEAD}    def __init__(self, path):\n{LEFT[case]}{REST}"
    assert fixed(text) == text
