"""Programs of torch alone whose kernels a benchmark chooses (max-autotune), and compiled steps of optimizers.

`tools/zoo.py record OUT --programs tests/zoo/choices.py --threads 6` records them as it does the zoo.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
from programs import HALF, Program, noise
from variants import Attention, Mlp, Residual

TUNED = {"mode": "max-autotune-no-cudagraphs"}
PROGRAMS: dict[str, Program] = {}


def tuned(name: str, module: Any, shape: tuple[int, ...], *, train: bool = False) -> None:
    def make(device: str) -> tuple[nn.Module, tuple[Any, ...]]:
        torch.manual_seed(0)
        made = module().to(device=device, dtype=HALF)
        made = made.train() if train else made.eval().requires_grad_(False)
        return made, (noise(device, *shape),)

    PROGRAMS[name] = Program(make=make, library="torch", compile=TUNED, train=train)


def optimizer(name: str, make_optimizer: Any) -> None:
    """A step over parameters of several shapes that all have gradients."""

    def make(device: str) -> tuple[Any, tuple[Any, ...]]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256), nn.LayerNorm(256)).to(device)
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        made = make_optimizer(model.parameters())

        def step() -> None:
            made.step()

        return step, ()

    PROGRAMS[name] = Program(make=make, library="torch")


tuned("tuned_linear", lambda: nn.Linear(1024, 4096), (2048, 1024))
tuned("tuned_mlp", lambda: Mlp(768, 2048), (1024, 768))
tuned("tuned_attention", lambda: Attention(512, 8, spelled=False), (8, 256, 512))
tuned("tuned_residual", lambda: Residual(64), (16, 64, 28, 28))
optimizer("adam", lambda parameters: torch.optim.Adam(parameters, lr=1e-3))
optimizer("adamw", lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01))
optimizer("sgd", lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9))
