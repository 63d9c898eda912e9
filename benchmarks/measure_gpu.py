"""Describe this machine's GPU and measure its bandwidth and matrix rates, in the form of `fxscope/gpus/NAME.json`.

    python3 benchmarks/measure_gpu.py OUT.json        # needs torch alone; about 30 s

Each rate is the median over `--repeats` groups of calls, after a warm-up of a second that lets the clocks settle; the
spread goes into the source's text. A copy counts the bytes it reads and the bytes it writes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fxscope._torch.programs import battery

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", help="a file; stdout without it")
    parser.add_argument("--size", type=int, default=8192, help="of the square matrices")
    parser.add_argument("--bytes", type=int, default=4 << 30, help="of the copied tensor")
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    try:
        description = {**msgspec.to_builtins(battery.described()), "bandwidths": [], "matrix": {}}
    except RuntimeError as error:
        print(f"measure_gpu: {error}", file=sys.stderr)
        return 2
    torch.cuda.set_device(0)
    measure(description, arguments)
    text = json.dumps(description, indent=2) + "\n"
    if arguments.out:
        arguments.out.write_text(text)
    else:
        print(text)
    return 0


def measure(description: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Add measured rates to a description."""
    where = f"on an {description['device_name']}, torch {torch.__version__}"
    sources = description["sources"]

    measure_bandwidth(description["bandwidths"], sources, arguments, where)
    size = arguments.size
    work = 2 * size**3
    for name, run in products(size).items():
        try:
            seconds = timed(run, arguments.repeats)
        except (RuntimeError, NotImplementedError) as error:
            print(f"{name}: not measured: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        rates = description["matrix"].setdefault(name, [])
        add(rates, sources, f"measured_{name}", work, seconds, f"{size} × {size} × {size} GEMM, {where}")


def measure_bandwidth(
    rates: list[dict[str, Any]], sources: dict[str, str], arguments: argparse.Namespace, where: str
) -> None:
    """Add the rates of a copy and of the simplest arithmetic on a tensor much larger than the caches."""
    source = torch.empty(arguments.bytes, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    work, size = 2 * arguments.bytes, f"{arguments.bytes / 2**30:g} GiB"
    seconds = timed(lambda: target.copy_(source), arguments.repeats)
    what = f"device-to-device copy of {size}, bytes read plus bytes written, {where}"
    add(rates, sources, "measured_copy", work, seconds, what)
    source16, target16 = source.view(torch.bfloat16), target.view(torch.bfloat16)
    seconds = timed(lambda: torch.add(source16, 1, out=target16), arguments.repeats)
    what = f"bfloat16 tensor of {size} plus a number, bytes read plus bytes written, {where}"
    add(rates, sources, "measured_add", work, seconds, what)


def products(size: int) -> dict[str, Callable[[], Any]]:
    """Return one GEMM for each dtype; operands are random, since zeros draw less power and clock higher."""
    runs: dict[str, Callable[[], Any]] = {}

    def pair(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        return tuple(torch.randn(size, size, device="cuda", dtype=torch.float32).to(dtype) for _ in range(2))

    def plain(dtype: torch.dtype, tf32: bool = False) -> Callable[[], Any]:
        state: dict[str, Any] = {}

        def run() -> Any:
            if not state:
                state["a"], state["b"] = pair(dtype)
            torch.backends.cuda.matmul.allow_tf32 = tf32
            return state["a"] @ state["b"]

        return run

    for name in ("bfloat16", "float16", "float32", "float64"):
        runs[name] = plain(getattr(torch, name))
    runs["tfloat32"] = plain(torch.float32, tf32=True)
    if hasattr(torch, "_scaled_mm"):
        state: dict[str, Any] = {}

        def scaled() -> Any:
            if not state:
                a, b = pair(torch.float8_e4m3fn)
                state.update(a=a, b=b.t().contiguous().t(), one=torch.ones((), device="cuda"))
            one = state["one"]
            return torch._scaled_mm(state["a"], state["b"], scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

        runs["float8_e4m3fn"] = scaled
    if hasattr(torch, "_int_mm"):
        integers: dict[str, Any] = {}

        def integer() -> Any:
            if not integers:
                make = lambda: torch.randint(-99, 99, (size, size), device="cuda", dtype=torch.int8)  # noqa: E731
                integers.update(a=make(), b=make().t().contiguous().t())
            return torch._int_mm(integers["a"], integers["b"])

        runs["int8"] = integer
    return runs


def timed(run: Callable[[], Any], repeats: int) -> list[float]:
    """Return the seconds of one call, once for each group of calls."""
    run()
    torch.cuda.synchronize()
    begin = time.monotonic()
    calls = 0
    while time.monotonic() - begin < 1.0:
        run()
        calls += 1
        torch.cuda.synchronize()
    group = max(1, calls // 20)
    seconds: list[float] = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(group):
            run()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1e3 / group)
    return seconds


def add(
    rates: list[dict[str, Any]], sources: dict[str, str], key: str, work: int, seconds: list[float], what: str
) -> None:
    """Add one measured rate and its source."""
    values = sorted(work / second for second in seconds)
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    rates.append({"value": float(f"{statistics.median(values):.4g}"), "kind": "measured", "source": key})
    sources[key] = f"{what}; median of {len(values)}, 10 % to 90 %: {low:.4g} to {high:.4g} per second"
    print(f"{key}: {sources[key]}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
