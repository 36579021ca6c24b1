# options: --workers 0,1 --start-methods spawn
from torch.utils.data import DataLoader, Dataset


class Tagged(Dataset):
    """Strings have other hashes in every process, and sets another order."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return {"tags": {"indoor", "outdoor", "night", f"n{index}"}, "index": index}


def as_list(samples):
    return samples


def make_loader():
    return DataLoader(Tagged(), batch_size=3, collate_fn=as_list)
