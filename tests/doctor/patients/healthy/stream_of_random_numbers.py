import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Simulated(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        for _ in range(24 // (info.num_workers if info else 1)):
            yield torch.randn(3)


def make_loader():
    return DataLoader(Simulated(), batch_size=4, num_workers=2)
