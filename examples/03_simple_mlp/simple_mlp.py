# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.9"]
# ///
"""A GeGLU MLP: three Linears, a gelu and a mul, eager or compiled.

python simple_mlp.py [--batch N] [--seq N] [--dim N] [--hidden N] [--compile] [--trace FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function, schedule


class SimpleMLP(nn.Module):
    """down_proj(gelu(gate_proj(x)) * up_proj(x))."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, seq, dim] to [batch, seq, dim]."""
        gate = self.gate_proj(x)
        up = self.up_proj(x)
        activated = functional.gelu(gate, approximate="tanh")
        return self.down_proj(activated * up)


def make(batch: int, seq: int, dim: int, hidden: int) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Return the MLP and its input: on a GPU in bfloat16 where there is one."""
    gpu = torch.cuda.is_available()
    options = {"device": "cuda" if gpu else "cpu", "dtype": torch.bfloat16 if gpu else torch.float32}
    return SimpleMLP(dim, hidden).to(**options), (torch.randn(batch, seq, dim, **options),)


def factory(batch: int = 64, seq: int = 128, dim: int = 768, hidden: int = 3072):
    """Return (module, inputs), for `fxscope run`, `fxscope guess` and `fxscope sweep --vary batch=…`."""
    return make(batch, seq, dim, hidden)


def small(batch: int = 4, seq: int = 16, dim: int = 64, hidden: int = 256):
    """Return (module, inputs) of a size that a CPU computes in no time."""
    return make(batch, seq, dim, hidden)


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
    parser = argparse.ArgumentParser(description="Profile a GeGLU MLP.")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--hidden", type=int, default=3072)
    parser.add_argument("--compile", action="store_true", help="run it under torch.compile")
    parser.add_argument("--trace", type=Path, default=Path("traces/simple_mlp.json"), help="where the trace goes")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model, (x,) = make(arguments.batch, arguments.seq, arguments.dim, arguments.hidden)
    if arguments.compile:
        model = torch.compile(model)
    with torch.no_grad():
        run_profiled(lambda: model(x), "mlp_fwd", arguments.trace)


if __name__ == "__main__":
    main()
