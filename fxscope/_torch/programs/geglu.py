"""The GeGLU MLP of the demo: the model of *Profiling in PyTorch (Part 2): From nn.Linear to a Fused MLP*."""

import torch
from torch import nn
from torch.nn import functional


class GeGLUMLP(nn.Module):
    """down_proj(gelu(gate_proj(x)) * up_proj(x)), the feed-forward block of Gemma and others."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.gate_proj(x)
        up = self.up_proj(x)
        activated = functional.gelu(gate, approximate="tanh")
        return self.down_proj(activated * up)


def full() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The article's size: [64, 128, 768] in bfloat16, hidden 3072. On the GPU where there is one."""
    return make(batch=64, sequence=128, dim=768, hidden=3072, dtype=torch.bfloat16)


def here() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The article's size where there is a GPU, else one that a laptop's CPU computes in milliseconds."""
    return full() if torch.cuda.is_available() else make(batch=4, sequence=64, dim=256, hidden=1024)


def make(
    *, batch: int = 2, sequence: int = 4, dim: int = 16, hidden: int = 32, dtype: torch.dtype = torch.float32
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = GeGLUMLP(dim, hidden).to(device=device, dtype=dtype).eval().requires_grad_(False)
    return model, (torch.randn(batch, sequence, dim, device=device, dtype=dtype),)
