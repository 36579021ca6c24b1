# finds: same-random-numbers `at sample\[1\]`; TMP405
import random

from torch.utils.data import DataLoader, Dataset


class Flipped(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return index, random.random() * 10


def seed_worker(worker):
    random.seed(42)


def make_loader():
    return DataLoader(Flipped(), num_workers=2, worker_init_fn=seed_worker)
