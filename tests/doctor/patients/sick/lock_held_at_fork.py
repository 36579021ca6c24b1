# finds: hangs `2 workers under fork: hangs while waiting for the first batch` at 26, threads-at-fork
# options: --time-limit 3
import threading
import time

from torch.utils.data import DataLoader, Dataset

lock = threading.Lock()


def refresh():
    while True:
        with lock:
            time.sleep(0.2)
        time.sleep(0.002)


class Indexed(Dataset):
    def __init__(self):
        threading.Thread(target=refresh, name="refresh", daemon=True).start()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        with lock:
            return index


def make_loader():
    return DataLoader(Indexed())
