from torch.utils.data import DataLoader, Dataset, default_collate


class Holes(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return None if index % 5 == 3 else index


def without_none(samples):
    return default_collate([sample for sample in samples if sample is not None])


def make_loader():
    return DataLoader(Holes(), batch_size=5, collate_fn=without_none)
