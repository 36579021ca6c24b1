# finds: different-values `2 workers under fork: .*sample 0: 0 in the parent, 100 in a worker`
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Ranges(Dataset):
    start = 0

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return self.start + index


def move(worker):
    get_worker_info().dataset.start = 100 * worker


def make_loader():
    return DataLoader(Ranges(), num_workers=2, worker_init_fn=move)
