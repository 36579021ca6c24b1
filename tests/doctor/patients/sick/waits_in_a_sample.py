# finds: hangs `hangs while sample 4 is read in the parent` at 17
# options: --time-limit 3
import threading

from torch.utils.data import DataLoader, Dataset


class Streamed(Dataset):
    def __init__(self):
        self.arrived = threading.Event()

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 4:
            self.arrived.wait()
        return index


def make_loader():
    return DataLoader(Streamed())
