# finds: sample-exits `sample 3 raises SystemExit` at 13
import sys

from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 3:
            sys.exit("no such picture")
        return index


def make_loader():
    return DataLoader(Files(), num_workers=2)
