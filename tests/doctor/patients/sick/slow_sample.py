# finds: slow-sample `slow samples: 7 \(\d+ ms\)`
# options: --workers 0
import time

from torch.utils.data import DataLoader, Dataset


class Videos(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        time.sleep(0.25 if index == 7 else 0.001)
        return index


def make_loader():
    return DataLoader(Videos())
