import torch
from torch.utils.data import DataLoader, TensorDataset


def make_loader():
    numbers = TensorDataset(torch.arange(32.0))
    return DataLoader(numbers, batch_size=4, num_workers=2, persistent_workers=True, prefetch_factor=4, timeout=30)
