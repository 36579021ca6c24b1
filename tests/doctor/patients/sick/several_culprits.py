# finds: not-picklable `dataset.log is a _io.TextIOWrapper` at 13, not-picklable `dataset.lock is a _thread.lock` at 14, not-picklable `dataset.labels\['b'\] is a generator`, not-picklable `collate_fn is a lambda` at 25
# options: --workers 0 --start-methods spawn
import os
import threading

from torch.utils.data import DataLoader, Dataset


class Several(Dataset):
    def __init__(self):
        self.files = ["a", "b"]
        self.names = {"a": 0}
        self.log = open(os.devnull)
        self.lock = threading.Lock()
        self.labels = {"a": 1, "b": (n for n in self.files)}

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index


def make_loader():
    return DataLoader(Several(), collate_fn=lambda samples: samples)
