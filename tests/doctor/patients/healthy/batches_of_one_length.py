import torch
from torch.utils.data import DataLoader, Dataset, Sampler


class Words(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        return torch.full((index % 3 + 1,), index)


class SameLength(Sampler):
    def __iter__(self):
        for rest in range(3):
            alike = list(range(rest, 30, 3))
            yield from (alike[start : start + 5] for start in range(0, 10, 5))

    def __len__(self):
        return 6


def make_loader():
    return DataLoader(Words(), batch_sampler=SameLength())
