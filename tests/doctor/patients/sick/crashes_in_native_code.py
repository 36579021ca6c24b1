# finds: dies `was killed by SIGSEGV while sample 2 is read in the parent` at 13
import ctypes

from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 2:
            ctypes.string_at(8)
        return index


def make_loader():
    return DataLoader(Frames())
