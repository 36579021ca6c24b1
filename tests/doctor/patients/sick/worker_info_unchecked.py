# finds: sample-fails `sample 0 raises AttributeError: 'NoneType' object has no attribute 'id'`; TMP607
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Sharded(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index * 10 + get_worker_info().id


def make_loader():
    return DataLoader(Sharded(), num_workers=0)
