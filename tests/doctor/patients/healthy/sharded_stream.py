import itertools

from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        yield from itertools.islice(range(50), start, None, step)


def make_loader():
    return DataLoader(Lines(), batch_size=4, num_workers=2)
