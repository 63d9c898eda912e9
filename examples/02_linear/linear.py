# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.9"]
# ///
"""One nn.Linear: which kernels it launches, and what `aten::t` costs.

python linear.py [--batch N] [--in_dim N] [--out_dim N] [--compile] [--trace FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def make(batch: int, in_dim: int, out_dim: int) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Return a Linear and its input: on a GPU in bfloat16 where there is one."""
    gpu = torch.cuda.is_available()
    options = {"device": "cuda" if gpu else "cpu", "dtype": torch.bfloat16 if gpu else torch.float32}
    return nn.Linear(in_dim, out_dim, **options), (torch.randn(batch, in_dim, **options),)


def factory(batch: int = 1024, in_dim: int = 32, out_dim: int = 64):
    """Return (module, inputs), for `fxscope run linear.py:factory`."""
    return make(batch, in_dim, out_dim)


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
    parser = argparse.ArgumentParser(description="Profile one nn.Linear.")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--in_dim", type=int, default=32)
    parser.add_argument("--out_dim", type=int, default=64)
    parser.add_argument("--compile", action="store_true", help="run it under torch.compile")
    parser.add_argument("--trace", type=Path, default=Path("traces/linear.json"), help="where the trace goes")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model, (x,) = make(arguments.batch, arguments.in_dim, arguments.out_dim)
    if arguments.compile:
        model = torch.compile(model)
    with torch.no_grad():
        run_profiled(lambda: model(x), "linear_fwd", arguments.trace)


if __name__ == "__main__":
    main()
