"""Factories of programs that keep their tensors elsewhere, ask the data, or have tensors of other classes."""

import torch
from torch import nn

FACTOR = torch.tensor([2.0])


class Trainer:
    """An object that keeps a model and its optimizer; a helper takes a factor from a global."""

    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def evaluate(self, x):
        return scaled(self, x)

    def step(self, x):
        self.model(x).sum().backward()
        self.optimizer.step()


def scaled(trainer, x):
    return trainer.model(x) * FACTOR


def evaluation():
    return Trainer().evaluate, (torch.randn(8, 64),)


def training_step():
    return Trainer().step, (torch.randn(8, 64),)


def layer_of_a_closure():
    layer = nn.Linear(64, 64)

    class Wrapped(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, x):
            return self.function(x).relu()

    return Wrapped(lambda x: layer(x)), (torch.randn(8, 64),)


def number_of_the_data():
    return lambda x: x.relu() / x.relu().norm().item(), (torch.randn(8, 64),)


def rows_by_mask():
    return lambda x: x[x[:, 0] > 0] * 2, (torch.randn(8, 64),)


def size_of_the_data():
    return lambda x: x[: int((x * 2).argmax())] + 1, (torch.randn(8),)


class Padded(nn.Module):
    """A size is the largest of the lengths, as in speech models."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = {"lengths": torch.tensor([5, 3])}

    def forward(self, x):
        lengths = self.settings["lengths"]
        steps = torch.arange(int(lengths.max().item()), device=x.device)
        return x[:, : steps.numel()] * (steps[None] < lengths[:, None])


def longest():
    return Padded(), (torch.randn(2, 8),)


def without_loops():
    """Edges from a node to itself are dropped, as graph networks do."""

    def forward(x, edges):
        kept = edges[:, edges[0] != edges[1]]
        return torch.zeros_like(x).index_add(0, kept[0], x[kept[1]])

    return forward, (torch.randn(4, 8), torch.tensor([[0, 1, 2, 3], [0, 2, 2, 1]]))


def counted():
    """Rows that repeat are computed once, and chosen experts are counted: three rows of the given ids, four experts."""

    def forward(x, ids):
        rows, places = torch.unique(ids, return_inverse=True)
        chosen = (x[rows] * 2).argmax(-1)
        return torch.bincount(chosen, minlength=4) * 2, x[rows][places]

    return forward, (torch.randn(8, 6), torch.tensor([5, 1, 5, 7]))


def two_tensors():
    from torch.testing._internal.two_tensor import TwoTensor

    return lambda x: (x * 2).relu(), (TwoTensor(torch.randn(8, 64), torch.randn(8, 64)),)


def masked_tensor():
    return lambda x: x.sum(-1), (torch.masked.masked_tensor(torch.randn(8, 64), torch.rand(8, 64) > 0.5),)


def parallel():
    """A layer in tensor parallelism of one rank: its hook makes a distributed tensor of the input."""
    from torch.distributed import init_process_group
    from torch.distributed.tensor import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    from torch.testing._internal.distributed.fake_pg import FakeStore

    init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    return parallelize_module(nn.Linear(64, 32), init_device_mesh("cpu", (1,)), ColwiseParallel()), (torch.randn(8, 64),)
