# finds: rung-fails `2 workers under fork: json.*JSONDecodeError` at 24; TMP303

import json
import tempfile
import time

from torch.utils.data import Dataset


class Records(Dataset):
    def __init__(self, number):
        self.places = []
        self.file = tempfile.TemporaryFile(buffering=0)
        for index in range(number):
            record = json.dumps({"label": index, "text": "word " * (1 + index % 7)}).encode()
            self.places.append((self.file.tell(), len(record)))
            self.file.write(record)

    def __getitem__(self, index):
        start, length = self.places[index]
        self.file.seek(start)
        time.sleep(0.01)
        record = self.file.read(length)
        return json.loads(record)

    def __len__(self):
        return len(self.places)


dataset = Records(40)
