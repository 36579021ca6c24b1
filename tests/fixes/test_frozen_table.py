from __future__ import annotations

import pytest
from fixes.mending import mended_text

DATASET = """\
from types import MappingProxyType

from torch.utils.data import DataLoader, Dataset

TABLE = {table}


class Animals(Dataset):
    def __len__(self):
        return len(TABLE)

    def __getitem__(self, index):
        return {sample}


loader = DataLoader(Animals(), num_workers=2)
"""

FROZEN = [
    ("[1, 2]  # é", "(1, 2)  # é", "TABLE[index]"),
    ("[1]", "(1,)", "TABLE[index]"),
    ("[\n    1,  # one\n]", "(\n    1,  # one\n)", "TABLE[index]"),
    ('{"a": 1}', 'MappingProxyType({"a": 1})', 'TABLE["a"] + sum(TABLE.values())'),
    ("{1, 2}", "frozenset({1, 2})", "index in TABLE"),
]


@pytest.mark.parametrize("table, frozen, sample", FROZEN)
def test_it_cannot_change(table: str, frozen: str, sample: str) -> None:
    after = mended_text(DATASET.format(table=table, sample=sample), unsafe=True, only="TMP909")
    assert after == DATASET.format(table=frozen, sample=sample)


@pytest.mark.parametrize("sample", ["TABLE + [3]", "TABLE[:1]", "TABLE == [1, 2]", "str(TABLE)", "TABLE.copy()"])
def test_a_list_stays_where_a_list_is_wanted(sample: str) -> None:
    text = DATASET.format(table="[1, 2]", sample=sample)
    assert mended_text(text, unsafe=True, only="TMP909") == text
