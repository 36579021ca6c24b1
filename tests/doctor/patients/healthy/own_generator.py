import torch
from torch.utils.data import DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler

numbers = TensorDataset(torch.arange(40.0))


def make_loader():
    generator = torch.Generator().manual_seed(5)
    return DataLoader(numbers, batch_size=4, sampler=RandomSampler(numbers, generator=generator), generator=generator)


def make_weighted():
    return DataLoader(numbers, sampler=WeightedRandomSampler([1.0] * 40, 200), batch_size=None)
