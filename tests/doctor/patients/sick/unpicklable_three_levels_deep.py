# finds: not-picklable `dataset.transform.transforms\[1\].lookup is a lambda` at 23
# options: --workers 0,1 --start-methods spawn
import torch
from torch.utils.data import DataLoader, Dataset


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms


class Scale:
    factor = 2


class Remap:
    def __init__(self, lookup):
        self.lookup = lookup


class Masks(Dataset):
    def __init__(self):
        self.transform = Compose([Scale(), Remap(lambda label: label + 1)])

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor(self.transform.transforms[1].lookup(index))


def make_loader():
    return DataLoader(Masks(), num_workers=2)
