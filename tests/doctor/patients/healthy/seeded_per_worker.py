import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Noisy(Dataset):
    def __init__(self):
        self.random = np.random.default_rng(0)

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return self.random.normal(size=3) + index


def seed_worker(worker):
    get_worker_info().dataset.random = np.random.default_rng(torch.initial_seed())


def make_loader():
    return DataLoader(Noisy(), batch_size=4, num_workers=2, worker_init_fn=seed_worker)
