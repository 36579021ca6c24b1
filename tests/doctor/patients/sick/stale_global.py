# finds: different-values `1 worker under spawn: .*sample 0: torch.int64\[4\].* in the parent, torch.int64\[2\].* in a worker`
# options: --workers 1 --start-methods spawn
import torch
from torch.utils.data import DataLoader, Dataset

SETTINGS = {"size": 2}


class Windows(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.arange(SETTINGS["size"]) + index


def make_loader():
    SETTINGS["size"] = 4
    return DataLoader(Windows(), num_workers=1)
