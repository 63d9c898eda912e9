"""Describes the GPU of this machine in the form of `gpus/NAME.json`. Needs nothing but torch."""

# torch's insides are untyped: what comes from there is Any.

from __future__ import annotations

import ctypes
import re
from typing import Any

import torch

# What is worth keeping of `get_device_properties`; identifiers of the single card (uuid, PCI address) are not.
PROPERTIES = (
    "major",
    "minor",
    "warp_size",
    "max_threads_per_block",
    "max_threads_per_multi_processor",
    "regs_per_multiprocessor",
    "shared_memory_per_block",
    "shared_memory_per_block_optin",
    "shared_memory_per_multiprocessor",
    "multi_processor_count",
    "total_memory",
    "L2_cache_size",
    "clock_rate",
    "memory_clock_rate",
    "memory_bus_width",
    "gcnArchName",
)
# What torch does not tell: CUdevice_attribute numbers of cuda.h.
ATTRIBUTES = {"max_blocks_per_multiprocessor": 106, "reserved_shared_memory_per_block": 111}


def dump(device: int = 0) -> dict[str, Any]:
    """The description of one device, without rates: `benchmarks/measure_gpu.py` measures those.

    Raises:
        RuntimeError: torch sees no such device.
    """
    if not torch.cuda.is_available() or device >= torch.cuda.device_count():
        raise RuntimeError(
            f"there is no GPU {device} here (torch sees {torch.cuda.device_count()}): run this where there is one."
        )
    found: Any = torch.cuda.get_device_properties(device)
    properties: dict[str, list[Any]] = {}
    for name in PROPERTIES:
        value = getattr(found, name, None)
        if isinstance(value, (int, str)) and value != "":
            properties[name] = [value, "card"]
    if torch.version.hip is None:
        properties.pop("gcnArchName", None)
        for name, number in ATTRIBUTES.items():
            value = _attribute(number, device)
            if value is not None:
                properties[name] = [value, "driver"]
        properties["max_warps_per_multiprocessor"] = [found.max_threads_per_multi_processor // found.warp_size, "card"]
    name = re.sub(r"^(nvidia|amd)[ -]*(geforce|instinct)?[ -]*", "", found.name.lower())
    return {
        "name": re.sub(r"[^a-z0-9]+", "", name),
        "device_name": found.name,
        "also": [],
        "vendor": "amd" if torch.version.hip else "nvidia",
        "target": torch.version.hip is None and found.major >= 8,
        "properties": properties,
        "bandwidths": [],
        "matrix": {},
        "vector": {},
        "sources": {
            "card": f"torch.cuda.get_device_properties on an {found.name}, torch {torch.__version__}",
            "driver": f"cuDeviceGetAttribute on an {found.name}",
        },
        "notes": [],
    }


def _attribute(number: int, device: int) -> int | None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    value = ctypes.c_int()
    failed = driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return None if failed else value.value
