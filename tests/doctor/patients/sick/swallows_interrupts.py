# finds: hangs `hangs while sample 2 is read in the parent`
# options: --time-limit 3
import signal
import time

from torch.utils.data import DataLoader, Dataset


class Patient(Dataset):
    """Nothing but SIGKILL ends it."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        while index == 2:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(1)
            except KeyboardInterrupt:
                continue
        return index


def make_loader():
    return DataLoader(Patient())
