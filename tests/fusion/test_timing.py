"""What not fusing costs, against what an H200 and an H100 really took apart and fused (benchmarks/fusion_cost.py)."""

import gzip
import json
from pathlib import Path

import pytest

from fxscope import gpus
from fxscope.gpus.prediction import generated_us, traffic_floor_us
from fxscope.model import Workload

DATA = Path(__file__).parents[2] / "tests" / "data" / "fusion_cost"


def points(name: str) -> list[dict]:
    found = json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))["points"]
    return [point for point in found if not point["gemm"]]


def taken_us(point: dict, side: str) -> float:
    return sum(kernel["median_us"] for kernel in point[side])


def fused(point: dict) -> Workload:
    """What the fused kernel of a point does; the battery says it in units of the tensor between the two ops."""
    elements = int(point["tensor_bytes"] / 2)
    return Workload(
        family="reduction" if point["reductions"] else "pointwise",
        num_bytes=int(point["fused_tensors"] * point["tensor_bytes"]),
        elements=elements,
        outer=min(elements, 4096),
        statements=2,
        slow_ops=point["transcendentals"],
        slowest_ops=point["erfs"],
        reduced=point["reductions"],
    )


@pytest.mark.parametrize(
    ("battery", "gpu", "close"), [("h200", "h200", 0.6), ("h100", "h100", 0.7), ("h200_held_out", "h200", 0.8)]
)
def test_the_expectation_is_near(battery, gpu, close) -> None:
    target, measured = gpus.load(gpu), points(battery)
    assert len(measured) >= 70
    near = 0
    for point in measured:
        saved = taken_us(point, "eager") - taken_us(point, "compiled")
        near += abs((taken_us(point, "eager") - generated_us(target, fused(point))) / saved - 1) <= 0.25
    assert near >= close * len(measured)


def test_time_grows_with_work_and_is_never_below_its_floor() -> None:
    gpu = gpus.load("h200")
    works = [Workload(family="pointwise", num_bytes=int(size), elements=int(size / 2)) for size in (1, 1e5, 1e7, 1e9)]
    times = [generated_us(gpu, work) for work in works]
    assert times == sorted(times)
    assert all(traffic_floor_us(gpu, work.num_bytes) < time for work, time in zip(works, times, strict=True))
