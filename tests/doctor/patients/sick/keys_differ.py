# finds: collate `cannot be put together: KeyError`, `sample\['weight'\]: float in \d+, missing in 9`
# options: --workers 0
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return {"label": index, "weight": 1.0} if index != 9 else {"label": index}


dataset = Rows()
