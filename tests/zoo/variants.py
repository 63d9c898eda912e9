"""Variants of small programs: batch size, dtype, fused or not. Which of two is faster is what a prediction has to get right.

`tools/zoo.py record OUT --programs tests/zoo/variants.py` records them as it does the zoo. `FAMILY__VARIANT`: pairs are made
within a family. Nothing is fitted to them.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parent))
from programs import Program, noise

HALF, FULL = torch.bfloat16, torch.float32
UNFUSED = {"options": {"max_fusion_size": 1, "epilogue_fusion": False}}


class Mlp(nn.Module):
    """A gated MLP with its norm and residual."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate, self.up, self.down = nn.Linear(width, hidden), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        return x + self.down(functional.gelu(self.gate(y)) * self.up(y))


class Attention(nn.Module):
    """Self-attention with its norm and residual; by torch's kernel, or spelled out."""

    def __init__(self, width: int, heads: int, spelled: bool) -> None:
        super().__init__()
        self.heads, self.spelled = heads, spelled
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.spelled:  # with a soft cap, which no kernel of torch has
            scores = (q @ k.transpose(-2, -1)).float().tanh() * 3.0
            y = torch.softmax(scores, -1).to(v.dtype) @ v
        else:
            y = functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(batch, length, width))


class Residual(nn.Module):
    """Two convolutions with batch norm around a skip."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.body(x))


PROGRAMS: dict[str, Program] = {}


def add(name: str, module: Any, shape: tuple[int, ...], dtype: torch.dtype, **options: Any) -> None:
    def make(device: str) -> tuple[nn.Module, tuple[Any, ...]]:
        torch.manual_seed(0)
        made = module().to(device=device, dtype=dtype)
        return (made.train() if options.get("train") else made.eval().requires_grad_(False)), (
            noise(device, *shape, dtype=dtype),
        )

    PROGRAMS[name] = Program(make=make, library="torch", **options)


def mlp() -> nn.Module:
    return nn.Sequential(Mlp(768, 2048), Mlp(768, 2048))


def small_mlp() -> nn.Module:
    return nn.Sequential(*(Mlp(256, 704) for _ in range(3)))


def block(*, spelled: bool = False) -> nn.Module:
    return nn.Sequential(Attention(512, 8, spelled), Mlp(512, 1408))


def spelled_block() -> nn.Module:
    return block(spelled=True)


def residual() -> nn.Module:
    return nn.Sequential(Residual(64), Residual(64))


for batch in (64, 1024, 8192):
    add(f"mlp__{batch}", mlp, (batch, 768), HALF)
for batch in (1024, 8192):
    add(f"mlp__{batch}_float32", mlp, (batch, 768), FULL)
    add(f"mlp__{batch}_unfused", mlp, (batch, 768), HALF, compile=UNFUSED)
add("mlp__1024_train", mlp, (1024, 768), HALF, train=True)
add("small_mlp__32", small_mlp, (32, 256), HALF)
add("small_mlp__512", small_mlp, (512, 256), HALF)
add("small_mlp__512_unfused", small_mlp, (512, 256), HALF, compile=UNFUSED)
add("small_mlp__512_float32", small_mlp, (512, 256), FULL)
for batch, length in ((2, 128), (8, 512)):
    add(f"block__{batch}x{length}", block, (batch, length, 512), HALF)
    add(f"block__{batch}x{length}_spelled", spelled_block, (batch, length, 512), HALF)
    add(f"block__{batch}x{length}_float32", block, (batch, length, 512), FULL)
    add(f"block__{batch}x{length}_unfused", block, (batch, length, 512), HALF, compile=UNFUSED)
for batch in (2, 16, 64):
    add(f"residual__{batch}", residual, (batch, 64, 56, 56), HALF)
add("residual__16_float32", residual, (16, 64, 56, 56), FULL)
add("residual__16_unfused", residual, (16, 64, 56, 56), HALF, compile=UNFUSED)
