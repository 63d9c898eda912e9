"""Programs in which it is easy to say falsely which op ran in which kernel: each public function gives (program, inputs)."""

import inspect
import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class ConvNet(nn.Module):
    """Convolution, batch norm, relu, twice, with a strided and a grouped one: weights change their layout on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.two = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.norm_two = nn.BatchNorm2d(32)
        self.three = nn.Conv2d(32, 32, 3, padding=1, groups=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.one(x)))
        x = torch.relu(self.norm_two(self.two(x)))
        return torch.relu(self.three(x)) + x


class Conv1d(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv1d(8, 16, 3, padding=1)
        self.two = nn.Conv1d(16, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.two(functional.gelu(self.one(x)))


class Layer(nn.Module):
    """A block of a decoder: RMS norm, rotary embedding, grouped queries, a gated MLP."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.one, self.two = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))

    @staticmethod
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        position = torch.arange(x.shape[2], device=x.device, dtype=x.dtype)
        rate = 1.0 / (10000 ** (torch.arange(0, self.size, 2, device=x.device, dtype=x.dtype) / self.size))
        angle = torch.cat([torch.outer(position, rate)] * 2, -1)
        half = torch.cat([-x[..., self.size // 2 :], x[..., : self.size // 2]], -1)
        return x * angle.cos() + half * angle.sin()

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, self.size)
        h = self.norm(x, self.one)
        q, k, v = (linear(h).view(shape).transpose(1, 2) for linear in (self.query, self.key, self.value))
        bias = torch.where(mask[:, None, None, :], 0.0, torch.finfo(x.dtype).min).expand(batch, 1, length, length)
        h = functional.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, attn_mask=bias)
        x = x + self.out(h.transpose(1, 2).reshape(batch, length, width))
        h = self.norm(x, self.two)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    """Layers that share one mask, an embedding, and a head: kernels are used again at several places."""

    def __init__(self, layers: int = 3) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 64)
        self.layers = nn.ModuleList([Layer() for _ in range(layers)])
        self.norm = nn.LayerNorm(64)
        self.head = nn.Linear(64, 100)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))


class Encoder(nn.Module):
    """Post-norm layers with a relative bias, as T5 and BERT have them."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 96) for _ in range(layers)])
        self.outs = nn.ModuleList([nn.Linear(32, 32) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(layers)])
        self.bias = nn.Embedding(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        place = torch.arange(length, device=x.device)
        bias = self.bias((place[:, None] - place[None, :]).clamp(-8, 7) + 8).permute(2, 0, 1)[None]
        for qkv, out, norm in zip(self.layers, self.outs, self.norms, strict=True):
            q, k, v = qkv(x).view(batch, length, 3, 2, 16).permute(2, 0, 3, 1, 4)
            h = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(batch, -1, -1, -1))
            x = norm(x + functional.gelu(out(h.transpose(1, 2).reshape(batch, length, 32))))
        return x


def _heads(*shape: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return tuple(torch.randn(shape, requires_grad=True) for _ in range(3))


def conv_net() -> Any:
    return ConvNet().eval(), (torch.randn(2, 3, 16, 16),)


def conv_net_training() -> Any:
    return ConvNet().train(), (torch.randn(2, 3, 16, 16, requires_grad=True),)


def conv1d_gelu_conv1d() -> Any:
    return Conv1d(), (torch.randn(2, 8, 32),)


def cos_before_attention() -> Any:
    return lambda q, k, v: functional.scaled_dot_product_attention(q.cos() * 2, k, v), _heads(2, 4, 16, 8)


def masked_attention() -> Any:
    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        mask = torch.where(q.sum(-1, keepdim=True) > 0, 0.0, -1e4).expand(-1, -1, -1, k.shape[2]).contiguous()
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return run, _heads(2, 4, 16, 8)


def four_attentions_one_mask() -> Any:
    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        length = q.shape[2]
        mask = torch.ones(length, length, device=q.device).tril().log()[None, None].expand(q.shape[0], 1, -1, -1)
        for _ in range(4):
            q = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask) + q
        return q

    return run, _heads(2, 4, 16, 8)


def decoder() -> Any:
    mask = torch.ones(2, 16, dtype=torch.bool)
    mask[0, :3] = False
    return Decoder(), (torch.randint(0, 100, (2, 16)), mask)


def encoder() -> Any:
    return Encoder(), (torch.randn(2, 16, 32, requires_grad=True),)


def split_reduction() -> Any:
    return lambda x, y: ((x * y).sum(), (x - y).abs().amax(0)), (torch.randn(4096, 256), torch.randn(4096, 256))


def softmax_and_einsum() -> Any:
    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bij,bjk->bik", torch.softmax(a, -1), b).relu()

    return run, (torch.randn(4, 32, 2048), torch.randn(4, 2048, 16))


def cross_entropy() -> Any:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(x * 2.0, y, label_smoothing=0.1)

    return run, (torch.randn(64, 512, requires_grad=True), torch.randint(0, 512, (64,)))


def index_add_beside_scatter_add() -> Any:
    def run(x: torch.Tensor, rows: torch.Tensor, where: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.sigmoid()
        summed = torch.zeros(16, 32, device=x.device).index_add(0, rows, y)
        return summed + 1, torch.zeros(16, 32, device=x.device).scatter_add(0, where, y.tanh()) * 2

    return run, (torch.randn(64, 32), torch.randint(0, 16, (64,)), torch.randint(0, 16, (64, 32)))


def one_kernel_at_many_places() -> Any:
    class Many(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(5)])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = functional.gelu(layer(x))
            return x

    return Many(), (torch.randn(512, 64, requires_grad=True),)


def horizontal_sides() -> Any:
    return lambda x: (x.relu(), x.sigmoid().sum(-1), torch.cat([x, x.tanh()], -1), x.t().contiguous() + 1), (
        torch.randn(64, 128),
    )


def in_place() -> Any:
    def run(x: torch.Tensor, cache: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        cache[:, place] = x.relu() * 3
        cache.mul_(2)
        return (cache + 1).softmax(-1)

    return run, (torch.randn(4, 2, 8), torch.zeros(4, 16, 8), torch.tensor([3, 5]))


def largest_of_each_row() -> Any:
    """A library's kernel writes in place what loops of two shapes read then."""

    def run(x: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        place, count = rows[:, None].expand(-1, 32), x.new_zeros(20).index_add(0, rows, x.new_ones(300))
        most = x.new_zeros(20, 32).scatter_reduce(0, place, x, "amax", include_self=False)
        return most / count.clamp(min=1)[:, None], most == 0, most.gather(0, place) == x

    return run, (torch.randn(300, 32), torch.randint(0, 20, (300,)))


def dropout_and_norm() -> Any:
    module = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Dropout(0.3), nn.GELU(), nn.Linear(64, 8)).train()
    return module, (torch.randn(128, 64, requires_grad=True),)


def recomputed() -> Any:
    def run(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.sin() + 1
        return y @ w, (y * 2).sum(0), y.cos().amax(1), math.pi * y

    return run, (torch.randn(64, 64), torch.randn(64, 64))


def relative_positions() -> Any:
    """Distances are saved for the backward and yet written again, as an address, where the bias is looked up."""
    table = nn.Embedding(9, 2)

    def run(scores: torch.Tensor) -> torch.Tensor:
        place = torch.arange(scores.shape[-1])
        distance = (place[None] - place[:, None]).clamp(-4, 4) + 4
        biased = scores / 3 + table(distance).permute(2, 0, 1)
        return biased.masked_fill(place[None] > place[:, None], -1e9).softmax(-1)

    return run, (torch.randn(3, 2, 24, 24, requires_grad=True),)


PROGRAMS = {
    name: item
    for name, item in globals().items()
    if inspect.isfunction(item) and item.__module__ == __name__ and not name.startswith("_")
}
TRAINED = ("conv_net_training", "conv1d_gelu_conv1d", "cos_before_attention", "decoder", "encoder", "cross_entropy",
           "one_kernel_at_many_places", "dropout_and_norm", "relative_positions")  # fmt: skip
