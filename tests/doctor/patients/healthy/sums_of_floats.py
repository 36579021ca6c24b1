import torch
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    """Sums differ in their last bits where torch computes with another number of threads."""

    def __init__(self):
        self.base = torch.rand(400, 300, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return (self.base @ self.base.T + index).sum(), torch.fft.rfft(self.base[index]).abs()


def make_loader():
    return DataLoader(Spectra(), batch_size=3)
