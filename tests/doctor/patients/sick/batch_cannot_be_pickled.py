# finds: hangs `2 workers under fork: hangs while waiting for the first batch`
# options: --time-limit 3
from torch.utils.data import DataLoader, Dataset


class Lazy(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return (n for n in range(index))


def as_they_are(samples):
    return samples


def make_loader():
    return DataLoader(Lazy(), collate_fn=as_they_are)
