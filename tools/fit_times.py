"""Fit the times of a GPU to a battery that `benchmarks/fusion_cost.py` measured; `tests/fusion/test_timing.py` checks them.

python3 tools/fit_times.py NAME BATTERY.json …     # writes the parameters into fxscope/gpus/NAME.json
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fxscope import gpus  # noqa: E402
from fxscope.gpus import timing  # noqa: E402

# What is searched: name → (lowest, highest), the latter as a factor of the datasheet's bandwidth or the cache's size.
NAMES = (
    "pointwise_floor_us",
    "reduction_floor_us",
    "l2_bytes_per_s",
    "dram_bytes_per_s",
    "capacity_bytes",
    "transcendental_ps",
    "erf_ps",
    "reduction_ps",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gpu")
    parser.add_argument("battery", type=Path, nargs="+")
    arguments = parser.parse_args()
    points = [point for path in arguments.battery for point in read(path)["points"]]
    fit(gpus.load(arguments.gpu), points, read(arguments.battery[0]))
    return 0


def read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def work(point: dict[str, Any]) -> timing.Work:
    """What the fused kernel of a point does; the battery says it in units of the tensor between the two ops."""
    return timing.Work(
        num_bytes=point["fused_tensors"] * point["tensor_bytes"],
        elements=point["tensor_bytes"] / 2,
        transcendentals=point["transcendentals"],
        erfs=point["erfs"],
        reductions=point["reductions"],
    )


def measured(point: dict[str, Any], side: str) -> float:
    return sum(kernel["median_us"] for kernel in point[side])


def fit(gpu: gpus.Gpu, points: list[dict[str, Any]], battery: dict[str, Any]) -> None:
    """Differential evolution over the mean absolute log error: seven parameters, some hundred points."""
    points = [point for point in points if not point["gemm"]]
    target = np.array([measured(point, "compiled") for point in points])
    bandwidth, cache = gpu.bandwidth(), float(gpu.limit("L2_cache_size"))
    assert bandwidth is not None
    low = np.array([0.5, 0.5, 0.8 * bandwidth.value, 0.5 * bandwidth.value, 0.3 * cache, 0.02, 0.1, 0.02])
    high = np.array([2.5, 3.0, 4 * bandwidth.value, 1.1 * bandwidth.value, 1.5 * cache, 4.0, 4.0, 4.0])

    def made(values: np.ndarray[Any, Any]) -> timing.Times:
        return timing.Times(
            **dict(zip(NAMES, map(float, values), strict=True)),
            fastest_l2_bytes_per_s=1,
            fastest_dram_bytes_per_s=1,
            avoided=(1, 1),
            spread=(1, 1),
            source="",
        )

    def loss(values: np.ndarray[Any, Any]) -> float:
        candidate = made(values)
        modelled = np.array([candidate.of(work(point)) for point in points])
        return float(np.abs(np.log(modelled / target)).mean())

    random = np.random.default_rng(0)
    population = low + (high - low) * random.random((40, len(NAMES)))
    losses = np.array([loss(values) for values in population])
    for _ in range(150):
        for index in range(len(population)):
            a, b, c = population[random.choice(len(population), 3, replace=False)]
            trial = np.clip(np.where(random.random(len(NAMES)) < 0.8, a + 0.7 * (b - c), population[index]), low, high)
            found = loss(trial)
            if found < losses[index]:
                population[index], losses[index] = trial, found
    best = made(population[losses.argmin()])
    ratios = target / np.array([best.of(work(point)) for point in points])
    # The fastest saving ever seen below the cache's size bounds what the cache can do.
    small = [
        point
        for point in points
        if point["saved_tensors"] and point["reuse_tensors"] * point["tensor_bytes"] < 0.3 * cache
    ]
    rates = [point["saved_tensors"] * point["tensor_bytes"] / max(saved(point), 1e-3) * 1e6 for point in small]
    large = [point for point in points if work(point).num_bytes > 4 * cache]
    values = {name: getattr(best, name) for name in NAMES}
    values["fastest_l2_bytes_per_s"] = 1.15 * max(rates)
    values["fastest_dram_bytes_per_s"] = max(
        [bandwidth.value, *(work(point).num_bytes / measured(point, "compiled") * 1e6 for point in large)]
    )
    times = msgspec.structs.replace(
        best,
        **{name: float(f"{value:.4g}") for name, value in values.items()},
        spread=tuple(round(float(value), 3) for value in np.percentile(ratios, [10, 90])),
        source="fusion_cost",
    )
    times = msgspec.structs.replace(times, avoided=avoided(msgspec.structs.replace(gpu, times=times), points))
    path = ROOT / "fxscope" / "gpus" / f"{gpu.name}.json"
    content = json.loads(path.read_text())
    content["times"] = msgspec.to_builtins(times)
    content["sources"]["fusion_cost"] = (
        f"benchmarks/fusion_cost.py on an {battery['gpu']}, torch {battery['torch']}: "
        f"{len(points)} points, fitted by tools/fit_times.py"
    )
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def avoided(gpu: gpus.Gpu, points: list[dict[str, Any]]) -> tuple[float, float]:
    """The least share of the traffic's time that was saved, for fused pointwise kernels and for fused reductions."""
    shares: dict[bool, list[float]] = {False: [1.0], True: [1.0]}
    for point in points:
        least, _ = bounds(gpu, point)
        shares[bool(point["reductions"])].append(0.95 * saved(point) / least)
    return round(min(shares[False]), 3), round(min(shares[True]), 3)


def saved(point: dict[str, Any]) -> float:
    return measured(point, "eager") - measured(point, "compiled")


def bounds(gpu: gpus.Gpu, point: dict[str, Any]) -> tuple[float, float]:
    size = point["tensor_bytes"]
    assert gpu.times is not None
    least = gpu.times.saved_at_least_us(
        point["saved_tensors"] * size, point["reuse_tensors"] * size, reduction=bool(point["reductions"])
    )
    return least, measured(point, "eager") - gpu.times.of(work(point))


if __name__ == "__main__":
    sys.exit(main())
