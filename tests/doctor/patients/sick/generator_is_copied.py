# finds: same-random-numbers `2 workers under fork: workers 0 and 1 draw the same random numbers`
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self):
        self.random = np.random.default_rng(0)

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return {"x": torch.from_numpy(self.random.normal(size=3)) + index, "n": index}


def make_loader():
    return DataLoader(Noisy(), batch_size=2, num_workers=2)
