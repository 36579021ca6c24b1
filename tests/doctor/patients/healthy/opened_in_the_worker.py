# options: --workers 0,1 --start-methods spawn
from torch.utils.data import DataLoader, Dataset


class Bytes(Dataset):
    def __init__(self, path):
        self.path = path
        self.file = None

    def __getstate__(self):
        return {**self.__dict__, "file": None}

    def __len__(self):
        return 40

    def __getitem__(self, index):
        if self.file is None:
            self.file = open(self.path, "rb")
        self.file.seek(index)
        return self.file.read(1)[0]


def make_loader():
    return DataLoader(Bytes(__file__), batch_size=8)
