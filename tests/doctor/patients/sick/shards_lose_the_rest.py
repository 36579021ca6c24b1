# finds: missing `2 workers under fork: 1 of 13 samples are missing`
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        part = 13 // workers
        yield from range(worker * part, (worker + 1) * part)


def make_loader():
    return DataLoader(Lines(), batch_size=2, num_workers=2)
