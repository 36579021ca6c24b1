"""Trains on the faces."""

from torch.utils.data import DataLoader

import data


def make_loader(workers=4):
    faces = data.Faces("data/faces", transform=data.scale_by(255))
    return DataLoader(faces, batch_size=32, num_workers=workers)


images, _ = next(iter(make_loader()))
print("one batch:", images.shape)


def main():
    data.CLASS_WEIGHTS["a"] = 2.0
    for images, weights in make_loader():
        print(images.mean(), weights.sum())


if __name__ == "__main__":
    main()
