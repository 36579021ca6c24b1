# finds: none `sample 11 has None at sample\['boxes'\]\['labels'\]`
import torch
from torch.utils.data import DataLoader, Dataset


class Boxes(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        labels = None if index == 11 else torch.zeros(2)
        return {"image": torch.zeros(3, 4, 4), "boxes": {"labels": labels}}


def make_loader():
    return DataLoader(Boxes(), batch_size=4)
