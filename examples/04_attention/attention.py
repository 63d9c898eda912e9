# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.9"]
# ///
"""Self-attention: written out (scores, softmax, weighted sum), or through scaled_dot_product_attention.

python attention.py [--batch N] [--seq N] [--dim N] [--heads N] [--written_out] [--compile] [--trace FILE]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function, schedule


class Attention(nn.Module):
    """Multi-head self-attention with one projection in and one out.

    Args:
        dim: size of the last dimension.
        heads: how many heads share it.
        written_out: compute scores, softmax and the weighted sum one by one, so that each is an op of its own.
    """

    def __init__(self, dim: int, heads: int, *, written_out: bool = False) -> None:
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, seq, dim] to [batch, seq, dim]."""
        batch, seq, dim = x.shape
        q, k, v = self.qkv(x).view(batch, seq, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        if self.written_out:
            scores = q @ k.transpose(-2, -1) / math.sqrt(dim // self.heads)
            mixed = scores.softmax(dim=-1) @ v
        else:
            mixed = functional.scaled_dot_product_attention(q, k, v)
        return self.proj(mixed.transpose(1, 2).reshape(batch, seq, dim))


def make(batch: int, seq: int, dim: int, heads: int, *, written_out: bool = False):
    """Return the layer and its input: on a GPU in bfloat16 where there is one."""
    gpu = torch.cuda.is_available()
    options = {"device": "cuda" if gpu else "cpu", "dtype": torch.bfloat16 if gpu else torch.float32}
    return Attention(dim, heads, written_out=written_out).to(**options), (torch.randn(batch, seq, dim, **options),)


def factory(batch: int = 4, seq: int = 64, dim: int = 128, heads: int = 4):
    """Return (module, inputs) with scaled_dot_product_attention, for `fxscope run attention.py:factory`."""
    return make(batch, seq, dim, heads)


def written_out(batch: int = 4, seq: int = 64, dim: int = 128, heads: int = 4):
    """Return (module, inputs) with the softmax written out, for `fxscope run attention.py:written_out`."""
    return make(batch, seq, dim, heads, written_out=True)


def run_profiled(call, label: str, trace: Path) -> None:
    """Call five times under the profiler: wait 1, warm-up 1, active 3; print its table and write the trace."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    trace.parent.mkdir(parents=True, exist_ok=True)
    with profile(
        activities=activities,
        schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
        record_shapes=True,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(trace)),
    ) as profiler:
        for _ in range(5):
            with record_function(label):
                call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            profiler.step()
    order = "cuda_time_total" if torch.cuda.is_available() else "cpu_time_total"
    print(profiler.key_averages().table(sort_by=order, row_limit=25))
    print(f"trace: {trace}")


def main() -> None:
    """Parse the options, profile, report."""
    parser = argparse.ArgumentParser(description="Profile self-attention.")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--written_out", action="store_true", help="scores, softmax and sum one by one")
    parser.add_argument("--compile", action="store_true", help="run it under torch.compile")
    parser.add_argument("--trace", type=Path, default=Path("traces/attention.json"), help="where the trace goes")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model, (x,) = make(
        arguments.batch, arguments.seq, arguments.dim, arguments.heads, written_out=arguments.written_out
    )
    if arguments.compile:
        model = torch.compile(model)
    with torch.no_grad():
        run_profiled(lambda: model(x), "attention_fwd", arguments.trace)


if __name__ == "__main__":
    main()
