"""The programs whose plans are compared: what Inductor writes for a real H200, and what fxscope says it would write.

Plain torch, no fxscope: `tools/zoo.py --programs` runs this on a GPU machine that has nothing but torch.

    module, inputs = MODELS["geglu"].make("cuda")
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

try:
    import triton
    import triton.language as tl
except ImportError:  # the model with a kernel of its own is left out then
    triton = None

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = torch.bfloat16


@dataclass(frozen=True)
class PlanModel:
    """A program and how it is compiled.

    Attributes:
        make: device → (callable, inputs).
        train: run the backward too.
        compile: arguments of `torch.compile`.
        what: what of Inductor it exercises.
    """

    make: Callable[[str], tuple[Any, tuple[torch.Tensor, ...]]]
    what: str
    train: bool = False
    compile: dict[str, Any] = field(default_factory=dict)


MODELS: dict[str, PlanModel] = {}


def _model(what: str, *, train: bool = False, **compile_options: Any) -> Callable[[Any], Any]:
    def add(make: Any) -> Any:
        MODELS[make.__name__] = PlanModel(make=make, what=what, train=train, compile=compile_options)
        return make

    return add


def _random(device: str, *shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float32).to(device=device, dtype=dtype)


class GeGLU(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down_proj(functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))


@_model("pointwise between GEMMs, inlined at lowering")
def geglu(device):
    return GeGLU(768, 3072).to(device, HALF).eval(), (_random(device, 64, 128, 768),)


@_model("one GEMM with a bias")
def linear(device):
    return nn.Linear(32, 64).to(device, HALF).eval(), (_random(device, 1024, 32),)


class NormGeluResidual(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return functional.gelu(self.norm(x)) + x


@_model("persistent reduction with a pointwise epilogue")
def layer_norm(device):
    return NormGeluResidual(768).to(device, HALF).eval(), (_random(device, 64, 128, 768),)


@_model("looped reduction over long rows")
def softmax(device):
    return lambda x: torch.softmax(x.float() * 0.1, -1).to(x.dtype), (_random(device, 512, 32768),)


class RmsNorm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return functional.rms_norm(x, (x.shape[-1],), self.weight) * x.sigmoid()


@_model("an op with a CUDA kernel that a CPU build decomposes early")
def rms_norm(device):
    return RmsNorm(4096).to(device, HALF).eval(), (_random(device, 2048, 4096),)


@_model("split reduction, two kernels")
def big_sum(device):
    return lambda x: (x * x).sum(), (_random(device, 4096, 4096, dtype=torch.float32),)


class ConvNormRelu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(16, 32, 3, padding=1)
        self.norm = nn.BatchNorm2d(32)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


@_model("extern convolution and a pointwise epilogue")
def conv_norm(device):
    return ConvNormRelu().to(device).eval(), (_random(device, 8, 16, 64, 64, dtype=torch.float32),)


@_model("random numbers, a seed buffer")
def dropout(device):
    return lambda x: functional.dropout(torch.relu(x), 0.1, True), (_random(device, 1024, 1024, dtype=torch.float32),)


@_model("batched GEMMs, mask and softmax between; may become SDPA by pattern")
def attention(device):
    def forward(q, k, v):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v

    return forward, tuple(_random(device, 8, 12, 256, 64) for _ in range(3))


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, dim))


@_model("scaled_dot_product_attention, whose backend the device decides")
def sdpa(device):
    return SelfAttention(768, 12).to(device, HALF).eval(), (_random(device, 8, 256, 768),)


@_model("the same in float32: neither cuDNN nor flash takes it")
def sdpa_float32(device):
    inputs = tuple(_random(device, 4, 8, 256, 64, dtype=torch.float32) for _ in range(3))
    return lambda q, k, v: functional.scaled_dot_product_attention(q, k, v), inputs


class TinyLanguageModel(nn.Module):
    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)

    def forward(self, tokens, targets):
        return functional.cross_entropy(self.head(self.embedding(tokens)).float().flatten(0, 1), targets.flatten())


@_model("embedding and cross entropy, forward and backward: gather, log-softmax, scatter", train=True)
def embedding_loss(device):
    tokens = torch.randint(0, 8192, (8, 256)).to(device)
    return TinyLanguageModel(8192, 256).to(device), (tokens, tokens.roll(1, 1))


class MixtureOfExperts(nn.Module):
    def __init__(self, dim: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.weights = nn.Parameter(torch.randn(experts, dim, dim) * 0.02)

    def forward(self, x):
        weight, expert = torch.softmax(self.gate(x).float(), -1).topk(2, -1)
        order = expert.flatten().argsort(stable=True)
        rows = x[order // 2].view(self.weights.shape[0], -1, x.shape[-1])
        y = torch.bmm(rows, self.weights).flatten(0, 1) * weight.flatten()[order, None].to(x.dtype)
        return torch.zeros_like(x).index_add(0, order // 2, y)


@_model("top-k routing: sort, gather, batched GEMM, index_add")
def mixture_of_experts(device):
    return MixtureOfExperts(256, 8).to(device).eval(), (_random(device, 1024, 256, dtype=torch.float32),)


@_model("two independent pointwise chains")
def two_chains(device):
    inputs = tuple(_random(device, 2048, 2048, dtype=torch.float32) for _ in range(2))
    return lambda x, y: (torch.sin(x * 2 + 1).relu(), torch.cos(y * 3 - 1).sigmoid()), inputs


@_model("reductions along both dimensions of one buffer")
def transpose_reduce(device):
    def forward(x):
        y = (x * 2).transpose(0, 1)
        return y.sum(dim=0), (y + 1).amax(dim=1)

    return forward, (_random(device, 2048, 3072, dtype=torch.float32),)


if triton is not None:

    @triton.jit
    def scale_and_shift(x_ptr, y_ptr, size, scale, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < size
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * scale + 1.0, mask=mask)

    @_model("a Triton kernel of the user's, pointwise work around it")
    def user_kernel(device):
        def forward(x):
            y = torch.empty_like(x)
            scale_and_shift[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 2.0, BLOCK=1024)
            return torch.relu(y) * x

        return forward, (_random(device, 1024, 1024, dtype=torch.float32),)


class GraphBreak(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(256, 512)

    def forward(self, x):
        y = torch.relu(self.proj(x))
        torch._dynamo.graph_break()
        return functional.gelu(y) * 2


@_model("two graphs with a break between")
def graph_break(device):
    return GraphBreak().to(device).eval(), (_random(device, 512, 256, dtype=torch.float32),)


@_model("symbolic sizes", dynamic=True)
def dynamic(device):
    return GeGLU(256, 1024).to(device, HALF).eval(), (_random(device, 16, 100, 256),)


class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(256, 512)

    def forward(self, x):
        with torch.autocast("cuda", dtype=HALF):
            return torch.softmax(self.proj(x), -1)


@_model("autocast, inference")
def autocast(device):
    return Autocast().to(device).eval(), (_random(device, 512, 256, dtype=torch.float32),)


@_model("GeGLU forward and backward", train=True)
def geglu_train(device):
    return GeGLU(768, 3072).to(device, HALF), (_random(device, 64, 128, 768),)


class Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = SelfAttention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = GeGLU(dim, 4 * dim)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


@_model("a transformer block")
def block(device):
    return Block(512, 8).to(device, HALF).eval(), (_random(device, 8, 256, 512),)


@_model("a transformer block, forward and backward", train=True)
def block_train(device):
    return Block(512, 8).to(device, HALF), (_random(device, 8, 256, 512),)


@_model("a GEMM whose sizes are not aligned: padding is decided by a benchmark")
def odd_matmul(device):
    return lambda x, w: torch.relu(x @ w), (_random(device, 1023, 1001), _random(device, 1001, 2047))


class CacheUpdate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 8, 512, 64))

    def forward(self, x):
        self.cache[:, :, 17:18] = x
        return (self.cache * 0.5).mean(-1)


@_model("a buffer written in place")
def cache_update(device):
    return CacheUpdate().to(device, HALF).eval(), (_random(device, 4, 8, 1, 64),)


@_model("sort, scan, cat and gather")
def sort_scan_cat(device):
    def forward(x, index):
        values, indices = torch.sort(x, dim=-1)
        return torch.cat([values, x.cumsum(-1)], 1), torch.gather(x, 1, index), indices

    return forward, (_random(device, 256, 512, dtype=torch.float32), torch.randint(0, 512, (256, 64)).to(device))


@_model("convolution and batch norm in training: cuDNN's batch norm, running statistics", train=True)
def conv_norm_train(device):
    return ConvNormRelu().to(device), (_random(device, 8, 16, 64, 64, dtype=torch.float32),)


class DepthwiseSeparable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.pointwise = nn.Conv2d(32, 64, 1)
        self.norm = nn.GroupNorm(8, 64)

    def forward(self, x):
        return functional.silu(self.norm(self.pointwise(self.depthwise(x))))


@_model("depthwise and 1×1 convolutions, group norm; channels last")
def depthwise(device):
    x = _random(device, 4, 32, 56, 56, dtype=torch.float16).contiguous(memory_format=torch.channels_last)
    return DepthwiseSeparable().to(device, torch.float16, memory_format=torch.channels_last).eval(), (x,)


@_model("torch's own encoder layer, which has a fast path of its own")
def encoder_layer(device):
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    return layer.to(device, HALF).eval(), (_random(device, 4, 128, 256),)


@_model("SDPA with grouped queries, and with a mask")
def grouped_queries(device):
    def forward(q, k, v, mask):
        plain = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        masked = functional.scaled_dot_product_attention(q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1), mask)
        return plain + masked

    q, k, v = _random(device, 2, 16, 256, 64), _random(device, 2, 4, 256, 64), _random(device, 2, 4, 256, 64)
    mask = torch.ones(256, 256, dtype=torch.bool).tril().to(device)
    return forward, (q, k, v, mask)


@_model("dropout and attention in training", train=True)
def encoder_layer_train(device):
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.1, activation="gelu", batch_first=True)
    return layer.to(device, HALF), (_random(device, 4, 128, 256),)


@_model("flex attention: a Triton template without a benchmark")
def flex(device):
    @torch.no_grad()  # as it was recorded: else the kernel writes what a backward needs
    def forward(q, k, v):
        from torch.nn.attention.flex_attention import flex_attention

        def causal(score, batch, head, query, key):
            return torch.where(query >= key, score, -float("inf"))

        return flex_attention(q, k, v, score_mod=causal)

    return forward, tuple(_random(device, 2, 8, 512, 64) for _ in range(3))
