"""The GPU files: every value has a source."""

import pytest

from fxscope import gpus
from fxscope.errors import FxscopeError


@pytest.mark.parametrize("name", gpus.names())
def test_every_value_has_a_source(name: str) -> None:
    gpu = gpus.load(name)
    assert gpu.name == name
    rates = [*gpu.bandwidths, *(rate for entry in gpu.matrix.values() for rate in entry)]
    used = {fact.source for fact in gpu.properties.values()} | {rate.source for rate in rates}
    used |= {gpu.calibration.source} if gpu.calibration is not None else set()
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


def test_target_knows_its_memory_clock() -> None:
    from fxscope._torch.target import device

    properties = device.device_properties(gpus.load("a100"))
    bandwidth = 2 * properties.memory_clock_rate * 1e3 * properties.memory_bus_width / 8
    assert bandwidth == pytest.approx(2.039e12, rel=1e-3)
