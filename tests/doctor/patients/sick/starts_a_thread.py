# finds: threads-at-fork `1 thread \(watcher\) runs when workers are forked` at 8
import threading
import time

from torch.utils.data import DataLoader, Dataset


def watch():
    while True:
        time.sleep(0.5)


class Watched(Dataset):
    def __init__(self):
        threading.Thread(target=watch, name="watcher", daemon=True).start()

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return index


def make_loader():
    return DataLoader(Watched())
