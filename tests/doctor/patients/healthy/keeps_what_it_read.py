import torch
from torch.utils.data import DataLoader, Dataset


class Cached(Dataset):
    def __init__(self):
        self.known = {}

    def __len__(self):
        return 48

    def __getitem__(self, index):
        if index not in self.known:
            self.known[index] = torch.full((20_000,), float(index))
        return self.known[index]


def make_loader():
    return DataLoader(Cached(), batch_size=8, shuffle=True)
