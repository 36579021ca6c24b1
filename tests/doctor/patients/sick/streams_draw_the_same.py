# finds: same-random-numbers `workers 0 and 1 draw the same random numbers`
import numpy as np
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Simulated(IterableDataset):
    def __init__(self):
        self.random = np.random.RandomState(3)

    def __iter__(self):
        info = get_worker_info()
        for _ in range(12 // (info.num_workers if info else 1)):
            yield self.random.rand(2)


def make_loader():
    return DataLoader(Simulated(), batch_size=2, num_workers=2)
