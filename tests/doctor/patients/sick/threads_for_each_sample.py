# finds: threads-stay `leaves 6 more threads running` at 8
# options: --workers 0
import threading

from torch.utils.data import DataLoader, Dataset


def prefetch(gate):
    gate.wait()


class Prefetching(Dataset):
    def __init__(self):
        self.gate = threading.Event()

    def __len__(self):
        return 6

    def __getitem__(self, index):
        threading.Thread(target=prefetch, args=(self.gate,), daemon=True).start()
        return index


def make_loader():
    return DataLoader(Prefetching())
