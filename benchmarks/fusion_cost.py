"""What not fusing two ops really costs on this GPU: device time of the separate kernels, and of the one that replaces them.

    python3 benchmarks/fusion_cost.py OUT.json             # needs a GPU and torch; about two minutes

Each pair is run eager and compiled (pointwise kernels autotuned) at ten sizes, in a loop, so that what fits into the L2
cache is found there, as in a model. For every kernel: its name, and minimum, median and mean of its device time in µs.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES_MB = (0.25, 1, 4, 8, 16, 24, 32, 64, 128, 512)
WIDTH = 1024
HALF = torch.bfloat16


def rows(megabytes: float) -> int:
    return int(megabytes * 1e6 / 2 / WIDTH) // 8 * 8


def new(*shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def matrix(n: int) -> torch.Tensor:
    return new(n, WIDTH)


@dataclass(frozen=True)
class Pair:
    """Two or three ops, and what fusing them changes; traffic is counted in tensors of the point's size.

    Attributes:
        function: the ops.
        inputs: number of rows → inputs.
        fused: tensors that the fused kernel reads and writes.
        saved: tensors' worth of traffic that it does not have.
        reuse: traffic between writing what flows between the ops and reading it: the smaller kernel's own.
        transcendentals, erfs, reductions: per element of the fused kernel.
        held_out: not used for fitting.
        gemm: one of the ops is a library GEMM, which a Triton template would have to replace.
    """

    function: Callable[..., torch.Tensor]
    inputs: Callable[[int], tuple[torch.Tensor, ...]]
    fused: float
    saved: float = 2
    reuse: float = 2
    transcendentals: int = 0
    erfs: int = 0
    reductions: int = 0
    held_out: bool = False
    gemm: bool = False


def matrices(count: int, *vectors: int) -> Callable[[int], tuple[torch.Tensor, ...]]:
    return lambda n: (*(matrix(n) for _ in range(count)), *(new(size) for size in vectors))


layer_norm, rms_norm = functional.layer_norm, functional.rms_norm
PAIRS = {
    "gelu_mul": Pair(lambda a, b: functional.gelu(a) * b, matrices(2), 3, erfs=1),
    "add_relu": Pair(lambda a, b: torch.relu(a + b), matrices(2), 3),
    "add_layer_norm": Pair(
        lambda a, b, w, v: layer_norm(a + b, (WIDTH,), w, v), matrices(2, WIDTH, WIDTH), 3, reductions=1
    ),
    "layer_norm_gelu": Pair(
        lambda a, w, v: functional.gelu(layer_norm(a, (WIDTH,), w, v)),
        matrices(1, WIDTH, WIDTH),
        2,
        erfs=1,
        reductions=1,
    ),
    "scale_softmax": Pair(lambda a: torch.softmax(a * 0.125, -1), matrices(1), 2, transcendentals=1, reductions=2),
    "bias_gelu": Pair(lambda a, v: functional.gelu(a + v), matrices(1, WIDTH), 2, erfs=1),
    "silu_mul_add": Pair(lambda a, b, c: functional.silu(a) * b + c, matrices(3), 4, 4, transcendentals=1),
    "square_sum": Pair(lambda a: (a * a).sum(-1), matrices(1), 1, 2, 1, reductions=1),
    "cast_scale": Pair(lambda a: (a.float() * 2.0).to(HALF), matrices(1), 2, 8, 3),
    "dropout_residual": Pair(lambda a, b, m: a * m * 1.25 + b, matrices(3), 4, 4),
    "mm_relu": Pair(lambda a, w: torch.relu(a @ w), lambda n: (matrix(n), new(WIDTH, WIDTH)), 2, gemm=True),
    "mm_gelu_mul": Pair(
        lambda a, w, b: functional.gelu(a @ w) * b,
        lambda n: (matrix(n), new(WIDTH, WIDTH), matrix(n)),
        3,
        gemm=True,
        erfs=1,
    ),
    # held out
    "sigmoid_mul": Pair(lambda a, b: torch.sigmoid(a) * b, matrices(2), 3, transcendentals=1),
    "mul_sub": Pair(lambda a, b: a - b * 0.5, matrices(2), 3, held_out=True),
    "add_rms_norm": Pair(
        lambda a, b, w: rms_norm(a + b, (WIDTH,), w), matrices(2, WIDTH), 3, reductions=1, held_out=True
    ),
    "softmax_scale": Pair(lambda a: torch.softmax(a, -1) * 0.5, matrices(1), 2, transcendentals=1, reductions=2),
    "exp_sum": Pair(lambda a: a.exp().sum(-1), matrices(1), 1, 2, 1, transcendentals=1, reductions=1),
    "bias_relu": Pair(lambda a, v: torch.relu(a + v), matrices(1, WIDTH), 2, held_out=True),
    "tanh_add": Pair(lambda a, b: torch.tanh(a) + b, matrices(2), 3, transcendentals=1, held_out=True),
    "mul_mean": Pair(lambda a, b: (a * b).mean(-1), matrices(2), 2, 2, 1, reductions=1, held_out=True),
    "layer_norm_residual": Pair(
        lambda a, b, w, v: layer_norm(a, (WIDTH,), w, v) + b, matrices(2, WIDTH, WIDTH), 3, reductions=1, held_out=True
    ),
    "clamp_mul": Pair(lambda a, b: a.clamp(-1, 1) * b, matrices(2), 3, held_out=True),
    "relu_amax": Pair(lambda a: torch.relu(a).amax(-1), matrices(1), 1, 2, 1, reductions=1),
}


def kernels(run, *, repeats: int = 30) -> list[dict[str, object]]:
    """Device times of each kernel of one call, in launch order."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(repeats):
            run()
        torch.cuda.synchronize()
    events = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    events.sort(key=lambda event: event.time_range.start)
    count = len(events) // repeats
    if count * repeats != len(events):
        raise RuntimeError(f"{len(events)} kernels in {repeats} calls")
    found = []
    for index in range(count):
        same = events[index::count]
        times = [event.time_range.elapsed_us() for event in same]
        if len({event.name for event in same}) != 1:
            raise RuntimeError(f"kernel {index} has several names")
        found.append(
            {
                "name": same[0].name,
                "min_us": min(times),
                "median_us": statistics.median(times),
                "mean_us": statistics.fmean(times),
            }
        )
    return found


def about(name: str, megabytes: float) -> dict[str, object]:
    pair = PAIRS[name]
    return {
        "pair": name,
        "mb": megabytes,
        "tensor_bytes": rows(megabytes) * WIDTH * 2,
        "fused_tensors": pair.fused,
        "saved_tensors": pair.saved,
        "reuse_tensors": pair.reuse,
        "transcendentals": pair.transcendentals,
        "erfs": pair.erfs,
        "reductions": pair.reductions,
        "held_out": pair.held_out,
        "gemm": pair.gemm,
    }


def one(name: str, out: Path) -> None:
    pair = PAIRS[name]
    function = pair.function
    options = {"max_autotune_pointwise": True}
    if pair.gemm:
        options |= {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}  # the template with its epilogue
    sizes = SIZES_MB[2::3] if pair.gemm else SIZES_MB
    found = []
    for megabytes in sizes:
        torch._dynamo.reset()
        inputs = pair.inputs(rows(megabytes))
        compiled = torch.compile(function, dynamic=False, options=options)
        compiled(*inputs)
        torch.cuda.synchronize()
        with (out.parent / "measuring").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time on the GPU
            eager = kernels(lambda inputs=inputs: function(*inputs))
            fused = kernels(lambda compiled=compiled, inputs=inputs: compiled(*inputs))
        found.append({**about(name, megabytes), "eager": eager, "compiled": fused})
    out.write_text(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--held-out", action="store_true", help="the pairs that nothing is fitted to")
    parser.add_argument("--one")
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.out)
        return
    with tempfile.TemporaryDirectory() as folder:
        parts = {
            name: Path(folder) / f"{name}.json" for name, pair in PAIRS.items() if pair.held_out == arguments.held_out
        }
        children = {
            name: subprocess.Popen([sys.executable, __file__, str(part), "--one", name]) for name, part in parts.items()
        }
        failed = [name for name, child in children.items() if child.wait()]
        points = [point for part in parts.values() if part.exists() for point in json.loads(part.read_text())]
    gpu = torch.cuda.get_device_properties(0)
    about = {"gpu": gpu.name, "l2_bytes": gpu.L2_cache_size, "torch": torch.__version__, "failed": failed}
    arguments.out.write_text(json.dumps({**about, "points": points}, indent=1))
    print(f"{len(points)} points, failed: {failed or 'none'}")


if __name__ == "__main__":
    main()
