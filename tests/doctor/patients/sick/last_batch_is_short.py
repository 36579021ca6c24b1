# finds: collate `samples 8 and 9 cannot be put together: RuntimeError`
import torch
from torch.utils.data import DataLoader, TensorDataset


def in_fours(samples):
    return torch.stack([sample for sample, in samples]).reshape(4, -1)


def make_loader():
    return DataLoader(TensorDataset(torch.arange(10.0)), batch_size=4, collate_fn=in_fours)
