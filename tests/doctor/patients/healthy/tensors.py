# object: loader
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(60, 4), torch.arange(60)), batch_size=8, shuffle=True)
