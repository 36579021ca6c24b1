# finds: hangs `2 workers under fork: hangs while waiting for the first batch` at 18
# options: --time-limit 3
import socket

from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index


def connect(worker):
    waiting, _other = socket.socketpair()
    waiting.recv(1)


def make_loader():
    return DataLoader(Numbers(), num_workers=1, worker_init_fn=connect)
