# ruff: noqa: E501, E741, B008 (each line is a case)
"""What `kernel_names.py` runs beside torch's own tests: sizes, layouts and libraries that the small samples do not reach."""

from __future__ import annotations

import itertools
import os
from typing import Any

import torch
import torch.nn.functional as F

FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
HALVES = (torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
COMPLEX = (torch.complex64, torch.complex128)


def tasks() -> dict[str, Any]:
    """Return name → function(device) that yields (dtype's name, call)."""
    found: dict[str, Any] = {}
    for name, maker in list(globals().items()):
        if name.startswith("battery_"):
            for dtype in maker.dtypes:
                found[f"{name[8:]}:{name_of(dtype)}"] = lambda device, m=maker, d=dtype: cases(m, d, device)
    if OTHER:
        for name, build in MODELS.items():
            for dtype in FLOATS[:3]:
                found[f"model:{name}:{name_of(dtype)}"] = lambda device, b=build, d=dtype: model(b, d, device)
    for name, group in INDUCTOR.items():
        found[f"inductor:{name}"] = lambda device, g=group, n=name: compiled(n, g, device)
    return found


def cases(maker: Any, dtype: torch.dtype, device: str) -> Any:
    for call in maker(Make(dtype, device)):
        yield name_of(dtype), call


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Make:
    """Makes tensors of one dtype on one device."""

    def __init__(self, dtype: torch.dtype, device: str) -> None:
        self.dtype, self.device = dtype, device

    def __call__(self, *size: int, grad: bool = False, dtype: torch.dtype | None = None) -> torch.Tensor:
        dtype = dtype or self.dtype
        if dtype.is_floating_point or dtype.is_complex:
            source = dtype if dtype.itemsize > 1 else torch.float32
            return torch.randn(size, device=self.device, dtype=source).to(dtype).requires_grad_(grad)
        return torch.randint(0, 2 if dtype == torch.bool else 5, size, device=self.device).to(dtype)

    def index(self, high: int, *size: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(0, high, size, device=self.device, dtype=dtype)


def of(*dtypes: torch.dtype) -> Any:
    def mark(function: Any) -> Any:
        function.dtypes = dtypes
        return function

    return mark


OTHER = bool(os.environ.get("KERNEL_NAMES_OTHER"))
MKN = [
    (8192, 768, 3072),
    (1024, 32, 64),
    (1, 4096, 4096),
    (16, 4096, 4096),
    (128, 4096, 1024),
    (512, 512, 512),
    (4096, 64, 4096),
    (64, 8192, 64),
    (17, 33, 65),
    (1000, 1000, 1000),
    (4096, 4096, 11008),
    (32, 128, 50257),
    (3, 3, 3),
    (2048, 16, 2048),
    (256, 2048, 8),
    (8, 65536, 8),
    (384, 640, 896),
    (200, 4096, 320),
]
if OTHER:
    MKN = [
        (6144, 1536, 512),
        (2, 8192, 2048),
        (24, 1024, 3000),
        (777, 333, 555),
        (96, 96, 96),
        (5, 2048, 5),
        (1024, 14336, 256),
        (320, 77, 768),
        (12288, 128, 384),
        (48, 16384, 40),
    ]


@of(*FLOATS, *COMPLEX)
def battery_matmul(r: Make) -> Any:
    for m, k, n in MKN:
        for ta, tb in itertools.product((0, 1), (0, 1)):
            a = r(k, m).t() if ta else r(m, k)
            b = r(n, k).t() if tb else r(k, n)
            yield lambda a=a, b=b: a @ b
            bias = r(n)
            yield lambda a=a, b=b, c=bias: torch.addmm(c, a, b)
            if tb and not r.dtype.is_complex:
                yield lambda a=a, b=b, c=bias: torch._addmm_activation(c, a, b, use_gelu=True)
                yield lambda a=a, b=b, c=bias: torch._addmm_activation(c, a, b)
        yield lambda x=r(m, k), v=r(k): x @ v
        yield lambda x=r(k, m).t(), v=r(k): torch.mv(x, v)
        yield lambda x=r(k), v=r(k): torch.dot(x, v)
        yield lambda x=r(m), v=r(n): torch.outer(x, v)
    for batch, m, k, n in [
        (8, 128, 64, 128),
        (64, 1, 64, 512),
        (96, 512, 64, 512),
        (4, 1000, 30, 50),
        (16, 256, 256, 256),
        (3, 7, 9, 11),
        (12, 2048, 64, 64),
    ]:
        for ta, tb in itertools.product((0, 1), (0, 1)):
            a = r(batch, k, m).mT if ta else r(batch, m, k)
            b = r(batch, n, k).mT if tb else r(batch, k, n)
            yield lambda a=a, b=b: torch.bmm(a, b)
            yield lambda a=a, b=b, c=r(batch, m, n): torch.baddbmm(c, a, b)
    linear = torch.nn.Linear(768, 3072, device=r.device, dtype=r.dtype)
    yield lambda x=r(4, 128, 768, grad=True): F.gelu(linear(x)) if not r.dtype.is_complex else linear(x)


@of(torch.float32, *HALVES)
def battery_matmul_switches(r: Make) -> Any:
    matmul = torch.backends.cuda.matmul

    def switched(call: Any) -> Any:
        saved = (
            matmul.allow_tf32,
            matmul.allow_fp16_accumulation if hasattr(matmul, "allow_fp16_accumulation") else None,
        )
        matmul.allow_tf32 = True
        if saved[1] is not None:
            matmul.allow_fp16_accumulation = True
        try:
            return call()
        finally:
            matmul.allow_tf32 = saved[0]
            if saved[1] is not None:
                matmul.allow_fp16_accumulation = saved[1]

    for m, k, n in MKN:
        for ta, tb in itertools.product((0, 1), (0, 1)):
            a = r(k, m).t() if ta else r(m, k)
            b = r(n, k).t() if tb else r(k, n)
            yield lambda a=a, b=b: switched(lambda: a @ b)
            if r.dtype != torch.float32:
                yield lambda a=a, b=b: torch.mm(a, b, out_dtype=torch.float32)
        if r.dtype != torch.float32 and m < 4000:
            torch.backends.cuda.preferred_blas_library("cublas")
            for lib in ("cublas", "cublaslt"):
                yield lambda a=r(m, k), b=r(k, n), lib=lib: (
                    torch.backends.cuda.preferred_blas_library(lib),
                    torch.mm(a, b),
                )[1]


@of(torch.float8_e4m3fn, torch.float8_e5m2, torch.int8)
def battery_narrow_matmul(r: Make) -> Any:
    one = torch.ones((), device=r.device)
    for m, k, n in [
        (1024, 1024, 1024),
        (16, 4096, 4096),
        (4096, 512, 256),
        (128, 8192, 1024),
        (64, 64, 64),
        (8192, 4096, 4096),
    ]:
        a, b = r(m, k), r(n, k).t()
        if r.dtype == torch.int8:
            yield lambda a=a, b=b: torch._int_mm(a, b)
            yield lambda a=a, b=b.contiguous(): torch._int_mm(a, b)
            continue
        b = r(n, k, dtype=torch.float8_e4m3fn).t() if r.dtype == torch.float8_e5m2 else b
        for out in (torch.bfloat16, torch.float16, torch.float32):
            for fast in (True, False):
                yield lambda a=a, b=b, o=out, f=fast: torch._scaled_mm(a, b, one, one, out_dtype=o, use_fast_accum=f)
            bias = r(n, dtype=out if out != torch.float32 else torch.bfloat16)
            yield lambda a=a, b=b, o=out, c=bias: torch._scaled_mm(a, b, one, one, bias=c, out_dtype=o)
        rows, columns = torch.ones(m, 1, device=r.device), torch.ones(1, n, device=r.device)
        yield lambda a=a, b=b, s=rows, t=columns: torch._scaled_mm(a, b, s, t, out_dtype=torch.bfloat16)
    if r.dtype == torch.float8_e4m3fn:
        ends = torch.arange(128, 513, 128, device=r.device, dtype=torch.int32)
        x, w = r(512, 256), r(4, 512, 256).mT
        yield lambda: torch._scaled_grouped_mm(
            x,
            w,
            torch.ones(512, device=r.device),
            torch.ones(4, 512, device=r.device),
            offs=ends,
            out_dtype=torch.bfloat16,
        )
        y, v = r(512, 256, dtype=torch.bfloat16), r(4, 512, 256, dtype=torch.bfloat16).mT
        yield lambda: torch._grouped_mm(y, v, offs=ends)
    if r.dtype == torch.int8:
        x = r(32, 1024, dtype=torch.bfloat16)
        yield lambda: torch._weight_int8pack_mm(x, r(512, 1024), r(512, dtype=torch.bfloat16))
        packed = torch._convert_weight_to_int4pack(
            torch.randint(0, 255, (512, 512), device=r.device, dtype=torch.uint8), 8
        )
        yield lambda: torch._weight_int4pack_mm(x, packed, 128, r(8, 512, 2, dtype=torch.bfloat16))
        yield lambda: torch._convert_weight_to_int4pack(
            torch.randint(0, 255, (512, 512), device=r.device, dtype=torch.uint8), 8
        )


@of(*FLOATS)
def battery_convolution(r: Make) -> Any:
    shapes = [
        (8, 64, 56, 64, 3, 1, 1, 1),
        (8, 3, 224, 64, 7, 2, 1, 1),
        (8, 256, 14, 256, 1, 1, 1, 1),
        (4, 64, 32, 64, 3, 1, 64, 1),
        (4, 64, 32, 128, 3, 1, 4, 1),
        (2, 32, 40, 48, 5, 2, 1, 2),
        (1, 16, 128, 16, 3, 1, 1, 1),
        (16, 512, 7, 512, 3, 1, 1, 1),
    ]
    for n, c, h, o, k, stride, groups, dilation in shapes:
        w = r(o, c // groups, k, k, grad=True)
        b = r(o, grad=True)
        for form in (torch.contiguous_format, torch.channels_last):
            x = r(n, c, h, h).to(memory_format=form).requires_grad_()
            yield lambda x=x, w=w, b=b, s=stride, g=groups, d=dilation, k=k: F.conv2d(x, w, b, s, d * (k // 2), d, g)
        if groups == 1:
            for form in (torch.contiguous_format, torch.channels_last):
                x = r(n, o, h // stride, h // stride).to(memory_format=form).requires_grad_()
                yield lambda x=x, w=w, s=stride: F.conv_transpose2d(x, w, stride=s)
        yield lambda x=r(n, c, h * 4, grad=True), w=r(o, c // groups, k, grad=True), s=stride, g=groups: F.conv1d(
            x, w, None, s, 1, 1, g
        )
    for c, o, k in [(16, 32, 3), (4, 8, 1)]:
        for form in (torch.contiguous_format, torch.channels_last_3d):
            x = r(2, c, 8, 20, 20).to(memory_format=form).requires_grad_()
            yield lambda x=x, w=r(o, c, k, k, k, grad=True): F.conv3d(x, w)
            yield lambda x=x, w=r(c, o, k, k, k, grad=True): F.conv_transpose3d(x, w)
    yield lambda x=r(2, 8, 16, 16, grad=True): F.unfold(x, 3)
    yield lambda x=r(2, 72, 196, grad=True): F.fold(x, 16, 3)


@of(*FLOATS)
def battery_attention(r: Make) -> Any:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH]
    for backend in backends:
        for head, length, keys in [
            (64, 512, 512),
            (128, 300, 300),
            (32, 64, 1024),
            (96, 256, 256),
            (256, 128, 128),
            (80, 130, 130),
            (64, 1, 2048),
        ]:
            for causal, mask, dropout in [
                (False, False, 0.0),
                (True, False, 0.0),
                (False, True, 0.0),
                (False, False, 0.2),
                (True, False, 0.2),
            ]:
                q, k, v = (r(2, 4, size, head, grad=True) for size in (length, keys, keys))
                m = r(2, 4, length, keys) if mask else None

                def call(
                    q: Any = q,
                    k: Any = k,
                    v: Any = v,
                    m: Any = m,
                    c: bool = causal,
                    p: float = dropout,
                    b: Any = backend,
                ) -> Any:
                    with sdpa_kernel(b):
                        return F.scaled_dot_product_attention(q, k, v, m, p, c)

                yield call
    layer = torch.nn.TransformerEncoderLayer(256, 8, batch_first=True, device=r.device, dtype=r.dtype)
    yield lambda x=r(4, 100, 256): layer(x)
    fast = torch.nn.TransformerEncoderLayer(256, 8, batch_first=True, device=r.device, dtype=r.dtype).eval()

    def inference(x: Any = r(4, 100, 256)) -> Any:
        with torch.no_grad():
            return fast(x)

    yield inference


@of(*FLOATS)
def battery_normalization(r: Make) -> Any:
    for rows, width in [(32, 64), (4096, 768), (8, 16384), (1024, 1000), (16, 100000), (2048, 4096)]:
        x = r(rows, width, grad=True)
        w, b = r(width, grad=True), r(width, grad=True)
        yield lambda x=x, w=w, b=b, n=width: F.layer_norm(x, (n,), w, b)
        yield lambda x=x, n=width: F.layer_norm(x, (n,))
        yield lambda x=x, w=w, n=width: F.rms_norm(x, (n,), w)
        yield lambda x=x: F.softmax(x, -1)
        yield lambda x=x: F.log_softmax(x, -1)
        yield lambda x=x: F.softmax(x, 0)
        yield lambda x=x: F.log_softmax(x, 0)
        yield lambda x=x: F.softmax(x, -1, dtype=torch.float32)
        yield lambda x=x: F.normalize(x)
        yield lambda x=x: torch.nn.utils.clip_grad_norm_([x], 1.0)
        yield lambda x=x, t=r.index(width, rows): F.cross_entropy(x, t)
        yield lambda x=x, t=r.index(width, rows): F.cross_entropy(x, t, label_smoothing=0.1, reduction="none")
    for n, c, h in [(8, 64, 32), (2, 33, 7), (64, 256, 14), (4, 8, 300)]:
        for form in (torch.contiguous_format, torch.channels_last):
            x = r(n, c, h, h).to(memory_format=form).requires_grad_()
            w, b = r(c, grad=True), r(c, grad=True)
            mean, var = torch.zeros(c, device=r.device), torch.ones(c, device=r.device)
            for on in (True, False):
                yield lambda x=x, w=w, b=b, m=mean, v=var, on=on: F.batch_norm(
                    x, m.to(r.dtype), v.to(r.dtype), w, b, on
                )
                with torch.backends.cudnn.flags(enabled=False):
                    pass
                yield lambda x=x, w=w, b=b, m=mean, v=var, on=on: without_cudnn(
                    lambda: F.batch_norm(x, m.to(r.dtype), v.to(r.dtype), w, b, on)
                )
            yield lambda x=x, w=w.float().detach(), m=mean, v=var: F.batch_norm(x, m, v, w, None, True)
            yield lambda x=x: F.instance_norm(x)
            yield lambda x=x, w=w, b=b, g=(8 if c % 8 == 0 else 3): F.group_norm(x, g, w, b)
            yield lambda x=x: F.local_response_norm(x, 3)


def without_cudnn(call: Any) -> Any:
    with torch.backends.cudnn.flags(enabled=False):
        return call()


@of(*FLOATS, *INTEGERS)
def battery_order(r: Make) -> Any:
    for rows, width in [(1, 100), (64, 1000), (1000, 16), (4, 5000), (1, 1000000), (300, 3000)]:
        x = r(rows, width)
        for call in (
            lambda x: torch.sort(x, -1),
            lambda x: torch.sort(x, 0),
            lambda x: torch.sort(x, dim=-1, stable=True),
            lambda x: torch.argsort(x.flatten()),
            lambda x: torch.topk(x, min(10, x.shape[-1])),
            lambda x: torch.topk(x, x.shape[-1] // 2),
            lambda x: torch.kthvalue(x, 3),
            lambda x: torch.median(x, -1),
            lambda x: torch.median(x),
            lambda x: torch.mode(x, -1),
            lambda x: torch.unique(x, return_inverse=True, return_counts=True),
            lambda x: torch.unique(x, dim=0),
            lambda x: torch.unique_consecutive(x),
            lambda x: torch.nonzero(x),
            lambda x: torch.cumsum(x, -1),
            lambda x: torch.cumsum(x, 0),
            lambda x: torch.cumprod(x, -1),
            lambda x: torch.cummax(x, -1),
            lambda x: torch.cummin(x, 0),
            lambda x: torch.logcumsumexp(x, -1),
            lambda x: torch.searchsorted(x.sort(-1)[0], x),
            lambda x: torch.bucketize(x, x[0].sort()[0]),
            lambda x: torch.histc(x, 10),
            lambda x: torch.bincount(x.flatten().abs()),
            lambda x: torch.isin(x, x[0]),
            lambda x: torch.masked_select(x, x > 0),
            lambda x: x[x > 0],
            lambda x: torch.quantile(x[:, :1000], 0.3),
            lambda x: torch.diff(x),
            lambda x: torch.randperm(x.numel(), device=x.device),
        ):
            yield lambda x=x, c=call: c(x)


@of(*FLOATS, *INTEGERS, *COMPLEX)
def battery_memory(r: Make) -> Any:
    x, big = r(64, 512), r(512, 2048)
    for other in (*FLOATS, *INTEGERS, *COMPLEX, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32):
        yield lambda o=other: big.to(o)
        yield lambda o=other: big[:, ::2].to(o)
        yield lambda o=other: big.t().to(o)
        yield lambda o=other: torch.zeros(1000, device=r.device, dtype=o).copy_(r(1000))
        yield lambda o=other: torch.full((1000,), 3, device=r.device, dtype=o)
    mask, where = r(64, 512, dtype=torch.bool), r.index(64, 100)
    yield from (
        lambda: big.cpu(),
        lambda: torch.zeros_like(big),
        lambda: torch.ones(3, 7, device=r.device, dtype=r.dtype),
        lambda: torch.empty(1000, device=r.device, dtype=r.dtype).fill_(2),
        lambda: big.zero_(),
        lambda: torch.cat([x, x], 0),
        lambda: torch.cat([x, x, x], 1),
        lambda: torch.cat([x] * 200, 0),
        lambda: torch.cat([x.t(), x.t()], 1),
        lambda: torch.cat([x[:, :3], x[:, :5]], 1),
        lambda: torch.stack([x] * 5),
        lambda: torch.stack([x] * 5, -1),
        lambda: x.t().contiguous(),
        lambda: big.clone(),
        lambda: big[:, 1:].contiguous(),
        lambda: torch.roll(x, 3, 0),
        lambda: torch.flip(x, (0,)),
        lambda: torch.rot90(x),
        lambda: torch.triu(x),
        lambda: torch.tril(x),
        lambda: torch.tril_indices(50, 50, device=r.device),
        lambda: torch.eye(100, device=r.device, dtype=r.dtype),
        lambda: torch.arange(1000, device=r.device).to(r.dtype),
        lambda: torch.arange(0, 1000, 2, device=r.device, dtype=r.dtype),
        lambda: torch.linspace(0, 10, 1000, device=r.device, dtype=r.dtype),
        lambda: torch.logspace(0, 1, 1000, device=r.device, dtype=r.dtype),
        lambda: F.pad(x, (1, 2), value=3),
        lambda: torch.repeat_interleave(x, 2, 0),
        lambda: torch.repeat_interleave(x, r.index(5, 64), 0),
        lambda: x.repeat(3, 2),
        lambda: torch.tile(x, (2, 2)),
        lambda: x.index_select(0, where),
        lambda: big.index_select(1, r.index(2048, 3000)),
        lambda: x[where],
        lambda: x[:, r.index(512, 77)],
        lambda: x[mask],
        lambda: torch.take(x, r.index(1000, 50)),
        lambda: torch.gather(x, 1, r.index(512, 64, 20)),
        lambda: torch.take_along_dim(x, r.index(64, 3, 512), 0),
        lambda: x.clone().scatter_(1, r.index(512, 64, 20), x[:, :20]),
        lambda: x.clone().scatter_(1, r.index(512, 64, 20), 1),
        lambda: x.clone().scatter_add_(1, r.index(512, 64, 20), x[:, :20]),
        lambda: x.clone().scatter_reduce_(1, r.index(512, 64, 20), x[:, :20], "amax"),
        lambda: x.clone().scatter_reduce_(1, r.index(512, 64, 20), x[:, :20], "prod"),
        lambda: x.clone().index_add_(0, where, x[where]),
        lambda: x.clone().index_copy_(0, where, x[where]),
        lambda: x.clone().index_fill_(0, where, 1),
        lambda: x.clone().index_put_((where,), x[where], accumulate=True),
        lambda: x.clone().index_put_((where,), x[where]),
        lambda: x.clone().index_reduce_(0, where, x[where], "amax"),
        lambda: x.clone().put_(r.index(1000, 50), x[0, :50]),
        lambda: x.clone().masked_fill_(mask, 1),
        lambda: x.clone().masked_scatter_(mask, x),
        lambda: torch.where(mask, x, x + x),
        lambda: torch.nonzero(x),
        lambda: torch.embedding(big, r.index(512, 30, 40)),
        lambda: x.view(-1)[::3].clone(),
        lambda: torch._foreach_copy_([x.clone(), big.clone()], [x, big]),
        lambda: torch.block_diag(x, x),
        lambda: torch.chunk_cat([x, x], 0, 4) if hasattr(torch, "chunk_cat") else torch._chunk_cat([x, x], 0, 4),
        lambda: torch.split_with_sizes_copy(x, [10, 54]),
        lambda: torch.combinations(x[0, :30]),
        lambda: torch.cartesian_prod(x[0, :30], x[1, :30]),
    )


@of(*FLOATS)
def battery_embedding(r: Make) -> Any:
    for rows, width, count in [(1000, 64, 128), (50257, 768, 4096), (100, 1000, 20000), (10, 3, 7)]:
        table = r(rows, width, grad=True)
        for kind in (torch.int64, torch.int32):
            picked = r.index(rows, count, dtype=kind)
            yield lambda t=table, p=picked: F.embedding(p, t)
            yield lambda t=table, p=picked: F.embedding(p, t, padding_idx=1)
            yield lambda t=table, p=picked: F.embedding(p, t, scale_grad_by_freq=True)
            for mode in ("sum", "mean", "max"):
                yield lambda t=table, p=picked, m=mode: F.embedding_bag(
                    p.view(-1, 1) if p.numel() % 4 else p.view(-1, 4), t, mode=m
                )
        yield lambda t=table, p=picked: F.embedding(p, t, max_norm=1.0)
    for t, n, c in [(50, 16, 20), (100, 4, 500)]:
        x = r(t, n, c, grad=True)
        long = torch.full((n,), t, dtype=torch.long, device=r.device)
        for blank in (0, 1):
            yield lambda x=x, n=n, c=c, l=long, b=blank: F.ctc_loss(
                x.log_softmax(2),
                r.index(c - 2, n, 10) + 2,
                l,
                torch.full((n,), 10, dtype=torch.long, device=r.device),
                blank=b,
            )
    a, b = r(64, 100, grad=True), r(64, 100)
    one = r.index(2, 64) * 2 - 1
    losses = (
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "kl_div",
        "poisson_nll_loss",
        "soft_margin_loss",
        "binary_cross_entropy_with_logits",
    )
    for name in losses:
        for reduction in ("none", "mean", "sum"):
            yield lambda n=name, red=reduction: getattr(F, n)(a, b.abs(), reduction=red)
    yield lambda: F.binary_cross_entropy(a.sigmoid(), b.sigmoid())
    yield lambda: F.multi_margin_loss(a, r.index(100, 64))
    yield lambda: F.multilabel_margin_loss(a, r.index(100, 64, 100))
    yield lambda: F.cosine_embedding_loss(a, b, one)
    yield lambda: F.triplet_margin_loss(a, b, b + 1)
    yield lambda: F.gaussian_nll_loss(a, b, b.abs() + 1)
    yield lambda: torch.cdist(a, b)
    yield lambda: F.pdist(a)
    image = r(2, 100, 16, 16, grad=True)
    yield lambda: F.nll_loss(image, r.index(100, 2, 16, 16))
    yield lambda: F.cross_entropy(image, r.index(100, 2, 16, 16), weight=r(100))


@of(*FLOATS)
def battery_random(r: Make) -> Any:
    for size in (100, 1 << 20):
        x = r(size, grad=True)
        for call in (
            lambda x: F.dropout(x, 0.3),
            lambda x: F.alpha_dropout(x, 0.3, True),
            lambda x: F.rrelu(x, training=True),
            lambda x: torch.rand_like(x),
            lambda x: torch.randn_like(x),
            lambda x: torch.randint_like(x, 10),
            lambda x: torch.bernoulli(x.sigmoid()),
            lambda x: x.detach().clone().uniform_(),
            lambda x: x.detach().clone().normal_(),
            lambda x: x.detach().clone().exponential_(),
            lambda x: x.detach().clone().cauchy_(),
            lambda x: x.detach().clone().geometric_(0.3),
            lambda x: x.detach().clone().log_normal_(),
            lambda x: x.detach().clone().random_(),
            lambda x: x.detach().clone().random_(3, 10),
            lambda x: x.detach().clone().bernoulli_(0.3),
            lambda x: torch.poisson(x.abs()),
            lambda x: torch.binomial(x.abs().round(), x.sigmoid()),
            lambda x: torch._standard_gamma(x.abs() + 1),
            lambda x: torch._sample_dirichlet(x.abs() + 1),
            lambda x: torch.multinomial(x.abs()[:1000], 5),
            lambda x: torch.multinomial(x.abs()[:1000] + 1, 50, replacement=True),
            lambda x: torch.normal(x, 1.0),
            lambda x: torch.native_dropout(x, 0.5, True),
            lambda x: torch.randint(0, 10, (1000,), device=x.device),
            lambda x: torch.randint(0, 1 << 40, (1000,), device=x.device),
            lambda x: torch.empty(1000, device=x.device, dtype=torch.int32).random_(),
            lambda x: F.gumbel_softmax(x[:1000].view(10, -1)),
        ):
            yield lambda x=x, c=call: c(x)


@of(torch.float32, torch.float64, torch.float16)
def battery_fft(r: Make) -> Any:
    for size in (64, 1000, 1024, 4096, 1009, 2187, 1 << 17):
        x = r(4, size)
        yield lambda x=x: torch.fft.fft(x)
        yield lambda x=x: torch.fft.rfft(x)
        yield lambda x=x: torch.fft.irfft(torch.fft.rfft(x))
        yield lambda x=x: torch.fft.ifft(torch.fft.fft(x))
        yield lambda x=x: torch.stft(
            x, 64, window=torch.hann_window(64, device=r.device, dtype=r.dtype), return_complex=True
        )
    for size in ((32, 32), (100, 60), (7, 512)):
        x = r(3, *size)
        yield lambda x=x: torch.fft.fft2(x)
        yield lambda x=x: torch.fft.irfft2(torch.fft.rfft2(x))
        yield lambda x=x: torch.fft.fftn(x)


@of(torch.float32, torch.float64, torch.complex64, torch.complex128)
def battery_linalg(r: Make) -> Any:
    linalg = torch.linalg
    for shape in [(8, 8), (64, 64), (600, 600), (16, 32, 32), (500, 8, 8), (2, 200, 200)]:
        x = r(*shape)
        spd = x @ x.mH + 10 * torch.eye(shape[-1], device=r.device, dtype=r.dtype)
        right = r(*shape[:-1], 4)
        for call in (
            lambda x, s, b: linalg.cholesky(s),
            lambda x, s, b: torch.cholesky_solve(b, s),
            lambda x, s, b: torch.cholesky_inverse(s),
            lambda x, s, b: linalg.qr(x),
            lambda x, s, b: linalg.svd(x),
            lambda x, s, b: linalg.svd(x, driver="gesvdj"),
            lambda x, s, b: linalg.svd(x, driver="gesvda"),
            lambda x, s, b: linalg.eigh(s),
            lambda x, s, b: linalg.eig(x) if x.shape[-1] < 100 else None,
            lambda x, s, b: linalg.lu_factor(x),
            lambda x, s, b: linalg.lu(x),
            lambda x, s, b: linalg.ldl_factor(s),
            lambda x, s, b: linalg.solve(x, b),
            lambda x, s, b: linalg.solve(x, b.mT, left=False) if b.dim() == 2 else None,
            lambda x, s, b: linalg.solve_triangular(x, b, upper=True),
            lambda x, s, b: linalg.solve_triangular(x, b, upper=False),
            lambda x, s, b: linalg.inv(x),
            lambda x, s, b: linalg.det(x),
            lambda x, s, b: linalg.slogdet(x),
            lambda x, s, b: linalg.lstsq(x, b),
            lambda x, s, b: linalg.matrix_exp(x / 100),
            lambda x, s, b: linalg.matrix_norm(x),
            lambda x, s, b: linalg.pinv(x),
            lambda x, s, b: linalg.householder_product(x, x[..., 0, :]),
            lambda x, s, b: torch.ormqr(x, x[..., 0, :], b),
            lambda x, s, b: linalg.cross(x[..., :3, :], x[..., 1:4, :], dim=-2),
        ):
            yield lambda x=x, s=spd, b=right, c=call: c(x, s, b)


@of(*FLOATS, torch.complex64)
def battery_sparse(r: Make) -> Any:
    dense, thin, vector = r(256, 256), r(256, 32), r(256)
    mask = torch.rand(256, 256, device=r.device) < 0.1
    coo, csr = (dense * mask).to_sparse(), (dense * mask).to_sparse_csr()
    yield from (
        lambda: (dense * mask).to_sparse(),
        lambda: (dense * mask).to_sparse_csr(),
        lambda: (dense * mask).to_sparse_csc(),
        lambda: (dense * mask).to_sparse_bsr((16, 16)),
        lambda: coo.to_dense(),
        lambda: csr.to_dense(),
        lambda: torch.sparse.mm(coo, thin),
        lambda: csr @ thin,
        lambda: csr @ vector,
        lambda: coo @ vector,
        lambda: csr @ csr,
        lambda: torch.sparse.mm(coo, coo),
        lambda: torch.addmm(r(256, 32), csr, thin),
        lambda: torch.sparse.sampled_addmm(csr, dense, dense),
        lambda: coo + coo,
        lambda: csr + csr,
        lambda: coo * coo,
        lambda: (coo + coo).coalesce(),
        lambda: torch.sparse.sum(coo, 0),
        lambda: torch.sparse.softmax(coo, 1),
        lambda: coo.to_sparse_csr(),
        lambda: (dense * mask).to_sparse_bsr((16, 16)) @ thin,
        lambda: torch.triangular_solve(thin, csr),
        lambda: dense.sparse_mask(coo),
        lambda: coo.index_select(0, r.index(256, 10)),
        lambda: torch.ops.aten._sparse_semi_structured_mm(*torch._sparse_semi_structured_tile(r(256, 256))[:2], dense),
        lambda: torch._cslt_sparse_mm(torch._cslt_compress(pruned(dense)), thin.contiguous()),
    )


def pruned(dense: torch.Tensor) -> torch.Tensor:
    return dense * torch.tensor([1, 1, 0, 0], device=dense.device, dtype=dense.dtype).repeat(dense.shape[1] // 4)


@of(torch.float32, torch.bfloat16)
def battery_quantized(r: Make) -> Any:
    x, scale, zero = r(64, 128), torch.tensor(0.1, device=r.device), torch.tensor(3, device=r.device, dtype=torch.int32)
    rows, zeros = torch.full((64,), 0.1, device=r.device), torch.zeros(64, dtype=torch.int32, device=r.device)
    yield from (
        lambda: torch.fake_quantize_per_tensor_affine(x.clone().requires_grad_(), 0.1, 0, -128, 127),
        lambda: torch.fake_quantize_per_tensor_affine(x.clone().requires_grad_(), scale, zero, -128, 127),
        lambda: torch.fake_quantize_per_channel_affine(x.clone().requires_grad_(), rows, zeros, 0, -128, 127),
        lambda: torch._fake_quantize_learnable_per_tensor_affine(
            x.clone().requires_grad_(), scale.view(1), zero.float().view(1), -128, 127
        ),
        lambda: torch.quantize_per_tensor(x, 0.1, 3, torch.qint8).dequantize(),
        lambda: torch.quantize_per_channel(x, rows, zeros.long(), 0, torch.quint8).dequantize(),
        lambda: torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).int_repr(),
        lambda: torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).view(8, 8, 8, 16).relu(),
    )
    yield lambda: torch.max_pool2d(torch.quantize_per_tensor(r(2, 4, 16, 16), 0.1, 3, torch.qint8), 2)


@of(*FLOATS)
def battery_network(r: Make) -> Any:
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        for size, layers, both in [(64, 1, False), (512, 2, True)]:
            module = kind(64, size, layers, bidirectional=both, device=r.device, dtype=r.dtype)
            yield lambda m=module: m(r(20, 8, 64, grad=True))
            yield lambda m=module: without_cudnn(lambda: m(r(20, 8, 64, grad=True)))
    for n, c, h in [(2, 3, 17), (8, 64, 56)]:
        for form in (torch.contiguous_format, torch.channels_last):
            x = r(n, c, h, h).to(memory_format=form).requires_grad_()
            for call in (
                lambda x: F.max_pool2d(x, 3, 2),
                lambda x: F.max_pool2d(x, 2),
                lambda x: F.avg_pool2d(x, 3, 2),
                lambda x: F.adaptive_avg_pool2d(x, 1),
                lambda x: F.adaptive_avg_pool2d(x, 5),
                lambda x: F.adaptive_max_pool2d(x, 5),
                lambda x: F.lp_pool2d(x, 2, 2),
                lambda x: F.fractional_max_pool2d(x, 2, output_size=5),
                lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
                lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
                lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
                lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
                lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
                lambda x: F.interpolate(x, size=9, mode="bilinear", antialias=True),
                lambda x: F.interpolate(x, size=9, mode="area"),
                lambda x: F.grid_sample(
                    x, torch.rand(x.shape[0], 9, 9, 2, device=x.device, dtype=x.dtype) * 2 - 1, align_corners=False
                ),
                lambda x: F.affine_grid(torch.ones(x.shape[0], 2, 3, device=x.device, dtype=x.dtype), x.shape),
                lambda x: F.pad(x, (1, 2, 3, 1), mode="reflect"),
                lambda x: F.pad(x, (1, 2, 3, 1), mode="replicate"),
                lambda x: F.pad(x, (1, 2, 3, 1), mode="circular"),
                lambda x: F.pixel_shuffle(x[:, : x.shape[1] // 4 * 4], 2) if x.shape[1] > 3 else None,
                lambda x: F.channel_shuffle(x, 2) if x.shape[1] % 2 == 0 else None,
                lambda x: F.prelu(x, torch.ones(x.shape[1], device=x.device, dtype=x.dtype)),
                lambda x: F.glu(x, -1) if x.shape[-1] % 2 == 0 else None,
                lambda x: F.dropout2d(x, 0.2),
            ):
                yield lambda x=x, c=call: c(x)
    flat, deep = r(4, 8, 100, grad=True), r(2, 4, 10, 10, 10, grad=True)
    for call in (
        lambda: F.max_pool1d(flat, 3),
        lambda: F.avg_pool1d(flat, 3),
        lambda: F.interpolate(flat, 50, mode="linear"),
        lambda: F.interpolate(flat, 50),
        lambda: F.pad(flat, (1, 2), mode="reflect"),
        lambda: F.pad(flat, (1, 2), mode="replicate"),
        lambda: F.max_pool3d(deep, 2),
        lambda: F.avg_pool3d(deep, 2),
        lambda: F.adaptive_avg_pool3d(deep, 3),
        lambda: F.adaptive_max_pool3d(deep, 3),
        lambda: F.interpolate(deep, 5),
        lambda: F.interpolate(deep, 5, mode="trilinear"),
        lambda: F.pad(deep, (1, 1, 1, 1, 1, 1), mode="replicate"),
        lambda: F.pad(deep, (1, 1, 1, 1, 1, 1), mode="reflect"),
        lambda: F.grid_sample(deep, torch.zeros(2, 3, 3, 3, 3, device=r.device, dtype=r.dtype), align_corners=True),
    ):
        yield call
    weight = [r(1000, grad=True) for _ in range(4)]
    for one in weight:
        one.grad = torch.ones_like(one)
    scaler = torch.amp.GradScaler(r.device)
    sgd = torch.optim.SGD(weight, 0.1)
    yield lambda: (scaler.scale(weight[0].sum()), scaler.unscale_(sgd), scaler.step(sgd), scaler.update())[1]


# --- whole models, with --other ---------------------------------------------------------------------------------------------


def model(build: Any, dtype: torch.dtype, device: str) -> Any:
    module, inputs = build()
    module = module.to(device, dtype)
    given = {key: one.to(device, dtype if one.is_floating_point() else None) for key, one in inputs.items()}

    def run(module: Any = module) -> Any:
        result = module(**given)
        result = (
            next((one for one in result.values() if isinstance(one, torch.Tensor)), None)
            if hasattr(result, "values")
            else result
        )
        return result

    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    yield name_of(dtype), run
    yield name_of(dtype), lambda: optimizer.step()
    if dtype != torch.bfloat16:
        return
    compiled_module = torch.compile(module, dynamic=False)
    run(compiled_module)
    yield name_of(dtype), lambda: run(compiled_module)


def text(kind: str, **sizes: int) -> Any:
    def build() -> Any:
        import transformers

        config = transformers.AutoConfig.for_model(kind, vocab_size=1000, **sizes)
        module = (
            transformers.AutoModelForCausalLM
            if kind in ("gpt2", "llama", "qwen2", "opt", "gpt_neox", "mamba", "gemma")
            else transformers.AutoModel
        ).from_config(config)
        ids = torch.randint(0, 1000, (4, 96))
        return module, {"input_ids": ids, **({"decoder_input_ids": ids} if kind in ("t5", "bart") else {})}

    return build


def vision(name: str, size: int = 96, **options: Any) -> Any:
    def build() -> Any:
        import torchvision

        return torchvision.models.get_model(name, num_classes=10, **options), {"x": torch.randn(4, 3, size, size)}

    return build


SMALL = {"hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 6, "intermediate_size": 384}
MODELS = {
    "gpt2": text("gpt2", n_embd=192, n_layer=2, n_head=6),
    "llama": text("llama", **SMALL, num_key_value_heads=2),
    "bert": text("bert", **SMALL),
    "t5": text("t5", d_model=192, num_layers=2, num_heads=6, d_kv=32, d_ff=384),
    "bart": text("bart", d_model=192, encoder_layers=2, decoder_layers=2),
    "opt": text(
        "opt", hidden_size=192, num_hidden_layers=2, num_attention_heads=6, ffn_dim=384, word_embed_proj_dim=192
    ),
    "gpt_neox": text("gpt_neox", **SMALL),
    "gemma": text("gemma", **SMALL, num_key_value_heads=1, head_dim=32),
    "mamba": text("mamba", hidden_size=192, num_hidden_layers=2),
    "deberta": text("deberta-v2", **SMALL),
    "resnet": vision("resnet50"),
    "convnext": vision("convnext_tiny"),
    "swin": vision("swin_t", 224),
    "vit": vision("vit_b_32", 224),
    "mobilenet": vision("mobilenet_v3_small"),
    "efficientnet": vision("efficientnet_b0"),
    "shufflenet": vision("shufflenet_v2_x1_0"),
    "densenet": vision("densenet121"),
    "regnet": vision("regnet_y_400mf"),
    "video": lambda: (
        __import__("torchvision").models.video.r3d_18(num_classes=10),
        {"x": torch.randn(2, 3, 8, 64, 64)},
    ),
}


# --- programs for Inductor: name → (options, dtypes, functions of (x, y, w)) ---------------------------------------------------


def flex(x: torch.Tensor, causal: bool) -> torch.Tensor:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q = x[:256, :256].reshape(1, 4, 256, 64)
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device=x.device.type) if causal else None
    return flex_attention(q, q, q, block_mask=mask)


POINTWISE = [
    lambda x, y, w: F.gelu(x) * y,
    lambda x, y, w: torch.where(x > 0, x, y.exp()),
    lambda x, y, w: (x + y).relu().sigmoid(),
    lambda x, y, w: x.t().contiguous() + y.t(),
    lambda x, y, w: torch.cat([x, y.tanh()], 1),
    lambda x, y, w: x.to(torch.float32).log1p().to(x.dtype),
    lambda x, y, w: F.dropout(x, 0.2) + y,
    lambda x, y, w: F.silu(x) * y + w[0],
    lambda x, y, w: (x != y) & (x.ne(0)),
    lambda x, y, w: torch.clamp(x, -1, 1).round().to(torch.int8),
    lambda x, y, w: torch.arange(1000, device=x.device) * 2,
    lambda x, y, w: torch.zeros_like(x) + 3,
    lambda x, y, w: x[:, torch.arange(0, 100, 3, device=x.device)] * 2,
    lambda x, y, w: x.index_select(0, torch.zeros(5, dtype=torch.long, device=x.device)).cos(),
    lambda x, y, w: F.pad(x, (1, 1)).sin(),
    lambda x, y, w: torch.rand_like(x) + torch.randn_like(y),
    lambda x, y, w: x.clone().scatter_add_(0, torch.zeros(8, x.shape[1], dtype=torch.long, device=x.device), y[:8]),
]
REDUCTIONS = [
    lambda x, y, w: (x * y).sum(-1),
    lambda x, y, w: x.sum(0),
    lambda x, y, w: x.float().mean(),
    lambda x, y, w: F.softmax(x, -1),
    lambda x, y, w: F.log_softmax(x.float(), -1),
    lambda x, y, w: F.layer_norm(x + y, x.shape[-1:], w[0], w[1]),
    lambda x, y, w: F.rms_norm(x, x.shape[-1:], w[0]),
    lambda x, y, w: torch.linalg.vector_norm(x, dim=0),
    lambda x, y, w: x.argmax(-1),
    lambda x, y, w: torch.var_mean(x, -1),
    lambda x, y, w: F.cross_entropy(x.float(), torch.zeros(x.shape[0], dtype=torch.long, device=x.device)),
    lambda x, y, w: x.cumsum(-1),
    lambda x, y, w: torch.cumprod(x.float(), 0),
    lambda x, y, w: x.any(0),
    lambda x, y, w: torch.sort(x[:, :64], -1)[0],
    lambda x, y, w: x.amax(-1, keepdim=True) - y,
    lambda x, y, w: F.mse_loss(x, y),
    lambda x, y, w: F.embedding(torch.zeros(100, dtype=torch.long, device=x.device), x).sum(),
    lambda x, y, w: F.batch_norm(x, None, None, w[0], w[1], True),
    lambda x, y, w: F.group_norm(x.view(4, 8, -1), 4),
    lambda x, y, w: F.avg_pool2d(x.view(4, 4, -1, 64), 2) + 1,
]
PRODUCTS = [
    lambda x, y, w: F.gelu(x @ w),
    lambda x, y, w: (x @ w + y[: x.shape[0]]).relu(),
    lambda x, y, w: F.linear(x, w, w[0]),
    lambda x, y, w: torch.bmm(x.view(4, -1, x.shape[1]), w.expand(4, *w.shape)) * 2,
    lambda x, y, w: torch.baddbmm(x.view(4, -1, x.shape[1]), x.view(4, -1, x.shape[1]), w.expand(4, *w.shape)),
    lambda x, y, w: (x @ w).sum(-1),
    lambda x, y, w: F.conv2d(x.view(4, 16, -1, 64)[:, :, :32], w.reshape(-1)[: 16 * 16 * 9].view(16, 16, 3, 3)).relu(),
    lambda x, y, w: x @ w + y @ w,
]
ATTENTION = [lambda x, y, w: flex(x, False), lambda x, y, w: flex(x, True)]
MANY = [
    lambda x, y, w: [one * 2 for one in (x, y, w)],
    lambda x, y, w: [x.sum(-1), y.sum(-1), w.amax(-1)],
    lambda x, y, w: torch._foreach_add([x, y, w], 1.0),
    lambda x, y, w: torch._foreach_mul([x, y], [y, x]),
]
TUNED = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON", "autotune_num_choices_displayed": 0}
INDUCTOR: dict[str, tuple[dict[str, Any], tuple[torch.dtype, ...], list[Any]]] = {
    "products": (TUNED, (torch.bfloat16,), PRODUCTS[:4]),
    "products2": (TUNED, (torch.bfloat16,), PRODUCTS[4:]),
    "products_f32": (TUNED, (torch.float32,), PRODUCTS[:3]),
    "flex": ({}, (torch.bfloat16,), ATTENTION),
    "flex_f32": ({}, (torch.float32,), ATTENTION[1:]),
    "pointwise": ({}, (torch.float32, torch.bfloat16), POINTWISE[:9]),
    "pointwise2": ({}, (torch.float32, torch.bfloat16), POINTWISE[9:]),
    "reductions": ({}, (torch.float32, torch.bfloat16), REDUCTIONS[:7]),
    "reductions2": ({}, (torch.float32, torch.bfloat16), REDUCTIONS[7:14]),
    "reductions3": ({}, (torch.float32, torch.bfloat16), REDUCTIONS[14:]),
    "looped": ({"triton.persistent_reductions": False}, (torch.float32,), REDUCTIONS[:8]),
    "cooperative": ({"triton.force_cooperative_reductions": True}, (torch.float32,), REDUCTIONS[:4]),
    "unsplit": ({"split_reductions": False}, (torch.float32,), REDUCTIONS[1:4]),
    "combo": ({"combo_kernels": True}, (torch.float32,), MANY),
    "foreach": ({}, (torch.float32, torch.bfloat16), MANY),
    "mixed_order": ({"triton.mix_order_reduction": True}, (torch.float32,), [REDUCTIONS[5], REDUCTIONS[6]]),
    "plain_names": ({"triton.descriptive_names": "torch"}, (torch.float32,), POINTWISE[:3]),
    "libraries": ({}, (torch.bfloat16,), PRODUCTS),
}


def compiled(name: str, group: tuple[dict[str, Any], tuple[torch.dtype, ...], list[Any]], device: str) -> Any:
    options, dtypes, functions = group
    known = {key: value for key, value in options.items() if key in torch._inductor.config._config}
    for dtype in dtypes:
        r = Make(dtype, device)
        x, y, w = r(512, 512, grad=True), r(512, 512), r(512, 512, grad=True)
        for function in functions:
            torch._dynamo.reset()
            call = torch.compile(function, options=known, dynamic=False)
            yield name_of(dtype), lambda c=call, x=x, y=y, w=w: c(x, y, w)
