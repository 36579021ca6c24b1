# finds: not-made `KeyError: 'train'` at 7
from torch.utils.data import DataLoader


def read_split(name):
    splits = {"training": [1, 2], "test": [3]}
    return splits[name]


def make_loader():
    return DataLoader(read_split("train"))
