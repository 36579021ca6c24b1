# finds: rung-fails `2 workers under fork: .*(is killed by signal: Killed|exited unexpectedly)`
import os
import signal

from torch.utils.data import DataLoader, Dataset, get_worker_info


class Large(Dataset):
    """As where the system kills a worker that takes too much memory."""

    def __len__(self):
        return 16

    def __getitem__(self, index):
        if get_worker_info() is not None and index == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


def make_loader():
    return DataLoader(Large(), batch_size=2)
