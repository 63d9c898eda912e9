"""Facts of this machine and its torch: packages and devices."""

import contextlib
import platform
import sys
from pathlib import Path
from typing import Any

import torch

from fxscope import __version__
from fxscope.model import Environment


def environment() -> Environment:
    device, properties = device_of()
    return Environment(
        fxscope=__version__,
        torch=str(torch.__version__),
        triton=triton_version(),
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        device=device,
        device_properties=properties,
        cuda=torch.version.cuda,
        float32_matmul_precision=_float32_matmul_precision(),
    )


def _float32_matmul_precision() -> str | None:
    """Return the setting for GEMMs on a GPU; None where there is none, or where it was set for each backend."""
    with contextlib.suppress(RuntimeError):
        return torch.get_float32_matmul_precision() if torch.cuda.is_available() else None
    return None


def triton_version() -> str | None:
    try:
        import triton  # type: ignore[reportMissingTypeStubs]
    except Exception:  # one whose driver, or whose environment, is not what it expects
        return None
    return str(getattr(triton, "__version__", None))


def device_of() -> tuple[str | None, dict[str, Any] | None]:
    """The name and properties of the device that programs here run on: the CUDA device, else the CPU."""
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        values = {name: getattr(properties, name, None) for name in dir(properties) if not name.startswith("_")}
        return properties.name, {name: value for name, value in values.items() if isinstance(value, (int, float, str))}
    return cpu_name(), {"num_threads": torch.get_num_threads(), "capability": torch.backends.cpu.get_cpu_capability()}


def available_bytes() -> int:
    """Memory that can be had, within the limit of a container; 16 GiB where the system does not say."""
    found = 16 << 30
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
        found = min(found, int(Path("/sys/fs/cgroup/memory.max").read_text()))  # "max": no limit
    return found


def cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
