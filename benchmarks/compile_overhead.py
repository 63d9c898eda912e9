"""What recording adds to a cold compile: wall time of `fxscope.record(…, compile=True)` over plain `torch.compile`.

    python benchmarks/compile_overhead.py [--repeats 3] [--model geglu] [--backward]

Every measurement is a fresh process with an empty cache folder and Inductor's caches off, so that both compile the same
from nothing. Plain: `torch.compile(model)(x)`, once. Recorded: everything that `record` does, which is the compile,
the warm-up, three profiled steps, reading the trace and all passes. They alternate, and the ratio of medians is held to
at most 1.3 (exit code 1 above). The same ratio of CPU seconds (of the process and the C++ compilers that it starts) is
printed beside it: on a busy machine it is the one to trust.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

LIMIT = 1.3


def make(name: str) -> tuple[Any, Any]:
    """Return a model and its input."""
    import torch
    from torch import nn
    from torch.nn import functional

    class GeGLU(nn.Module):
        """Gate, up and down projections, as in a transformer's MLP."""

        def __init__(self, dim: int, hidden: int) -> None:
            super().__init__()
            self.gate_proj = nn.Linear(dim, hidden, bias=False)
            self.up_proj = nn.Linear(dim, hidden, bias=False)
            self.down_proj = nn.Linear(hidden, dim, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            gate = functional.gelu(self.gate_proj(x), approximate="tanh")
            return self.down_proj(gate * self.up_proj(x))

    torch.manual_seed(0)
    if name == "linear":
        return nn.Linear(32, 64), torch.randn(128, 32)
    if name == "geglu":
        return GeGLU(64, 256), torch.randn(4, 32, 64)
    if name == "transformer":
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
        return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(2, 32, 64)
    raise SystemExit(f"no model {name!r}: linear, geglu, transformer")


def measure(how: str, model_name: str, *, backward: bool) -> None:
    """Compile once in this process and print the seconds it took."""
    import time

    import torch

    model, x = make(model_name)
    torch.compile  # noqa: B018  # load what both need before the clock starts
    import torch._dynamo
    import torch._inductor.compile_fx

    if how == "recorded":
        import fxscope

        fxscope.record  # noqa: B018
        started, used = time.perf_counter(), cpu_seconds()
        fxscope.record(model, x, compile=True, backward=backward)
    else:
        started, used = time.perf_counter(), cpu_seconds()
        if backward:
            torch.compile(model)(x).sum().backward()
        else:
            with torch.no_grad():
                torch.compile(model)(x)
    print(json.dumps([time.perf_counter() - started, cpu_seconds() - used]))


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def run_once(how: str, arguments: argparse.Namespace) -> tuple[float, float]:
    """Measure in a fresh process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
        command = [sys.executable, __file__, "--measure", how, "--model", arguments.model]
        command += ["--backward"] if arguments.backward else []
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    wall, cpu = json.loads(done.stdout.strip().splitlines()[-1])
    return wall, cpu


def main() -> int:
    """Alternate plain and recorded compiles and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="geglu", help="linear, geglu or transformer")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", choices=("plain", "recorded"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.model, backward=arguments.backward)
        return 0
    seconds: dict[str, list[tuple[float, float]]] = {"plain": [], "recorded": []}
    for _ in range(arguments.repeats):
        for how, values in seconds.items():
            values.append(run_once(how, arguments))
            print(f"{how:<9}{values[-1][0]:7.2f} s, {values[-1][1]:.2f} CPU s", file=sys.stderr)
    ratios: list[float] = []
    for index, name in enumerate(("wall", "CPU")):
        plain, recorded = (statistics.median(pair[index] for pair in values) for values in seconds.values())
        ratios.append(recorded / plain)
        print(f"{arguments.model}, {name}: plain {plain:.2f} s, recorded {recorded:.2f} s, ratio {ratios[-1]:.2f}")
    print(f"the limit of the wall ratio is {LIMIT}")
    return 0 if ratios[0] <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
