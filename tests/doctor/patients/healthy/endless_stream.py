import itertools

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Endless(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        for number in itertools.count(start, step):
            yield torch.full((2,), float(number))


def make_loader():
    return DataLoader(Endless(), batch_size=4)
