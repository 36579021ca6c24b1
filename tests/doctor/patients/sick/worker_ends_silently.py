# finds: rung-fails `2 workers under fork: .*exited unexpectedly`
import os

from torch.utils.data import DataLoader, Dataset, get_worker_info


class Licensed(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if get_worker_info() is not None:
            os._exit(1)
        return index


def make_loader():
    return DataLoader(Licensed())
