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
from pathlib import Path

import torch
from torch.nn import functional

SIZES_MB = (0.25, 1, 4, 8, 16, 24, 32, 64, 128, 512)
WIDTH = 1024
HALF = torch.bfloat16


def rows(megabytes: float) -> int:
    return int(megabytes * 1e6 / 2 / WIDTH) // 8 * 8


def new(*shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def matrix(n: int) -> torch.Tensor:
    return new(n, WIDTH)


# name → (function, rows → inputs). What flows between the two ops has as many bytes as the size says.
PAIRS = {
    "gelu_mul": (lambda a, b: functional.gelu(a) * b, lambda n: (matrix(n), matrix(n))),
    "add_relu": (lambda a, b: torch.relu(a + b), lambda n: (matrix(n), matrix(n))),
    "add_layer_norm": (
        lambda a, b, w, v: functional.layer_norm(a + b, (WIDTH,), w, v),
        lambda n: (matrix(n), matrix(n), new(WIDTH), new(WIDTH)),
    ),
    "layer_norm_gelu": (
        lambda a, w, v: functional.gelu(functional.layer_norm(a, (WIDTH,), w, v)),
        lambda n: (matrix(n), new(WIDTH), new(WIDTH)),
    ),
    "scale_softmax": (lambda a: torch.softmax(a * 0.125, -1), lambda n: (matrix(n),)),
    "bias_gelu": (lambda a, v: functional.gelu(a + v), lambda n: (matrix(n), new(WIDTH))),
    "silu_mul_add": (lambda a, b, c: functional.silu(a) * b + c, lambda n: (matrix(n), matrix(n), matrix(n))),
    "square_sum": (lambda a: (a * a).sum(-1), lambda n: (matrix(n),)),
    "cast_scale": (lambda a: (a.float() * 2.0).to(HALF), lambda n: (matrix(n),)),
    "dropout_residual": (lambda a, b, m: a * m * 1.25 + b, lambda n: (matrix(n), matrix(n), matrix(n))),
    "mm_relu": (lambda a, w: torch.relu(a @ w), lambda n: (matrix(n), new(WIDTH, WIDTH))),
    "mm_gelu_mul": (lambda a, w, b: functional.gelu(a @ w) * b, lambda n: (matrix(n), new(WIDTH, WIDTH), matrix(n))),
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


def one(name: str, out: Path) -> None:
    function, make = PAIRS[name]
    options = {"max_autotune_pointwise": True}
    if name.startswith("mm"):
        options |= {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}  # the template with its epilogue
    sizes = SIZES_MB[2::3] if name.startswith("mm") else SIZES_MB
    found = []
    for megabytes in sizes:
        torch._dynamo.reset()
        inputs = make(rows(megabytes))
        compiled = torch.compile(function, dynamic=False, options=options)
        compiled(*inputs)
        torch.cuda.synchronize()
        with (out.parent / "measuring").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time on the GPU
            eager = kernels(lambda inputs=inputs: function(*inputs))
            fused = kernels(lambda compiled=compiled, inputs=inputs: compiled(*inputs))
        found.append({"pair": name, "mb": megabytes, "rows": rows(megabytes), "eager": eager, "compiled": fused})
    out.write_text(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--one")
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.out)
        return
    with tempfile.TemporaryDirectory() as folder:
        parts = {name: Path(folder) / f"{name}.json" for name in PAIRS}
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
