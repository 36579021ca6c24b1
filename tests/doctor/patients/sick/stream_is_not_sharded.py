# finds: repeated `2 workers under fork: every worker gives all samples: 24 samples instead of 12`; TMP406
from torch.utils.data import DataLoader, IterableDataset


class Lines(IterableDataset):
    def __iter__(self):
        yield from range(12)


def make_loader():
    return DataLoader(Lines(), batch_size=3, num_workers=2)
