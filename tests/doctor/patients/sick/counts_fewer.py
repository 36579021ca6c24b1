# finds: sample-fails `sample 30 raises IndexError` at 16

import torch
from torch.utils.data import Dataset


class Recordings(Dataset):
    def __init__(self, seconds):
        self.seconds = [number for number in seconds if number > 1]
        self.number = len(seconds)

    def __len__(self):
        return self.number

    def __getitem__(self, index):
        return torch.full((4,), self.seconds[index])


dataset = Recordings([2] * 30 + [1] * 2)
