"""What not fusing costs, against what an H200 and an H100 really took apart and fused (benchmarks/fusion_cost.py)."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from fxscope import gpus
from fxscope.gpus import timing

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "fusion_cost"


def points(name: str) -> list[dict]:
    found = json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))["points"]
    return [point for point in found if not point["gemm"]]


@pytest.fixture(scope="module")
def fit_times():
    spec = importlib.util.spec_from_file_location("fit_times", ROOT / "tools" / "fit_times.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fit_times"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("battery", "gpu", "close"), [("h200", "h200", 0.9), ("h100", "h100", 0.9), ("h200_held_out", "h200", 0.8)]
)
def test_the_bound_holds_and_the_expectation_is_near(fit_times, battery, gpu, close) -> None:
    measured = points(battery)
    assert len(measured) >= 70
    rows = [(fit_times.saved(point), *fit_times.bounds(gpus.load(gpu), point)) for point in measured]
    held = sum(least <= real for real, least, _ in rows)
    near = sum(abs(expected / real - 1) <= 0.25 for real, _, expected in rows)
    assert held >= 0.99 * len(rows)
    assert near >= close * len(rows)


def test_a_gpu_that_was_not_calibrated_has_no_times() -> None:
    assert gpus.load("a100").times is None


def test_time_grows_with_work_and_never_falls_below_the_floor() -> None:
    model = gpus.load("h200").times
    times = [model.of(timing.Work(num_bytes=size, elements=size / 2)) for size in (0, 1e5, 1e7, 1e8, 1e9)]
    assert times == sorted(times)
    assert times[0] == pytest.approx(model.pointwise_floor_us)
    assert model.floor_us(1e9) < times[-1]
