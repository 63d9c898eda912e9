"""Compiled steps of optimizers.

`tools/zoo.py record OUT --programs tests/zoo/choices.py --threads 6` records them as it does the zoo.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
from programs import Program

PROGRAMS: dict[str, Program] = {}


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


optimizer("adam", lambda parameters: torch.optim.Adam(parameters, lr=1e-3))
optimizer("adamw", lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01))
optimizer("sgd", lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9))
