# finds: prints `prints .* for each sample`
# options: --workers 0
from torch.utils.data import DataLoader, Dataset


class Chatty(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        print(f"reading sample {index}: " + "x" * 40_000)
        return index


def make_loader():
    return DataLoader(Chatty())
