# finds: rung-fails `1 worker under fork: FileNotFoundError`
# options: --workers 0,1
import os
import tempfile

from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self):
        os.chdir(tempfile.mkdtemp())
        with open("text.txt", "w") as file:
            file.write("abc")

    def __len__(self):
        return 3

    def __getitem__(self, index):
        with open("text.txt") as file:
            return file.read()[index]


def leave(worker):
    os.chdir("/")


def make_loader():
    return DataLoader(Texts(), num_workers=1, worker_init_fn=leave)
