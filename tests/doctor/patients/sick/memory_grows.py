# finds: memory-grows `memory grows by .* for each sample` at 16
# options: --workers 0
import torch
from torch.utils.data import DataLoader, Dataset


class Cached(Dataset):
    def __init__(self):
        self.seen = []

    def __len__(self):
        return 16

    def __getitem__(self, index):
        sample = torch.ones(10_000) * index
        self.seen.append(sample.tolist())
        return sample


def make_loader():
    return DataLoader(Cached(), batch_size=4)
