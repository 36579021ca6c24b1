# finds: sample-fails `sample 37 raises json.*JSONDecodeError` at 16
import json

from torch.utils.data import DataLoader, Dataset


class Records(Dataset):
    def __init__(self):
        self.lines = [json.dumps({"n": n}) for n in range(50)]
        self.lines[37] = self.lines[37][:-1]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return json.loads(self.lines[index])["n"]


def make_loader():
    return DataLoader(Records(), batch_size=5)
