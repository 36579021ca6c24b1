# object: Squares
import time

from torch.utils.data import Dataset


class Squares(Dataset):
    def __init__(self, size=30):
        self.size = size
        self.opened = False

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if not self.opened:
            time.sleep(0.3)
            self.opened = True
        if index >= self.size:
            raise IndexError(index)
        return index**2
