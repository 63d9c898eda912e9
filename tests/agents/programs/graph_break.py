"""A branch on data in a compiled module."""

import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)

    def forward(self, x):
        y = self.first(x).relu()
        if y.mean() > 1e9:
            y = y * 2
        return self.second(y).relu()


model = torch.compile(Block())
with torch.no_grad():
    for _ in range(6):
        model(torch.ones(64, 256))
