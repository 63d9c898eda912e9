# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.9"]
# ///
"""x @ w + b as three people might write it: what eager runs, and what Inductor makes of it.

python matmul_add.py [--rows N] [--inner N] [--columns N] [--compile] [--trace FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def matmul_add(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return x @ w + b: two kernels in eager mode, one `addmm` when compiled."""
    return x @ w + b


def inputs(rows: int, inner: int, columns: int) -> tuple[torch.Tensor, ...]:
    """Return x, w and b: on a GPU in bfloat16 where there is one."""
    gpu = torch.cuda.is_available()
    options = {"device": "cuda" if gpu else "cpu", "dtype": torch.bfloat16 if gpu else torch.float32}
    return torch.randn(rows, inner, **options), torch.randn(inner, columns, **options), torch.randn(columns, **options)


def factory():
    """Return (function, inputs), for `fxscope run matmul_add.py:factory`."""
    return matmul_add, inputs(256, 128, 64)


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
    parser = argparse.ArgumentParser(description="Profile x @ w + b.")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--inner", type=int, default=512)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--compile", action="store_true", help="run it under torch.compile")
    parser.add_argument("--trace", type=Path, default=Path("traces/matmul_add.json"), help="where the trace goes")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    function = torch.compile(matmul_add) if arguments.compile else matmul_add
    x, w, b = inputs(arguments.rows, arguments.inner, arguments.columns)
    with torch.no_grad():
        run_profiled(lambda: function(x, w, b), "matmul_add_fwd", arguments.trace)


if __name__ == "__main__":
    main()
