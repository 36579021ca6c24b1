# finds: dies `exited with code 3 while sample 5 is read in the parent`
import os

from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 5:
            os._exit(3)
        return index


def make_loader():
    return DataLoader(Files(), num_workers=2)
