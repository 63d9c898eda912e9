"""The programs that every pair of calls is asked about: small, of every kind of neighbour that there is."""

import torch
import torch.nn.functional as F
from torch import nn


class GeGLU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(16, 32, bias=False)
        self.up_proj = nn.Linear(16, 32, bias=False)
        self.down_proj = nn.Linear(32, 16, bias=False)

    def forward(self, x):
        g = self.gate_proj(x)
        u = self.up_proj(x)
        h = F.gelu(g, approximate="tanh")
        m = h * u
        return self.down_proj(m)


class NormGeluResidual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)

    def forward(self, x, residual):
        return F.gelu(self.norm(x)) + residual


def attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights / weights.sum(-1, keepdim=True)) @ v


class ConvNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


def broken(x, y):
    a = torch.sin(x) * y
    torch._dynamo.graph_break()
    return torch.cos(a) + y


def two_chains(x):
    return (x.sin() * 2).exp(), (x.t().contiguous().cos() + 1).sigmoid()


def transpose_reduce(x):
    y = (x.t().contiguous() * 2).relu()
    return y.sum(-1), (x * 2).sum(-1)


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.weights = nn.Parameter(torch.randn(4, 16, 16))

    def forward(self, x):
        scores, chosen = self.gate(x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        rows = torch.arange(x.shape[0], device=x.device)
        for k in range(2):
            result = torch.bmm(x.unsqueeze(1), self.weights[chosen[:, k]]).squeeze(1)
            out = out.index_add(0, rows, result * scores[:, k : k + 1])
        return out


def user_kernel(*, alone=False, part=False):
    """A kernel of the user's between two ops of torch's; the second reads nothing else, or a `part` of a tensor is written.

    Triton is imported here: the C++ tests do not need it.
    """
    import triton
    import triton.language as tl

    @triton.jit
    def double(source, target, count, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < count
        tl.store(target + offsets, tl.load(source + offsets, mask=mask) * 2, mask=mask)

    def program(x):
        y = x.sin()
        out = torch.zeros(2, *y.shape, device=y.device)[1] if part else torch.empty_like(y)
        double[(triton.cdiv(y.numel(), 256),)](y, out, y.numel(), BLOCK=256)
        return out.cos() if alone else out.cos() + y

    return program


# name → (the module or function, its inputs, whether to train it)
PROGRAMS = {
    "linear": (lambda: nn.Linear(32, 64), lambda: (torch.randn(16, 32),), False),
    "geglu": (GeGLU, lambda: (torch.randn(4, 8, 16),), False),
    "geglu_train": (GeGLU, lambda: (torch.randn(4, 8, 16),), True),
    "norm_gelu_residual": (NormGeluResidual, lambda: (torch.randn(8, 32), torch.randn(8, 32)), False),
    "attention": (lambda: attention, lambda: tuple(torch.randn(2, 8, 16) for _ in range(3)), False),
    "conv_norm": (lambda: ConvNorm().eval(), lambda: (torch.randn(2, 3, 8, 8),), False),
    "graph_break": (lambda: broken, lambda: (torch.randn(8, 8), torch.randn(8, 8)), False),
    "two_chains": (lambda: two_chains, lambda: (torch.randn(16, 24),), False),
    "transpose_reduce": (lambda: transpose_reduce, lambda: (torch.randn(16, 24),), False),
    "experts": (Experts, lambda: (torch.randn(8, 16),), False),
}
# Programs that only a GPU's backend can compile.
ON_A_GPU = {
    "user_kernel": (user_kernel, lambda: (torch.randn(16, 64),), False),
    "user_kernel_alone": (lambda: user_kernel(alone=True), lambda: (torch.randn(16, 64),), False),
    "user_kernel_part": (lambda: user_kernel(part=True), lambda: (torch.randn(16, 64),), False),
}
