"""Programs that show how fast a GPU is at each family of kernels, and what they took on the one that is here.

    python -m fxscope._torch.battery OUT.json --seconds 240

Each program is one compiled graph of many independent calls, so that a family costs one compile: `fxscope.record` tells
which kernels each call ran and how long. Programs whose tensors fit in the L2 cache together find them there, as layers
of a model find what the one before wrote; those of large tensors read from memory. What was measured is written as it
comes, in the form of `tests/data/zoo`: a program that fails is named, with its error, and costs nothing but itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from fxscope._torch import gpu_dump

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
STEPS = 6
CACHED = 24 << 20  # bytes of a program whose tensors are to stay in the L2 cache
LARGEST = 400 << 20  # bytes of one tensor


class Inputs:
    """Makes the inputs of a program: each tensor its own, so that no two calls share a read and are fused for it."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.tensors: list[torch.Tensor] = []

    def new(self, *shape: int, dtype: torch.dtype = BF16) -> int:
        """Add a tensor of noise and return its number."""
        if self.device == "meta" or not dtype.is_floating_point:
            made = torch.zeros(*shape, dtype=dtype, device=self.device)
        else:
            made = torch.randn(*shape, dtype=dtype, device=self.device)
        return self.put(made)

    def put(self, tensor: torch.Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1


@dataclass(frozen=True)
class Case:
    """One op of a program: a function of tensors, and their numbers among the inputs."""

    function: Callable[..., torch.Tensor]
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Many calls in one graph; `tf32`: multiply float32 by TF32."""

    make: Callable[[Inputs], Iterator[Case]]
    train: bool = False
    tf32: bool = False


PROGRAMS: dict[str, Part] = {}


def program(**options: Any) -> Callable[[Any], Any]:
    def add(make: Any) -> Any:
        PROGRAMS[make.__name__] = Part(make=make, **options)
        return make

    return add


def rows_of(num_bytes: float, width: int, dtype: torch.dtype) -> int:
    return max(1, int(num_bytes / dtype.itemsize / width))


# ---------------------------------------------------------------------------------------- pointwise and reductions

KB, MB = 1 << 10, 1 << 20


def pointwise(inputs: Inputs, sizes: tuple[float, ...], dtypes: tuple[torch.dtype, ...]) -> Iterator[Case]:
    for dtype in dtypes:
        for size in sizes:
            n = rows_of(size, 1024, dtype)
            a, b, c, d, e, f, g = (inputs.new(n, 1024, dtype=dtype) for _ in range(7))
            yield Case(lambda a: a * 1.5, (a,))
            yield Case(lambda a, b: a * b + 1.0, (b, c))
            yield Case(lambda a, b: functional.gelu(a) * b, (d, e))
            yield Case(lambda a, v: functional.silu(a + v), (f, inputs.new(1024, dtype=dtype)))
            yield Case(lambda a: a.t().contiguous() * 2.0, (g,))


@program()
def pointwise_cached(inputs: Inputs) -> Iterator[Case]:
    yield from pointwise(inputs, (32 * KB, 256 * KB, 1 * MB), (BF16, F32))
    # layouts: heads to the front, channels last, a slice, a concatenation, an upsampling
    yield Case(lambda a: a.view(4, 256, 8, 64).transpose(1, 2).contiguous(), (inputs.new(4, 256, 512),))
    yield Case(lambda a: a.contiguous(memory_format=torch.channels_last), (inputs.new(4, 64, 32, 32),))
    last = inputs.put(inputs.tensors[inputs.new(4, 32, 32, 64)].permute(0, 3, 1, 2))
    yield Case(lambda a: (a.relu() + 1).contiguous(), (last,))
    yield Case(lambda a, b: torch.cat([a, b], 1) * 2, (inputs.new(512, 256), inputs.new(512, 512)))
    yield Case(lambda a: functional.interpolate(a, scale_factor=2), (inputs.new(2, 64, 16, 16),))
    yield Case(lambda a: functional.max_pool2d(a, 3, 2, 1), (inputs.new(4, 64, 32, 32),))
    yield Case(lambda a, i: a[i], (inputs.new(1000, 512), inputs.new(512, dtype=torch.int64)))


@program()
def pointwise_large(inputs: Inputs) -> Iterator[Case]:
    yield from pointwise(inputs, (8 * MB, 32 * MB, 128 * MB), (BF16,))
    yield from pointwise(inputs, (64 * MB,), (F32,))


NORMS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda a: torch.softmax(a, -1),
    lambda a: functional.layer_norm(a, a.shape[-1:]),
    lambda a: (a * a).sum(-1),
    lambda a: a.float().sum(0),
)


@program()
def reductions_cached(inputs: Inputs) -> Iterator[Case]:
    for rows, width in ((64, 64), (512, 256), (4096, 64), (1024, 1024), (256, 4096), (16, 16384)):
        for function in NORMS:
            yield Case(function, (inputs.new(rows, width),))
    yield Case(lambda a: a.float().sum(), (inputs.new(512, 512),))
    yield Case(lambda a: a.mean((2, 3)), (inputs.new(8, 128, 16, 16),))
    yield Case(lambda a: functional.group_norm(a, 8), (inputs.new(4, 64, 16, 16),))
    yield Case(lambda a: functional.batch_norm(a, None, None, training=True), (inputs.new(8, 32, 16, 16),))
    yield Case(lambda a: a.argmax(-1), (inputs.new(256, 512),))


@program()
def reductions_large(inputs: Inputs) -> Iterator[Case]:
    for rows, width in ((16384, 512), (65536, 256), (8192, 4096), (1024, 65536), (32768, 2048)):
        for function in NORMS:
            yield Case(function, (inputs.new(rows, width),))
    yield Case(lambda a: a.float().sum(), (inputs.new(8192, 4096),))
    yield Case(lambda a: functional.group_norm(a, 32), (inputs.new(8, 256, 64, 64),))
    yield Case(lambda a: functional.batch_norm(a, None, None, training=True), (inputs.new(16, 64, 56, 56),))


# ---------------------------------------------------------------------------------------- GEMMs


def products(
    inputs: Inputs, seed: int, count: int, dtype: torch.dtype, *, largest: int, flops: float, batched: bool = False
) -> Iterator[Case]:
    """Yield GEMMs of random shapes, each in one of the layouts that a linear layer and its backward have."""
    chosen = random.Random(seed)
    total, wanted = 0, count
    sizes = [16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384]
    for _ in range(count * 40):
        m, n, k = (chosen.choice(sizes) for _ in range(3))
        batch = chosen.choice([4, 8, 16, 32, 64]) if batched else 1
        num_bytes = batch * (m * k + k * n + m * n) * dtype.itemsize
        if num_bytes > LARGEST or 2 * batch * m * n * k > flops:
            continue
        if num_bytes < 8 * MB if not largest else num_bytes > min(4 * largest / wanted, largest - total):
            continue
        total += num_bytes
        front = (batch,) if batched else ()
        layout = chosen.choice(("weight", "weight", "plain", "gradient"))
        if layout == "weight" and not batched:
            yield Case(
                lambda a, w, v: functional.linear(a, w, v),
                (inputs.new(m, k, dtype=dtype), inputs.new(n, k, dtype=dtype), inputs.new(n, dtype=dtype)),
            )
        elif layout == "gradient":
            yield Case(
                lambda a, b: a.transpose(-2, -1) @ b,
                (inputs.new(*front, k, m, dtype=dtype), inputs.new(*front, k, n, dtype=dtype)),
            )
        else:
            yield Case(torch.matmul, (inputs.new(*front, m, k, dtype=dtype), inputs.new(*front, k, n, dtype=dtype)))
        count -= 1
        if not count:
            return


@program()
def gemm_cached(inputs: Inputs) -> Iterator[Case]:
    yield from products(inputs, 1, 60, BF16, largest=CACHED, flops=1e11)


@program()
def gemm_large(inputs: Inputs) -> Iterator[Case]:
    yield from products(inputs, 2, 50, BF16, largest=0, flops=6e11)
    yield from products(inputs, 3, 12, F16, largest=0, flops=6e11)


@program()
def gemm_float32(inputs: Inputs) -> Iterator[Case]:
    yield from products(inputs, 4, 25, F32, largest=CACHED, flops=2e10)
    yield from products(inputs, 5, 15, F32, largest=0, flops=1e11)


@program(tf32=True)
def gemm_tfloat32(inputs: Inputs) -> Iterator[Case]:
    yield from products(inputs, 6, 20, F32, largest=CACHED, flops=2e10)
    yield from products(inputs, 7, 15, F32, largest=0, flops=3e11)


@program()
def gemm_batched(inputs: Inputs) -> Iterator[Case]:
    yield from products(inputs, 8, 20, BF16, largest=CACHED, flops=1e11, batched=True)
    yield from products(inputs, 9, 15, BF16, largest=0, flops=3e11, batched=True)
    yield from products(inputs, 10, 10, F32, largest=CACHED, flops=2e10, batched=True)


# ---------------------------------------------------------------------------------------- attention, convolution, others

ATTENTION = (
    (4, 4, 128, 64),
    (2, 8, 64, 32),
    (8, 12, 128, 64),
    (4, 8, 512, 64),
    (2, 16, 1024, 64),
    (1, 16, 2048, 128),
    (4, 16, 2048, 64),
    (1, 8, 4096, 64),
    (16, 4, 50, 64),
    (2, 8, 256, 128),
)


def attend(inputs: Inputs, dtype: torch.dtype, shapes: Any, *, grad: bool = False) -> Iterator[Case]:
    for batch, heads, length, width in shapes:

        def new(count: int, shape: tuple[int, ...]) -> tuple[int, ...]:
            # As a projection leaves it: heads beside each other in a row.
            made = [inputs.new(shape[0], shape[2], shape[1], shape[3], dtype=dtype) for _ in range(count)]
            if grad:
                for number in made:
                    inputs.tensors[number].requires_grad_()
            return tuple(made)

        shape = (batch, heads, length, width)
        for causal in (False, True):
            yield Case(
                lambda q, k, v, causal=causal: functional.scaled_dot_product_attention(
                    q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal
                ),
                new(3, shape),
            )


@program()
def attention(inputs: Inputs) -> Iterator[Case]:
    yield from attend(inputs, BF16, ATTENTION)
    yield from attend(inputs, F32, ATTENTION[:5])
    for batch, heads, length, width in ATTENTION[:5]:
        q, k, v = (inputs.new(batch, length, heads, width) for _ in range(3))
        mask = inputs.new(batch, 1, length, length)
        yield Case(
            lambda q, k, v, m: functional.scaled_dot_product_attention(
                q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=m
            ),
            (q, k, v, mask),
        )


@program(train=True)
def attention_training(inputs: Inputs) -> Iterator[Case]:
    yield from attend(inputs, BF16, ATTENTION[:8], grad=True)
    yield from attend(inputs, F32, ATTENTION[:3], grad=True)


# batch, channels in, out, height, kernel, stride, groups
CONVOLUTIONS = (
    (4, 3, 64, 64, 7, 2, 1),
    (4, 64, 64, 16, 3, 1, 1),
    (4, 64, 128, 16, 1, 1, 1),
    (4, 128, 128, 8, 3, 1, 1),
    (4, 256, 256, 4, 3, 1, 1),
    (4, 512, 512, 2, 3, 1, 1),
    (4, 256, 64, 8, 1, 1, 1),
    (4, 96, 96, 14, 3, 1, 96),
    (4, 32, 32, 32, 3, 1, 32),
    (4, 144, 144, 16, 5, 2, 144),
    (4, 128, 128, 16, 3, 1, 4),
    (8, 3, 64, 224, 7, 2, 1),
    (8, 64, 64, 56, 3, 1, 1),
    (8, 128, 128, 28, 3, 1, 1),
    (8, 256, 256, 14, 3, 1, 1),
    (8, 512, 512, 7, 3, 1, 1),
    (8, 64, 256, 56, 1, 1, 1),
    (8, 1024, 256, 14, 1, 1, 1),
    (8, 256, 512, 28, 3, 2, 1),
    (2, 320, 320, 32, 3, 1, 1),
    (2, 128, 128, 128, 3, 1, 1),
    (2, 3, 768, 224, 16, 16, 1),
    (32, 64, 64, 56, 3, 1, 1),
    (32, 96, 96, 56, 7, 1, 96),
    (1, 64, 64, 32, 3, 1, 1),
    (1, 512, 512, 32, 3, 1, 1),
)


def convolve(inputs: Inputs, dtype: torch.dtype, shapes: Any, *, last: bool, grad: bool = False) -> Iterator[Case]:
    for batch, into, out, size, kernel, stride, groups in shapes:
        x, w = (
            inputs.new(batch, into, size, size, dtype=dtype),
            inputs.new(out, into // groups, kernel, kernel, dtype=dtype),
        )
        for number in (x, w):
            if last:
                inputs.tensors[number] = inputs.tensors[number].contiguous(memory_format=torch.channels_last)
            if grad:
                inputs.tensors[number].requires_grad_()
        yield Case(
            lambda x, w, stride=stride, kernel=kernel, groups=groups: functional.conv2d(
                x, w, None, stride, kernel // 2 if kernel != stride else 0, 1, groups
            ),
            (x, w),
        )


@program()
def convolution(inputs: Inputs) -> Iterator[Case]:
    yield from convolve(inputs, BF16, CONVOLUTIONS, last=True)
    yield from convolve(inputs, F32, CONVOLUTIONS[:20], last=True)


@program()
def convolution_channels_first(inputs: Inputs) -> Iterator[Case]:
    for length, into, out, kernel in ((1000, 80, 256, 3), (400, 64, 64, 11), (4000, 1, 64, 10)):
        x, w = inputs.new(4, into, length), inputs.new(out, into, kernel)
        yield Case(lambda x, w: functional.conv1d(x, w, stride=2), (x, w))
    yield from convolve(inputs, BF16, CONVOLUTIONS[7:11], last=False)


@program(train=True)
def convolution_training(inputs: Inputs) -> Iterator[Case]:
    yield from convolve(inputs, BF16, CONVOLUTIONS[:21], last=True, grad=True)
    yield from convolve(inputs, F32, CONVOLUTIONS[1:17:2], last=True, grad=True)


@program()
def others(inputs: Inputs) -> Iterator[Case]:
    for rows, width in ((64, 1000), (512, 512), (4096, 128)):
        yield Case(lambda a: a.topk(5, -1)[0], (inputs.new(rows, width),))
        yield Case(lambda a: a.sort(-1)[0], (inputs.new(rows, width, dtype=F32),))
        yield Case(lambda a: a.cumsum(-1), (inputs.new(rows, width, dtype=F32),))
    for count, width in ((4096, 64), (65536, 128)):
        index = inputs.put(torch.randint(0, 1000, (count,), device=inputs.device))
        yield Case(
            lambda a, i, s: a.index_add(0, i, s),
            (inputs.new(1000, width, dtype=F32), index, inputs.new(count, width, dtype=F32)),
        )
        again = inputs.put(torch.randint(0, 1000, (count,), device=inputs.device))
        yield Case(lambda w, i: functional.embedding(i, w), (inputs.new(1000, width), again))


# ---------------------------------------------------------------------------------------- kinds that models of images lack


def indices(inputs: Inputs, count: int, bound: int) -> int:
    """Add `count` random row numbers below `bound`, so that rows repeat as often as `count / bound` says."""
    return inputs.put(torch.randint(0, bound, (count,), device=inputs.device))


@program()
def fallbacks_index(inputs: Inputs) -> Iterator[Case]:
    for count, rows, width in ((2048, 500, 32), (16384, 100000, 64), (65536, 2000, 128), (262144, 1_000_000, 64)):
        for dtype in (F32, BF16):
            offsets = inputs.put(torch.arange(0, count, 8, device=inputs.device))
            table, index = inputs.new(rows, width, dtype=dtype), indices(inputs, count, rows)
            yield Case(lambda w, i, o: functional.embedding_bag(i, w, o, mode="sum"), (table, index, offsets))
        a, b = inputs.new(rows, width, dtype=F32), inputs.new(count, width, dtype=F32)
        yield Case(lambda a, i, b: a.index_put((i,), b, accumulate=True), (a, indices(inputs, count, rows), b))
        a, b = inputs.new(rows, width, dtype=F32), inputs.new(count, width, dtype=F32)
        yield Case(
            lambda a, i, b: a.scatter_reduce(0, i[:, None].expand_as(b), b, "amax"),
            (a, indices(inputs, count, rows), b),
        )
        a, b = inputs.new(rows, width, dtype=F32), inputs.new(count, width, dtype=F32)
        yield Case(lambda a, i, b: a.scatter_add(0, i[:, None].expand_as(b), b), (a, indices(inputs, count, rows), b))


@program(train=True)
def index_training(inputs: Inputs) -> Iterator[Case]:
    for count, rows, width in ((2048, 500, 32), (16384, 100000, 64), (65536, 2000, 128)):
        for function in (
            lambda w, i, o: functional.embedding_bag(i, w, o, mode="mean"),
            lambda w, i, o: functional.embedding(i, w),
            lambda w, i, o: w[i],
            lambda w, i, o: w.gather(0, i[:, None].expand(-1, w.shape[1])),
        ):
            table = inputs.new(rows, width, dtype=F32)
            inputs.tensors[table].requires_grad_()
            offsets = inputs.put(torch.arange(0, count, 8, device=inputs.device))
            yield Case(function, (table, indices(inputs, count, rows), offsets))


@program()
def scans_and_sorts(inputs: Inputs) -> Iterator[Case]:
    for rows, width in ((8, 4096), (64, 1024), (1024, 256), (256, 8192), (4, 262144), (16384, 64)):
        for function in (
            lambda a: a.cumsum(-1),
            lambda a: a.cumprod(-1),
            lambda a: a.logcumsumexp(-1),
            lambda a: a.sort(-1)[0],
            lambda a: torch.argsort(a, dim=-1, stable=True),
            lambda a: a.topk(min(50, a.shape[-1] // 2), -1)[0],
            lambda a: a.cummax(-1)[0],
            lambda a: a.median(-1)[0],
            lambda a: a.kthvalue(3, -1)[0],
        ):
            yield Case(function, (inputs.new(rows, width, dtype=F32),))
        yield Case(lambda a: a.transpose(0, 1).cumsum(0), (inputs.new(rows, width, dtype=F32),))


@program()
def fourier(inputs: Inputs) -> Iterator[Case]:
    for shape in ((16, 32, 64, 64), (4, 64, 256), (64, 4096), (8, 1, 128, 128), (2, 32, 256, 256), (32, 1000)):
        x, y, z = (inputs.new(*shape, dtype=F32) for _ in range(3))
        yield Case(lambda a: torch.view_as_real(torch.fft.rfft(a)), (x,))
        yield Case(lambda a: torch.view_as_real(torch.fft.fft2(a)), (y,))
        yield Case(lambda a: torch.fft.irfft2(torch.fft.rfft2(a) * 0.5), (z,))


POINTS = (
    (16, 64, 64, 1024),
    (16, 128, 1024, 1024),
    (32, 64, 128, 2048),
    (8, 512, 256, 4096),
    (4, 1088, 512, 2500),
    (32, 3, 64, 1024),
)
# batch, channels in, out, size, kernel: three dimensions
VOLUMES = (
    (1, 16, 32, 32, 3),
    (2, 32, 32, 32, 3),
    (1, 64, 64, 16, 3),
    (2, 128, 64, 16, 1),
    (1, 4, 16, 64, 3),
    (1, 256, 128, 8, 3),
)


def convolve_kinds(inputs: Inputs, dtype: torch.dtype, *, grad: bool) -> Iterator[Case]:
    """Yield convolutions of one and three dimensions, and transposed ones, dense along the last dimension."""

    def new(*shapes: tuple[int, ...]) -> tuple[int, ...]:
        made = tuple(inputs.new(*shape, dtype=dtype) for shape in shapes)
        for number in made if grad else ():
            inputs.tensors[number].requires_grad_()
        return made

    for batch, into, out, length in POINTS:
        yield Case(functional.conv1d, new((batch, into, length), (out, into, 1)))
    for batch, into, out, size, kernel in VOLUMES:
        shapes = ((batch, into, size, size, size), (out, into, kernel, kernel, kernel))
        yield Case(lambda x, w, kernel=kernel: functional.conv3d(x, w, padding=kernel // 2), new(*shapes))
    for batch, into, out, size in ((4, 128, 64, 16), (2, 256, 128, 32), (8, 64, 32, 64)):
        yield Case(
            lambda x, w: functional.conv_transpose2d(x, w, stride=2), new((batch, into, size, size), (into, out, 2, 2))
        )
    for batch, channels, length, kernel in ((8, 256, 512, 4), (2, 1536, 1024, 4), (16, 768, 256, 31)):
        yield Case(
            lambda x, w, kernel=kernel: functional.conv1d(x, w, padding=kernel - 1, groups=x.shape[1]),
            new((batch, channels, length), (channels, 1, kernel)),
        )


@program()
def convolution_kinds(inputs: Inputs) -> Iterator[Case]:
    yield from convolve_kinds(inputs, F32, grad=False)
    yield from convolve_kinds(inputs, BF16, grad=False)


@program(train=True)
def convolution_kinds_training(inputs: Inputs) -> Iterator[Case]:
    yield from convolve_kinds(inputs, F32, grad=True)
    yield from convolve_kinds(inputs, BF16, grad=True)


@program(train=True)
def norms_training(inputs: Inputs) -> Iterator[Case]:
    for shape in ((8, 32, 16, 16), (16, 64, 56, 56), (32, 128, 1024), (16, 1024, 1024), (64, 256), (4, 32, 16, 16, 16)):
        for function in (
            lambda a: functional.relu(functional.batch_norm(a, None, None, training=True)),
            lambda a: functional.instance_norm(a) if a.dim() > 2 else functional.layer_norm(a, a.shape[-1:]),
        ):
            number = inputs.new(*shape, dtype=F32)
            inputs.tensors[number].requires_grad_()
            yield Case(function, (number,))


@program()
def foreach(inputs: Inputs) -> Iterator[Case]:
    for count, size in ((10, 65536), (20, 1 << 20), (40, 4096), (8, 1 << 23)):
        for dtype in (F32, BF16):
            numbers = tuple(inputs.new(size, dtype=dtype) for _ in range(3 * count))

            def step(*tensors: torch.Tensor, count: int = count) -> tuple[torch.Tensor, ...]:
                values, gradients, moments = (tensors[at * count : (at + 1) * count] for at in range(3))
                moved = torch._foreach_lerp(moments, gradients, 0.1)
                return (*moved, *torch._foreach_addcdiv(values, moved, torch._foreach_add(gradients, 1e-8), -1e-3))

            yield Case(step, numbers)


@program()
def grouped_products(inputs: Inputs) -> Iterator[Case]:
    for groups, m, n, k in ((8, 512, 1024, 512), (16, 2048, 512, 1024), (4, 4096, 2048, 2048), (64, 4096, 256, 512)):
        ends = inputs.put(torch.arange(1, groups + 1, device=inputs.device, dtype=torch.int32) * (m // groups))
        yield Case(lambda a, b, e: torch._grouped_mm(a, b, offs=e), (inputs.new(m, k), inputs.new(groups, k, n), ends))


# ---------------------------------------------------------------------------------------- measuring


def measure_program(item: Part, device: str, **options: Any) -> Any:
    """Record one program and return its recording; `options` go to `fxscope.record` (`target=…` plans it instead)."""
    import fxscope

    torch.manual_seed(0)
    inputs = Inputs(device)
    cases = list(item.make(inputs))

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(case.function(*(tensors[number] for number in case.inputs)) for case in cases)

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if item.tf32 else "highest")
    try:
        return fxscope.record(run, *inputs.tensors, compile={"dynamic": False}, backward=item.train, **options)
    finally:
        torch.set_float32_matmul_precision(before)
        torch.compiler.reset()


def packed(recording: Any) -> dict[str, Any]:
    """A recording as `tests/data/zoo` has it: output codes, and the calls with the median of their times."""
    steps: dict[str, dict[tuple[int, Any], float]] = {}
    kernels: dict[str, list[Any]] = {}
    for launch in recording.launches:
        if launch.call is None:
            continue
        times = steps.setdefault(launch.call, {})
        key = (launch.step, launch.invocation)
        times[key] = times.get(key, 0.0) + launch.duration_ns / 1e3
        if len(times) == 1:
            about = [launch.name[:120], launch.grid, launch.block, launch.registers, launch.shared_bytes]
            kernels.setdefault(launch.call, []).append(about)
    calls = [
        [call.id, call.kernel, call.type, round(statistics.median(steps[call.id].values()), 3), kernels[call.id]]
        for call in recording.calls
        if call.id in steps
    ]
    return {
        "codes": [source.text for source in recording.sources if source.kind == "output_code"],
        "calls": calls,
        "dtypes": {call.id: dtype for call in recording.calls if (dtype := dtype_in(recording, call)) is not None},
        "missing": [call.id for call in recording.calls if call.id not in steps],
        "problems": [str(problem.message)[:200] for problem in recording.problems],
    }


def dtype_in(recording: Any, call: Any) -> str | None:
    """The dtype that a library's call computes in, by its nodes: a program's inputs have none in the code."""
    nodes = {node.name: node for node in recording.graph(call.graph).nodes} if call.is_extern else {}
    of_call = [nodes[name] for name in call.nodes if name in nodes]
    return next((out.dtype for node in of_call for out in node.outputs if out.dtype), None)


def timed(run: Callable[[], Any], repeats: int) -> float:
    """The wall time of a call in µs, the device having finished: the median of five groups of calls."""
    groups: list[float] = []
    run()
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(repeats):
            run()
        torch.cuda.synchronize()
        groups.append((time.perf_counter() - begin) / repeats * 1e6)
    return statistics.median(groups)


def launch_costs() -> dict[str, Any]:
    """Measure what the CPU takes for one launch of each kind, for a compiled call around them, and to replay a graph."""
    found: dict[str, Any] = {}
    x = torch.randn(256, device="cuda")
    square = torch.randn(64, 64, device="cuda", dtype=BF16)
    out = torch.empty_like(square)
    found["eager_op_us"] = timed(lambda: x.add_(1.0), 1000)
    found["mm_out_us"] = timed(lambda: torch.mm(square, square, out=out), 1000)

    def products_of(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def run(a: torch.Tensor) -> torch.Tensor:
            for _ in range(count):
                a = a @ square
            return a

        return run

    def sums_of(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def run(a: torch.Tensor) -> torch.Tensor:
            for position in range(count):
                a = a - a.sum(position % 2, keepdim=True)  # over the other dimension each time: not one kernel
            return a

        return run

    with torch.no_grad():
        for name, family in (("extern", products_of), ("triton", sums_of)):
            for count in (1, 9, 33):
                with contextlib.suppress(RuntimeError):
                    compiled = torch.compile(family(count), dynamic=False)
                    found[f"compiled_{name}_{count}_us"] = timed(lambda compiled=compiled: compiled(square), 200)
                torch.compiler.reset()
        for count in (1, 50, 400):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(count):
                    x.add_(1.0)
            found[f"replay_{count}_us"] = timed(graph.replay, 100)
            begin = time.perf_counter()
            for _ in range(20):
                graph.replay()
            found[f"replay_cpu_{count}_us"] = (time.perf_counter() - begin) / 20 * 1e6
            torch.cuda.synchronize()
    return found


def rates() -> dict[str, float]:
    """Measure the rates of a copy and of square GEMMs, for the roofs."""
    found: dict[str, float] = {}
    total = torch.cuda.get_device_properties(0).total_memory
    source = torch.ones(min(2 << 30, total // 8), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    found["copy_bytes_per_s"] = 2 * source.numel() / timed(lambda: target.copy_(source), 5) * 1e6
    for dtype, size in ((BF16, 8192), (F16, 8192), (F32, 4096)):
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        found[str(dtype).removeprefix("torch.")] = 2 * size**3 / timed(lambda a=a, b=b: a @ b, 5) * 1e6
    with tf32():
        found["tfloat32"] = 2 * 4096**3 / timed(lambda: a @ b, 5) * 1e6
    return found


@contextlib.contextmanager
def tf32() -> Generator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def measure(out: Path, *, seconds: float, say: Callable[[str], None], only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Measure everything on GPU 0, writing what there is to `out` after each part.

    Args:
        out: where the measurements go, as JSON.
        seconds: no further program is started after so long.
        say: told what is being done.
        only: names of programs, where not all are to be measured.

    Raises:
        RuntimeError: there is no GPU.
    """
    started = time.monotonic()
    result: dict[str, Any] = {"gpu": gpu_dump.dump(), "torch": torch.__version__, "cpus": os.cpu_count()}
    result |= {"programs": {}, "failed": {}, "seconds": {}, "launch": {}, "rates": {}}

    def part(name: str, run: Callable[[], Any]) -> Any:
        begin = time.monotonic()
        if begin - started > seconds:
            result["failed"][name] = "not started: the time was over"
            return None
        say(f"measuring {name}")
        try:
            return run()
        except Exception as error:  # another family may still do; what failed is in the file
            first = (str(error).strip().splitlines() or [""])[0]
            result["failed"][name] = f"{type(error).__name__}: {first}"[:500]
            say(f"{name} failed: {result['failed'][name]}")
            return None
        finally:
            result["seconds"][name] = round(time.monotonic() - begin, 1)
            torch.cuda.empty_cache()

    def save() -> None:
        temporary = out.with_name(out.name + ".part")
        temporary.write_text(json.dumps(result))
        temporary.replace(out)

    result["rates"] = part("rates", rates) or {}
    save()
    for name, item in PROGRAMS.items():
        if only and name not in only:
            continue
        recording = part(name, lambda item=item: packed(measure_program(item, "cuda", steps=STEPS, warmup=4)))
        if recording is not None:
            result["programs"][name] = recording
        save()
    result["launch"] = part("launch", launch_costs) or {}
    save()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=240, help="start no further program after so long")
    parser.add_argument("--only", nargs="*", default=(), metavar="PROGRAM", help="measure these programs only")
    arguments = parser.parse_args()
    # A program that hangs must not cost what was measured: that is on disk already.
    end = threading.Timer(arguments.seconds + 60, lambda: os._exit(1))
    end.daemon = True
    end.start()
    begin = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - begin:6.1f} s] {text}", file=sys.stderr, flush=True)

    try:
        result = measure(arguments.out, seconds=arguments.seconds, say=say, only=tuple(arguments.only))
    except RuntimeError as error:
        print(f"battery: {error}", file=sys.stderr)
        return 2
    say(f"{sum(len(p['calls']) for p in result['programs'].values())} calls; failed: {result['failed'] or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
