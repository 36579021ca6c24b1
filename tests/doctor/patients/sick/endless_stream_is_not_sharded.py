# finds: repeated `2 workers under fork: every worker gives all samples`
# options: --workers 0,2 --samples 16
import itertools

import torch
from torch.utils.data import DataLoader, IterableDataset


class Endless(IterableDataset):
    def __iter__(self):
        for number in itertools.count():
            yield torch.full((3,), float(number))


def make_loader():
    return DataLoader(Endless(), batch_size=4, num_workers=2)
