"""Small programs that the capture tests record."""

import torch
from torch import nn
from torch.nn import functional


class GeGLU(nn.Module):
    """Gate, up and down projections, as in a transformer's MLP."""

    def __init__(self, dim: int = 8, hidden: int = 16) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = functional.gelu(self.gate_proj(x), approximate="tanh")
        up = self.up_proj(x)
        return self.down_proj(gate * up)


class Block(nn.Module):
    """A module inside a module inside a list; a decorator hides `self` and the loop takes a slice, as in transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([GeGLU(), GeGLU()])

    def forward(*args) -> torch.Tensor:
        self, x = args
        for layer in self.layers[:2]:
            x = x + layer(x)
        return x


class Breaks(nn.Module):
    """Ends its graph in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        torch._dynamo.graph_break()
        return functional.relu(y)


class Raises(nn.Module):
    """Fails after some work."""

    def __init__(self, error: type[BaseException] = ValueError) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.error = error

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.linear(x)
        raise self.error("the model's own error")


class Tied(nn.Module):
    """An embedding whose weight is the output projection's."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(tokens))


def moves(x: torch.Tensor) -> torch.Tensor:
    """Views that are views, views that copy, and a write in place."""
    a = x.reshape(2, 4, 8)  # a view
    b = a.transpose(0, 1)  # a view
    c = b.reshape(8, 8)  # a copy: the strides do not allow a view
    d = c.contiguous()  # nothing: it is contiguous
    e = b.contiguous()  # a copy
    d.add_(1)
    return d + e.flatten(0, 1)


class Cache(nn.Module):
    """A buffer that the program writes: it stays where it is, so a replay may write it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 8))

    def forward(self, x):
        self.cache.copy_(x)
        return self.cache @ x.t()
