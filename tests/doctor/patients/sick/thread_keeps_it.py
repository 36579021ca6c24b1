# finds: does-not-end `the process does not end`, threads-at-fork
# options: --time-limit 3 --workers 0
import threading

from torch.utils.data import DataLoader, Dataset

stopped = threading.Event()


class Pinged(Dataset):
    def __init__(self):
        threading.Thread(target=stopped.wait, name="ping").start()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index


def make_loader():
    return DataLoader(Pinged())
