# finds: hangs `hangs while sample 1 is read in the parent`
# options: --time-limit 3
import subprocess
import sys
import time

from torch.utils.data import DataLoader, Dataset


class Decoded(Dataset):
    """Its helper has a session of its own, and outlives whoever started it."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        if index == 1:
            subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)"], start_new_session=True)
            time.sleep(300)
        return index


def make_loader():
    return DataLoader(Decoded())
