"""The GPU files: every value has a source, and occupancy is what NVIDIA's own calculator told the profiler."""

from __future__ import annotations

import gzip
import json

import pytest

from fxscope import gpus
from fxscope.errors import FxscopeError
from tests.target import plans


@pytest.mark.parametrize("name", gpus.names())
def test_every_value_has_a_source(name: str) -> None:
    gpu = gpus.load(name)
    assert gpu.name == name
    rates = [
        *gpu.bandwidths,
        *(rate for table in (gpu.matrix, gpu.vector) for entry in table.values() for rate in entry),
    ]
    used = {fact.source for fact in gpu.properties.values()} | {rate.source for rate in rates}
    used |= {part.source for part in (gpu.times, gpu.calibration) if part is not None}
    assert used == set(gpu.sources), "a source that is not there, or one that nothing comes from"
    assert gpu.bandwidth() is not None
    assert gpu.matrix_rate("bfloat16") is not None
    assert gpu.matrix_rate("complex64") is None
    assert gpu.basis(gpu.bandwidths[0]).startswith(gpu.bandwidths[0].kind)


def test_names_and_finding() -> None:
    assert {"h200", "a100", "h100", "l4", "rtx4090", "b200", "mi210", "mi300x", "mi325x", "mi355x"} <= set(gpus.names())
    found = gpus.find("NVIDIA H200")
    assert found is not None
    assert found.name == "h200"
    assert gpus.find("nvidia a100-sxm4-80gb") == gpus.load("A100")
    assert gpus.find("NVIDIA H100 PCIe") is None, "another card with other memory"
    assert gpus.find(None) is None
    with pytest.raises(FxscopeError, match="no GPU is called 'h2oo': there are a100"):
        gpus.load("h2oo")


def test_measured_before_datasheet() -> None:
    gpu = gpus.load("h200")
    bandwidth = gpu.bandwidth()
    assert bandwidth is not None
    assert bandwidth.kind == "measured"
    assert 4.1e12 < bandwidth.value < 4.8e12 == gpu.bandwidths[0].value
    matrix = gpu.matrix_rate("bfloat16")
    assert matrix is not None
    assert 700e12 < matrix.value < 989.4e12
    a100 = gpus.load("a100").bandwidth()
    assert a100 is not None
    assert a100.kind == "datasheet"


@pytest.mark.parametrize(
    ("registers", "shared", "warps", "share", "limit"),
    [
        (31, 0, 4, 1.0, "warps"),
        (255, 0, 8, 8 / 64, "registers"),  # 65536 / (255 → 256 × 32) = 8 warps: one block
        (33, 0, 8, 48 / 64, "registers"),  # 40 × 32 = 1280 a warp: 12 in a quarter of 16384
        (32, 100_000, 4, 8 / 64, "shared memory"),
        (16, 0, 1, 32 / 64, "blocks"),
    ],
)
def test_occupancy(registers: int, shared: int, warps: int, share: float, limit: str) -> None:
    found = gpus.occupancy(gpus.load("h200"), registers, shared, warps)
    assert found is not None
    assert (found.share, found.limit) == (share, limit)


def test_occupancy_of_what_cannot_run_or_is_not_known() -> None:
    h200 = gpus.load("h200")
    assert gpus.occupancy(h200, 32, 300_000, 4) is None
    assert gpus.occupancy(h200, 300, 0, 4) is None
    assert gpus.occupancy(h200, 64, 0, 32) is not None
    assert gpus.occupancy(h200, 168, 0, 32) is None, "a block of 1024 threads has 64 registers each"
    assert gpus.occupancy(gpus.load("mi300x"), 32, 0, 4) is None


def test_occupancy_is_the_profilers(record_property) -> None:
    """On every kernel of the recorded traces whose grid fills the device, Kineto's estimate is the theoretical one."""
    gpu = gpus.load("h200")
    checked = 0
    for path in sorted(plans.REAL.glob("*/real/trace.json.gz")):
        for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
            arguments = event.get("args", {})
            if event.get("cat") != "kernel" or not arguments.get("est. achieved occupancy %"):
                continue
            x, y, z = arguments["block"]
            blocks = arguments["grid"][0] * arguments["grid"][1] * arguments["grid"][2]
            found = gpus.occupancy(gpu, arguments["registers per thread"], arguments["shared memory"], x * y * z // 32)
            if found is None or blocks < found.blocks * 132 or (x * y * z) % 32:
                continue
            checked += 1
            assert int(found.share * 100 + 0.5) == arguments["est. achieved occupancy %"], event["name"]
    record_property("kernels", checked)
    assert checked > 30


def test_target_knows_its_memory_clock() -> None:
    from fxscope._torch.target import device

    properties = device.device_properties(gpus.load("a100"))
    bandwidth = 2 * properties.memory_clock_rate * 1e3 * properties.memory_bus_width / 8
    assert bandwidth == pytest.approx(2.039e12, rel=1e-3)
